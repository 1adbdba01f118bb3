package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// webhooks adds an endpoint, rotates its secret, sends to it and removes it. If the
// service can reach a receiver of the suite (it is on this machine, or has a
// Target.Receiver), webhooks also checks the deliveries of events, whose first attempts
// fail. Otherwise the endpoint has a public address at which nobody answers.
func (s *suite) webhooks(t *testing.T) {
	token := s.token(t, operator)
	path := "/api/v1/webhooks"
	to := s.receive(t)
	defer to.Close()
	url, key := to.url, someKey()
	create := func() answer {
		return s.do(t, call{method: http.MethodPost, path: path, token: token, key: key,
			body: fmt.Sprintf(`{"url": %q, "types": ["branding.updated"]}`, url)})
	}
	made := create()
	reached := made.status == http.StatusCreated
	if !reached {
		url = "https://hooks.metro.example/events"
		made = create()
	}
	if made.must(http.StatusCreated); s.tools == nil && made.text("secret") == "" {
		t.Error("the secret is not shown")
	}
	if again := create().must(http.StatusCreated); string(again.body) != string(made.body) {
		t.Errorf("%s, and again with the same key: %s", made.body, again.body)
	}
	one := path + "/" + made.text("id")
	s.get(t, token, path).some()
	s.get(t, token, one).must(200)
	s.patch(t, token, one, `{"description": "Tried"}`).must(200)
	rotated := s.post(t, token, one+"/rotate", "").must(200)
	if reached {
		events := s.delivered(t, to, one)
		if s.tools == nil { // an agent does not see secrets
			to.signed(t, made.text("secret"), to.ids()...)
			to.signed(t, rotated.text("secret"), events...)
		}
	} else {
		s.get(t, token, one+"/deliveries").items()
		s.post(t, token, one+"/test", "").refused(409, "invalid_state")
		s.post(t, token, one+"/replay", `{"after": "2026-01-01T00:00:00Z"}`).refused(409, "invalid_state")
		s.succeeded["POST "+one+"/test"], s.succeeded["POST "+one+"/replay"] = true, true
	}
	s.do(t, call{method: "DELETE", path: one, token: token}).must(200)
}

// delivered checks that an endpoint gets a test, and events at their second attempt. It
// returns the ids of the events.
func (s *suite) delivered(t *testing.T, to *receiver, one string) []string {
	t.Helper()
	token := s.token(t, operator)
	s.eventually(t, "the challenge", func() bool { return s.get(t, token, one).text("status") == "enabled" })
	tested := s.post(t, token, one+"/test", `{"type": "trip.settled"}`).must(200).text("eventId")
	s.attempted(t, one, "succeeded", tested, "succeeded")
	event := s.rename(t, to)
	s.attempted(t, one, "succeeded", event, "http_5xx", "succeeded")
	if got := to.messages(event); len(got) < 2 || got[1].at.Sub(got[0].at) < 4*time.Second {
		t.Errorf("the event comes at %v; want the second attempt 4 to 6 seconds after the first", got)
	}
	before := len(to.messages(event))
	s.post(t, token, one+"/replay", fmt.Sprintf(`{"event": %q}`, event)).must(200)
	s.eventually(t, "the replay", func() bool { return len(to.messages(event)) > before })
	if s.DB == nil || s.tools != nil {
		return []string{event}
	}
	to.postpone("3600")
	late := s.rename(t, to)
	next, err := timestamp.Parse(fmt.Sprint(s.attempted(t, one, "pending", late, "http_5xx")["nextAt"]))
	if err != nil || time.Until(next) < 50*time.Minute {
		t.Fatalf("the next attempt is due at %s (%v), want in an hour", next, err)
	}
	s.fire(t, late, next)
	s.attempted(t, one, "succeeded", late, "http_5xx", "succeeded")
	return []string{event, late}
}

// rename changes the company's branding, waits until the receiver gets the first attempt
// of the event, and returns the event's id.
func (s *suite) rename(t *testing.T, to *receiver) (event string) {
	t.Helper()
	known := to.ids()
	s.patch(t, s.token(t, operator), "/api/v1/branding", fmt.Sprintf(`{"appName": "Metro %s"}`, rand.Text()[:5])).must(200)
	s.eventually(t, "the event", func() bool {
		for _, id := range to.ids() {
			if !slices.Contains(known, id) {
				event = id
			}
		}
		return event != ""
	})
	return event
}

// attempted waits until the log of deliveries shows the event with the status. It checks
// the results of the delivery's attempts and returns the delivery.
func (s *suite) attempted(t *testing.T, one, status, event string, results ...string) (delivery map[string]any) {
	t.Helper()
	s.eventually(t, "a delivery that has "+status, func() bool {
		for _, d := range s.get(t, s.token(t, operator), one+"/deliveries?status="+status).items() {
			if d["eventId"] == event {
				delivery = d
			}
		}
		return delivery != nil
	})
	var got []string
	for _, a := range delivery["attempts"].([]any) {
		got = append(got, fmt.Sprint(a.(map[string]any)["result"]))
	}
	if !slices.Equal(got, results) {
		t.Errorf("the log shows the attempts %v, want %v", got, results)
	}
	return delivery
}

// fire makes the next attempt of an event due now. later is when the attempt is due. That
// is too late for a queue's delay, so only a row in the table (data/due) holds the
// attempt.
func (s *suite) fire(t *testing.T, event string, later time.Time) {
	t.Helper()
	platform, moved := s.DB.Platform("DUE"), 0
	for shard := range 4 {
		partition := platform.Partition("DUE", "webhooks", later.UTC().Format("2006010215"), strconv.Itoa(shard))
		for rows, err := range platform.Pages(t.Context(), partition, table.Query{Limit: 500, Consistent: true}) {
			testkit.Must(t, err)
			for _, row := range rows {
				var m webhook.Message
				if _, text, _ := strings.Cut(row.SK, "#send#"); json.Unmarshal([]byte(text), &m) != nil || m.Event != event {
					continue
				}
				tx := platform.Write()
				webhook.Due(s.DB, time.Now, m.Shard).Add(tx, webhook.TaskOf(m, time.Now()))
				tx.Delete(row.Key)
				testkit.Must(t, tx.Commit(t.Context()))
				moved++
			}
		}
	}
	if moved != 1 {
		t.Fatalf("%d rows are due at %s for the event %s, want 1", moved, later, event)
	}
}

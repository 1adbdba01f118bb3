package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// receiver verifies each message with the official library and keeps the events.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	got    []string // types of events, or why a message was refused
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		var message struct{ Type, Challenge string }
		_ = json.Unmarshal(body, &message)
		if message.Challenge != "" {
			_, _ = fmt.Fprintf(w, `{"challenge": %q}`, message.Challenge)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		hook, err := standardwebhooks.NewWebhook(r.secret)
		if err == nil {
			err = hook.Verify(body, q.Header)
		}
		if err != nil {
			message.Type = err.Error()
		}
		r.got = append(r.got, message.Type)
	}))
	t.Cleanup(r.Close)
	return r
}

// wait waits until the receiver has an event of the type.
func (r *receiver) wait(t *testing.T, kind string) {
	t.Helper()
	for range 600 {
		r.mu.Lock()
		found := strings.Contains(strings.Join(r.got, "\n")+"\n", kind+"\n")
		r.mu.Unlock()
		if found {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no %s: %q", kind, r.got)
}

func (r *receiver) use(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// TestWebhookCommands adds an endpoint, triggers events, rotates its secret, and reads
// its deliveries, all with svc.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	w, r := start(t), receive(t)
	one := read[endpointWithSecret](w, "webhook", "create", "metro", r.URL, "--type",
		"trip.completed,driver.status_changed,trip.rated")
	r.use(one.Secret)
	w.enabled(t)
	w.ok("trigger", "metro", "trip.completed")
	r.wait(t, "trip.completed")
	next := read[endpointWithSecret](w, "webhook", "rotate", "metro", one.ID, "--overlap", "1h")
	if next.Secret == one.Secret {
		t.Error("the secret is the old one")
	}
	w.ok("trigger", "metro", "driver.status_changed") // the old secret still verifies
	r.wait(t, "driver.status_changed")
	r.use(next.Secret)
	w.ok("trigger", "metro", "trip.rated") // as a test event
	r.wait(t, "trip.rated")
	w.ok("webhook", "test", "metro", one.ID, "--type", "wallet.posted")
	r.wait(t, "wallet.posted")
	var sent []webhook.Delivery
	for range 600 {
		sent = read[[]webhook.Delivery](w, "webhook", "deliveries", "metro", one.ID, "--status", "succeeded")
		if len(sent) == 4 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(sent) != 4 {
		t.Fatalf("deliveries: %+v", sent)
	}
	for _, d := range sent {
		if d.Type == "trip.completed" {
			w.ok("webhook", "replay", "metro", one.ID, d.EventID)
		}
	}
	w.ok("webhook", "replay", "metro", one.ID, "--after", "2026-01-31T08:00:00Z")
	if text := w.ok("audit", "metro"); strings.Contains(text, "whsec_") || !strings.Contains(text, "webhook.rotate") ||
		!strings.Contains(text, "webhook.replay") {
		t.Errorf("the audit log:\n%s", text)
	}
	for _, wrong := range [][]string{{"webhook", "create", "metro", "http://10.0.0.1/"}, {"webhook", "test", "metro",
		"whk_1"}, {"webhook", "create", "metro", r.URL, "--type", "trip.flown"}, {"trigger", "metro", "trip.flown"},
		{"webhook", "replay", "metro", one.ID, "evt_1"}, {"webhook", "rotate", "metro", one.ID, "--overlap", "200h"}} {
		if out, _, code := w.run(wrong...); code == 0 {
			t.Errorf("svc %s: %s", strings.Join(wrong, " "), out)
		}
	}
}

// TestListen: svc listen signs each new event as an endpoint would, and prints it with
// the receiver's status. svc events shows the same events.
func TestListen(t *testing.T) {
	t.Parallel()
	w, r := start(t), receive(t)
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	r.use(secret)
	out := make(chan string)
	limited := *w
	go func() {
		text, _, _ := limited.run("listen", "metro", "--forward-to", r.URL, "--secret", secret, "--type", "trip.completed",
			"--after", "earliest")
		out <- text
	}()
	w.ok("trigger", "metro", "trip.completed")
	r.wait(t, "trip.completed")
	shown := w.ok("events", "metro", "--type", "trip.completed", "--limit", "200", "--json")
	var last event.Event
	for line := range strings.Lines(shown) {
		if err := json.Unmarshal([]byte(line), &last); err != nil || last.Type != "trip.completed" {
			t.Fatalf("line %s: %v", line, err)
		}
	}
	if last.Data.TripID == "" || regexp.MustCompile(`@|\+1`).MatchString(shown) {
		t.Errorf("events:\n%s", shown)
	}
	if _, errs, code := w.run("listen", "metro", "--forward-to", "127.0.0.1:80"); code != 2 ||
		!strings.Contains(errs, "expected a URL") {
		t.Errorf("a wrong address: %d %s", code, errs)
	}
	for _, r := range r.got {
		if r != "trip.completed" {
			t.Errorf("the receiver got %s", r)
		}
	}
	select {
	case text := <-out:
		t.Errorf("svc listen ended: %s", text)
	default: // it ends with the test's context
	}
}

// TestTriggerAsksForASandbox: in AWS, svc trigger works in a sandbox only.
func TestTriggerAsksForASandbox(t *testing.T) {
	w := start(t).deployed()
	if _, errs, code := w.run("trigger", "metro", "trip.completed", "--yes"); code != 1 ||
		!strings.Contains(errs, "no sandbox") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestSandboxWithRobots: a tenant is made with its robots, and never a live one.
func TestSandboxWithRobots(t *testing.T) {
	w := start(t)
	for _, wrong := range [][]string{{"--robots", "3"}, {"--sandbox", "--robots", "51"}, {"--sandbox", "--robots", "-1"},
		{"--sandbox", "--robots", "3", "--center", "NaN,1"}, {"--sandbox", "--robots", "3", "--center", "48"}} {
		if _, errs, code := w.run(append([]string{"tenant", "create", "toy"}, wrong...)...); code != 2 {
			t.Errorf("%v: %d %s", wrong, code, errs)
		}
	}
	w.ok("tenant", "create", "toy", "--sandbox", "--robots", "3", "--center", "48.14,11.58")
	if out := w.ok("driver", "list", "toy"); strings.Count(out, "Robot") != 3 {
		t.Error(out)
	}
}

// enabled waits until metro's only endpoint has echoed its challenge.
func (w *world) enabled(t *testing.T) {
	t.Helper()
	for range 600 {
		if read[[]webhook.Endpoint](w, "webhook", "list", "metro")[0].Status == webhook.Enabled {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the endpoint is not enabled")
}

// TestWebhookEnable: a receiver that starts with its secret is not there for the first
// challenge, and asks for another. An endpoint that is enabled stays so.
func TestWebhookEnable(t *testing.T) {
	t.Parallel()
	w, r := start(t), receive(t)
	var ready atomic.Bool
	late := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, q *http.Request) {
		if !ready.Load() {
			a.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.Config.Handler.ServeHTTP(a, q)
	}))
	t.Cleanup(late.Close)
	one := read[endpointWithSecret](w, "webhook", "create", "metro", late.URL)
	for range 600 {
		why := read[[]webhook.Endpoint](w, "webhook", "list", "metro")[0].Reason
		if why != nil && *why != webhook.Unverified {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, errs, code := w.run("webhook", "test", "metro", one.ID)
	if code != 1 || !strings.Contains(errs, "Start its receiver") {
		t.Errorf("a test of a pending endpoint: %d %s", code, errs)
	}
	ready.Store(true)
	w.ok("webhook", "enable", "metro", one.ID)
	w.enabled(t)
	if again := read[webhook.Endpoint](w, "webhook", "enable", "metro", one.ID); again.Status != webhook.Enabled {
		t.Errorf("enabled again: %+v", again)
	}
}

package deliver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/deliver"
	"svc/pkg/base/outbound"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// verifies reports whether the official verifier accepts a request with the secret.
func verifies(t *testing.T, r received, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	testkit.Must(t, err)
	return hook.VerifyIgnoringTimestamp(r.body, r.header) == nil
}

func TestSignedEventsArrive(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.ride(2) // before the endpoint: nothing of it is sent
	hook := w.create(r.URL, "")
	if got := r.take(); len(got) != 1 || got[0].kind != "verification" || !verifies(t, got[0], hook.Secret) {
		t.Fatalf("the address got %+v; want one signed challenge", got)
	}
	if e := w.get(hook.ID); e.Status != webhook.Enabled || e.VerifiedAt == nil || e.Reason != nil {
		t.Fatalf("after its echo the endpoint is %+v", e)
	}
	w.ride(3)
	w.run()
	got := r.take()
	if len(got) != 3 {
		t.Fatalf("%d deliveries, want 3", len(got))
	}
	for _, one := range got {
		var e event.Event
		testkit.Must(t, json.Unmarshal(one.body, &e))
		if one.kind != "trip.requested" || e.ID != one.id || e.Data.TripID != e.Resource || !verifies(t, one, hook.Secret) {
			t.Errorf("got %s as %s", one.body, one.id)
		}
	}
	for _, d := range w.deliveries(hook.ID, "") {
		if d.Status != webhook.Succeeded || len(d.Attempts) != 1 || d.Attempts[0].Result != "succeeded" {
			t.Errorf("delivery %+v", d)
		}
	}
	if len(w.deliveries(hook.ID, "?status=failed")) > 0 {
		t.Error("something failed")
	}
}

// TestRotation: until its end the old secret verifies too, then no longer.
func TestRotation(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	var next webhook.WithSecret
	w.Want(200, &next, "POST", "/api/v1/webhooks/"+hook.ID+"/rotate", w.operator, `{"overlapHours": 1}`)
	r.take()
	for _, old := range []bool{true, false} {
		w.ride(1)
		w.run()
		one := r.take()[0]
		if !verifies(t, one, next.Secret) || verifies(t, one, hook.Secret) != old {
			t.Errorf("the new secret verifies: %v, the old one: %v, want %v", verifies(t, one, next.Secret), verifies(t, one,
				hook.Secret), old)
		}
		w.Advance(time.Hour)
	}
	if strings.Contains(w.Want(200, nil, "GET", "/api/v1/webhooks", w.operator, "").Body, "ecret") {
		t.Error("the list shows a secret")
	}
	key := []string{"Idempotency-Key", "rotate"}
	path := "/api/v1/webhooks/" + hook.ID + "/rotate"
	w.Want(400, nil, "POST", path, w.operator, `{"overlapHours": 169}`)
	for body, overlap := range map[string]time.Duration{"": 24 * time.Hour, `{"overlapHours": 168}`: 7 * 24 * time.Hour} {
		w.Want(200, nil, "POST", path, w.operator, body)
		book, err := webhook.Kind.FromItem(w.item())
		testkit.Must(t, err)
		if until := book.Endpoints[0].PreviousUntil; until != timestamp.Format(w.Now().Add(overlap)) {
			t.Errorf("after %q the old secret ends at %s", body, until)
		}
	}
	first := w.Want(200, nil, "POST", path, w.operator, "", key...).Body
	again := w.Want(200, nil, "POST", path, w.operator, "", key...).Body
	if !strings.Contains(first, "whsec_") || again != first { // the same client
		t.Errorf("first %s, repeated %s", first, again)
	}
	created := ""
	for i := range 2 {
		made := w.Want(201, nil, "POST", "/api/v1/webhooks", w.operator, fmt.Sprintf(`{"url": %q}`, r.URL), "Idempotency-Key",
			"create").Body
		if i == 0 {
			created = made
		}
		if !strings.Contains(made, "whsec_") || made != created {
			t.Errorf("creation %d: %s, first %s", i+1, made, created)
		}
	}
}

// TestSchedule: the attempts come after the pauses of the schedule, ±20 %, each with
// the same id. An attempt that succeeds ends them.
func TestSchedule(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	r.answers(500, nil)
	r.take()
	w.ride(1)
	w.run()
	first := r.take()
	if len(first) != 1 {
		t.Fatalf("%d attempts at once", len(first))
	}
	for i, pause := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour} {
		w.pass(pause * 79 / 100)
		if got := r.take(); len(got) > 0 {
			t.Fatalf("attempt %d comes before %v", i+2, pause)
		}
		w.pass(pause * 42 / 100)
		got := r.take()
		if len(got) != 1 || got[0].id != first[0].id || string(got[0].body) != string(first[0].body) {
			t.Fatalf("after %v: %d attempts, want one with the same id and bytes", pause, len(got))
		}
		if got[0].header.Get("webhook-timestamp") == first[0].header.Get("webhook-timestamp") ||
			!verifies(t, got[0], hook.Secret) {
			t.Error("the signature is not new")
		}
	}
	w.pass(48 * time.Hour)
	if got := r.take(); len(got) > 0 {
		t.Error("an eleventh attempt")
	}
	d := w.deliveries(hook.ID, "?status=failed")
	if len(d) != 1 || len(d[0].Attempts) != 10 || d[0].NextAt != nil || d[0].Attempts[9].Result != "http_5xx" {
		t.Errorf("deliveries %+v", d)
	}
	if strings.Contains(fmt.Sprint(d), "network") {
		t.Error("the receiver's response is shown")
	}
}

// TestResults: only 2xx is a success, redirects are not followed, 410 ends
// everything, and Retry-After is honoured.
func TestResults(t *testing.T) {
	for _, tt := range []struct {
		status int
		header map[string]string
		want   string
		next   time.Duration // until the next attempt; 0 if there is none
	}{
		{200, nil, "succeeded", 0},
		{202, nil, "succeeded", 0},
		{302, map[string]string{"Location": "http://169.254.169.254/"}, "http_3xx", 5 * time.Second},
		{404, nil, "http_4xx", 5 * time.Second},
		{410, nil, "gone", 0},
		{429, map[string]string{"Retry-After": "600"}, "http_4xx", 10 * time.Minute},
		{503, map[string]string{"Retry-After": "Sun, 01 Mar 2026 14:00:00 GMT"}, "http_5xx", 2 * time.Hour},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			w, r := newWorld(t, nil), newReceiver(t)
			hook := w.create(r.URL, "")
			r.answers(tt.status, tt.header)
			w.ride(1)
			w.run()
			d := w.deliveries(hook.ID, "")[0]
			if len(d.Attempts) != 1 || d.Attempts[0].Result != tt.want || (d.NextAt != nil) != (tt.next > 0) {
				t.Fatalf("%+v", d)
			}
			if d.NextAt != nil {
				at, err := time.Parse(time.RFC3339, *d.NextAt)
				testkit.Must(t, err)
				if pause := at.Sub(w.Now()); pause < tt.next*79/100 || pause > tt.next*121/100 {
					t.Errorf("the next attempt comes after %v, want %v", pause, tt.next)
				}
			}
			if e := w.get(hook.ID); (e.Status == webhook.Disabled) != (tt.status == 410) {
				t.Errorf("the endpoint is %s", e.Status)
			}
		})
	}
}

// TestFiveDaysWithoutSuccess: the endpoint is disabled, its creator gets a mail, and
// the feed tells of it. One success begins the time anew.
func TestFiveDaysWithoutSuccess(t *testing.T) {
	testkit.LongHere(t)
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	day := func(status int) {
		r.answers(status, nil)
		w.ride(1)
		w.pass(24 * time.Hour)
	}
	for range 4 {
		day(500)
	}
	day(200)
	for range 4 {
		day(500)
	}
	if e := w.get(hook.ID); e.Status != webhook.Enabled || e.FailingSince == nil {
		t.Fatalf("after four days: %+v", e)
	}
	day(500)
	day(500)
	day(500)
	if e := w.get(hook.ID); e.Status != webhook.Disabled || *e.Reason != webhook.Failing {
		t.Fatalf("after more than five days: %+v", e)
	}
	if len(w.mails) != 1 || !strings.HasPrefix(w.mails[0], "usr_") {
		t.Errorf("mails %q", w.mails)
	}
	w.endpoints()
	page, err := event.Read(t.Context(), w.tenant, event.Query{Limit: 200, Types: []string{"webhook.disabled"}}, w.Now())
	if err != nil || len(page.Events) != 1 || page.Events[0].Resource != hook.ID {
		t.Errorf("the feed has %+v, %v", page.Events, err)
	}
	r.take()
	w.ride(1)
	w.pass(5 * 24 * time.Hour)
	if got := r.take(); len(got) > 0 {
		t.Errorf("a disabled endpoint got %d requests", len(got))
	}
}

// TestUnverifiedAddressGetsOneChallenge: whatever an operator sends, an address that
// echoes nothing gets one challenge for each time that it was asked for.
func TestUnverifiedAddressGetsOneChallenge(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	r.mute = true
	hook := w.create(r.URL, "")
	w.endpoints()
	w.ride(3)
	w.endpoints()
	for range 2 { // a queue may deliver a message twice
		testkit.Must(t, w.worker.Handle(t.Context(), webhook.Message{Tenant: w.tenant.ID(), Endpoint: hook.ID, Challenge: 1}))
	}
	w.pass(24 * time.Hour)
	if got := r.take(); len(got) != 1 {
		t.Errorf("%d requests, want 1", len(got))
	}
	if e := w.get(hook.ID); e.Status != webhook.Pending || *e.Reason != "challenge_failed" {
		t.Errorf("%+v", e)
	}
	w.Want(409, nil, "POST", "/api/v1/webhooks/"+hook.ID+"/test", w.operator, "")
	r.mute = false
	w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+hook.ID, w.operator, `{"enabled": true}`)
	w.endpoints()
	if e := w.get(hook.ID); e.Status != webhook.Enabled {
		t.Errorf("%+v", e)
	}
	w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+hook.ID, w.operator, fmt.Sprintf(`{"url": %q}`, r.URL+"/new"))
	if e := w.get(hook.ID); e.Status != webhook.Pending {
		t.Errorf("with another address the endpoint is %s", e.Status)
	}
}

// TestInternalAddressesAreNotDialled: a name that first has a public address and then
// an internal one is checked at each attempt.
func TestInternalAddressesAreNotDialled(t *testing.T) {
	for _, internal := range []string{"127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a00:1", "::1",
		"fd00::1", "100.64.0.1", "0.0.0.0"} {
		w, r := newWorld(t, nil), newReceiver(t)
		hook := w.create(r.URL, "")
		var dialled []netip.AddrPort
		w.worker.Client = outbound.Guarded(func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr(internal)}, nil
		}, func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			dialled = append(dialled, to)
			return nil, errors.New("dialled")
		})
		book, err := webhook.Kind.FromItem(w.item())
		testkit.Must(t, err)
		book.Endpoints[0].URL = "https://rebinds.example/"
		testkit.Must(t, w.tenant.Load(t.Context(), webhook.Kind.Item(w.tenant, "", book)))
		w.ride(1)
		w.run()
		if d := w.deliveries(hook.ID, ""); len(dialled) > 0 || d[0].Attempts[0].Result != "address_not_public" {
			t.Errorf("%s: dialled %v, %+v", internal, dialled, d)
		}
	}
}

// TestNameThatRebinds: the first attempt resolves to a public address, the later ones
// to an internal one. Only the first is dialled.
func TestNameThatRebinds(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	var dialled []netip.AddrPort
	answers := []string{"93.184.216.34", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a00:1"}
	w.worker.Client = outbound.Guarded(func(context.Context, string) ([]netip.Addr, error) {
		next := answers[0]
		answers = answers[1:]
		return []netip.Addr{netip.MustParseAddr(next)}, nil
	}, func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		dialled = append(dialled, to)
		return nil, syscall.ECONNREFUSED
	})
	book, err := webhook.Kind.FromItem(w.item())
	testkit.Must(t, err)
	book.Endpoints[0].URL = "https://rebinds.example/"
	testkit.Must(t, w.tenant.Load(t.Context(), webhook.Kind.Item(w.tenant, "", book)))
	w.ride(1)
	for w.run(); len(answers) > 0; {
		w.pass(3 * time.Hour)
	}
	got := w.deliveries(hook.ID, "")[0].Attempts
	if len(dialled) != 1 || dialled[0].Addr().String() != "93.184.216.34" || len(got) != 5 {
		t.Fatalf("dialled %v, %+v", dialled, got)
	}
	for i, one := range got {
		if (one.Result == "address_not_public") != (i > 0) {
			t.Errorf("attempt %d: %s", i+1, one.Result)
		}
	}
}

// TestEndedDuringDelivery: when an endpoint is disabled or deleted while an attempt is
// under way, neither the queue nor the sweep begins another one.
func TestEndedDuringDelivery(t *testing.T) {
	for how, body := range map[string]string{"PATCH": `{"enabled": false}`, "DELETE": ""} {
		w, r := newWorld(t, nil), newReceiver(t)
		hook := w.create(r.URL, "")
		began, goOn := make(chan struct{}), make(chan struct{})
		inner := w.worker.Client
		w.worker.Client = roundTrip(func(req *http.Request) (*http.Response, error) {
			res, err := inner.RoundTrip(req)
			close(began) // a second attempt would panic
			<-goOn
			return res, err
		})
		r.answers(500, nil)
		r.take()
		w.ride(1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.run()
		}()
		<-began
		w.Want(200, nil, how, "/api/v1/webhooks/"+hook.ID, w.operator, body)
		close(goOn)
		<-done
		for range 4 {
			w.pass(6 * time.Hour)
		}
		if got := r.take(); len(got) != 1 {
			t.Errorf("%s: %d requests", how, len(got))
		}
	}
}

// TestEndedWhileConnecting: when an endpoint ends before its connection is open, not a
// byte is sent. An endpoint that has not ended gets the event.
func TestEndedWhileConnecting(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		endedWhileConnecting(t, sharded)
	}
}

func endedWhileConnecting(t *testing.T, sharded bool) {
	t.Helper()
	patch := func(body string) func(*world, string) {
		return func(w *world, id string) { w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+id, w.operator, body) }
	}
	for name, end := range map[string]func(w *world, id string){
		"no end":   func(*world, string) {},
		"disabled": patch(`{"enabled": false}`),
		"moved":    patch(`{"url": "https://hooks.metro.example/"}`),
		"deleted": func(w *world, id string) {
			w.Want(200, nil, "DELETE", "/api/v1/webhooks/"+id, w.operator, "")
		},
		"access revoked": func(w *world, _ string) { w.family(true) },
		"right taken away": func(w *world, _ string) {
			w.put(w.tenant.Handle, table.Item{Key: authz.ActorKey(w.tenant, authz.Dashboard, w.agent.Subject),
				Type: "membership", Attrs: map[string]any{"permissions": []string{"MANAGE_WEBHOOKS"}}})
		},
	} {
		w, r := newWorld(t, nil), newReceiver(t)
		hook := w.create(r.URL, "")
		if name != "disabled" && name != "moved" { // an operator cannot change these of a subscription
			w.subscribe()
		}
		if sharded {
			w.sharded(t)
			w.ride(12)
			w.run()
		}
		r.take()
		var once sync.Once
		w.worker.Client = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network,
			address string) (net.Conn, error) {
			once.Do(func() { end(w, hook.ID) })
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
		w.ride(1)
		w.run()
		for range 3 {
			w.pass(6 * time.Hour)
		}
		want := 0
		if name == "no end" {
			want = 1
		}
		if got := r.take(); len(got) != want {
			t.Errorf("%s, sharded %v: %d requests, want %d", name, sharded, len(got), want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) item() table.Item {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), webhook.Key(w.tenant))
	testkit.Must(w.t, err)
	return it
}

// TestOneDeadEndpointOfSixteen: the others get each event once, at once.
func TestOneDeadEndpointOfSixteen(t *testing.T) {
	w, dead := newWorld(t, nil), newReceiver(t)
	dead.answers(500, nil)
	all := []*receiver{dead}
	w.create(dead.URL, "")
	for range webhook.MaxEndpoints - 1 {
		r := newReceiver(t)
		w.create(r.URL, "")
		all = append(all, r)
	}
	for _, r := range all {
		r.take()
	}
	w.Want(409, nil, "POST", "/api/v1/webhooks", w.operator, `{"url": "https://hooks.metro.example/"}`)
	w.ride(4)
	w.run()
	for i, r := range all {
		if got := len(r.take()); got != 4 {
			t.Errorf("receiver %d got %d", i, got)
		}
	}
}

// TestAtMostSixteen: concurrent creations leave exactly sixteen endpoints.
func TestAtMostSixteen(t *testing.T) {
	w := newWorld(t, nil)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := 0; i < 8; {
				if a := w.Do("POST", "/api/v1/webhooks", w.operator, `{"url": "https://hooks.metro.example/"}`); a.Status != 503 {
					i++
				}
			}
		})
	}
	wait.Wait()
	if book, err := webhook.Kind.FromItem(w.item()); err != nil || len(book.Endpoints) != webhook.MaxEndpoints {
		t.Errorf("%d endpoints, %v", len(book.Endpoints), err)
	}
}

// TestReplay sends one event or a range again, to this endpoint only.
func TestReplay(t *testing.T) {
	w, r, other := newWorld(t, nil), newReceiver(t), newReceiver(t)
	w.ride(120)
	w.Advance(time.Hour)
	hook := w.create(r.URL, "")
	w.create(other.URL, "")
	began := w.Now()
	w.ride(3)
	w.run()
	got := r.take()[1:]
	other.take()
	path := "/api/v1/webhooks/" + hook.ID + "/replay"
	w.Want(200, nil, "POST", path, w.operator, fmt.Sprintf(`{"event": %q}`, got[1].id))
	w.requested(hook.ID)
	if again := r.take(); len(again) != 1 || again[0].id != got[1].id {
		t.Errorf("one event again: %d requests", len(again))
	}
	w.Want(200, nil, "POST", path, w.operator, fmt.Sprintf(`{"after": %q}`, began.Format(time.RFC3339)))
	w.requested(hook.ID)
	if again := r.take(); len(again) != 3 {
		t.Errorf("a range again: %d requests, want 3", len(again))
	}
	w.Want(200, nil, "POST", path, w.operator, `{"after": "2026-01-01T00:00:00Z"}`)
	w.requested(hook.ID)
	ids := map[string]bool{}
	for _, one := range r.take() {
		ids[one.id] = true
	}
	if len(ids) != 123 {
		t.Errorf("everything again: %d events, want 123", len(ids))
	}
	if len(other.take()) > 0 {
		t.Error("the other endpoint got something")
	}
	for _, body := range []string{`{}`, `{"event": "evt_01JT7M4C6Q8V2N5X9B3D1F7H0K", "after": "2026-01-01T00:00:00Z"}`,
		`{"after": "yesterday"}`, `{"before": "2026-01-01T00:00:00Z"}`} {
		w.Want(400, nil, "POST", path, w.operator, body)
	}
}

// TestTestEvent: a test is sent once, and is in no feed.
func TestTestEvent(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, `, "types": ["order.created"]`)
	r.take()
	r.answers(500, nil)
	w.Want(200, nil, "POST", "/api/v1/webhooks/"+hook.ID+"/test", w.operator, `{"type": "trip.settled"}`)
	w.requested(hook.ID)
	w.pass(24 * time.Hour)
	if got := r.take(); len(got) != 1 || got[0].kind != "trip.settled" || !verifies(t, got[0], hook.Secret) {
		t.Errorf("got %d", len(got))
	}
	if d := w.deliveries(hook.ID, "?status=failed"); len(d) != 1 || !d[0].Test {
		t.Errorf("%+v", d)
	}
	w.ride(1) // not one of the endpoint's types
	w.run()
	if got := r.take(); len(got) > 0 {
		t.Error("it got an event of another type")
	}
}

// TestLivemode: an event and a test event of a sandbox say that nothing in it is real.
func TestLivemode(t *testing.T) {
	for _, sandbox := range []bool{false, true} {
		w, r := newWorld(t, nil), newReceiver(t)
		w.sandbox(sandbox)
		hook := w.create(r.URL, "")
		w.Want(200, nil, "POST", "/api/v1/webhooks/"+hook.ID+"/test", w.operator, "")
		w.requested(hook.ID)
		w.ride(1)
		w.run()
		got := slices.DeleteFunc(r.take(), func(one received) bool { return one.kind == "verification" })
		for _, one := range got {
			var e event.Event
			testkit.Must(t, json.Unmarshal(one.body, &e))
			if e.Livemode == sandbox {
				t.Errorf("sandbox %v: %s", sandbox, one.body)
			}
		}
		if len(got) != 2 {
			t.Errorf("sandbox %v: %d events came", sandbox, len(got))
		}
	}
}

// TestAdvance: each delivery of a sandbox whose next attempt is due within the seconds
// gets that attempt once, and the attempt is not made again at its time. In a live
// tenant nothing happens.
func TestAdvance(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.create(r.URL, "")
	r.answers(500, nil)
	r.take()
	w.ride(3)
	w.run()
	advance := func(seconds, want int) {
		t.Helper()
		for range 2 { // the message may come twice
			testkit.Must(t, w.worker.Handle(t.Context(), webhook.Message{Tenant: w.tenant.ID(), Advance: seconds}))
		}
		if w.run(); len(r.take()) != want {
			t.Errorf("%d seconds ahead: want %d attempts", seconds, want)
		}
	}
	if got := len(r.take()); got != 3 {
		t.Fatalf("%d first attempts", got)
	}
	advance(3600, 0)
	w.sandbox(true)
	advance(1, 0)
	advance(60, 3)
	advance(60, 0)
	if w.pass(10 * time.Second); len(r.take()) > 0 {
		t.Error("an attempt was made again at its time")
	}
	r.answers(204, nil)
	advance(3600, 3)
	advance(3600, 0)
}

// TestOtherTenant: everything of another tenant is a 404 with the same bytes.
func TestOtherTenant(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	w.ride(1)
	w.run()
	sent := w.deliveries(hook.ID, "")[0].EventID
	_, foreign := w.join()
	for _, tt := range [][3]string{{"GET", "", ""}, {"PATCH", "", `{"enabled": false}`}, {"DELETE", "", ""},
		{"POST", "/rotate", ""}, {"POST", "/test", ""}, {"GET", "/deliveries", ""},
		{"POST", "/replay", fmt.Sprintf(`{"event": %q}`, sent)}} {
		there := w.Want(404, nil, tt[0], "/api/v1/webhooks/"+hook.ID+tt[1], foreign, tt[2]).Body
		none := w.Want(404, nil, tt[0], "/api/v1/webhooks/whk_01ARZ3NDEKTSV4RRFFQ69G5FAV"+tt[1], foreign, tt[2]).Body
		if there != none {
			t.Errorf("%s %s: %s, and of one that does not exist %s", tt[0], tt[1], there, none)
		}
	}
	if e := w.get(hook.ID); e.Status != webhook.Enabled {
		t.Errorf("%+v", e)
	}
	var own webhook.WithSecret
	w.Want(201, &own, "POST", "/api/v1/webhooks", foreign, fmt.Sprintf(`{"url": %q}`, r.URL))
	replay := func(event string) string {
		body := fmt.Sprintf(`{"event": %q}`, event)
		return w.Want(404, nil, "POST", "/api/v1/webhooks/"+own.ID+"/replay", foreign, body).Body
	}
	if there, none := replay(sent), replay("evt_01ARZ3NDEKTSV4RRFFQ69G5FAV"); there != none {
		t.Errorf("an event of another tenant: %s, and one that does not exist: %s", there, none)
	}
}

// TestPatience: an attempt takes 15 seconds at most. A receiver that has not answered
// then gets the event again.
func TestPatience(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	hook := w.create(r.URL, "")
	var left time.Duration
	w.worker.Client = roundTrip(func(req *http.Request) (*http.Response, error) {
		at, _ := req.Context().Deadline()
		left = time.Until(at)
		return nil, context.DeadlineExceeded
	})
	w.ride(1)
	w.run()
	if left < 14*time.Second || left > 15*time.Second {
		t.Errorf("an attempt may take %v", left)
	}
	if d := w.deliveries(hook.ID, "?status=pending"); len(d) != 1 || d[0].Attempts[0].Result != "timeout" {
		t.Errorf("deliveries %+v", d)
	}
}

// TestAddresses that are no public https addresses are refused at once.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		url   string
		local bool
		ok    bool
	}{
		{"https://hooks.metro.example/a?b=c", false, true}, {"https://hooks.metro.example:443/", false, true},
		{"http://hooks.metro.example/", false, false}, {"https://hooks.metro.example:8443/", false, false},
		{"https://u:p@hooks.metro.example/", false, false}, {"https://hooks.metro.example/#x", false, false},
		{"https://127.0.0.1/", true, false}, {"http://127.0.0.1:9000/", true, true}, {"http://127.0.0.1:9000/", false, false},
		{"http://localhost:9000/", true, true}, {"http://[::1]:9000/", true, true}, {"http://localhost:9000/", false, false},
		{"http://localhost.evil.example:9000/", true, false}, {"http://[::1]:9000/", false, false},
		{"https://①②⑦.⓪.⓪.①/", false, false}, {"https://[::1]/", true, false}, {"https://10.0.0.1/", false, false},
		{"https://169.254.169.254/latest", false, false}, {"https://[::ffff:10.0.0.1]/", false, false},
		{"https://[64:ff9b::a00:1]/", false, false}, {"https://2130706433/", false, false}, {"https://0x7f.1/", false, false},
		{"https://127.1/", false, false}, {"https://0177.0.0.1/", false, false}, {"https://localhost./", false, false},
		{"https://db.internal/", false, false}, {"https://8.8.8.8/", false, true},
		{"ftp://hooks.metro.example/", true, false},
		{"https:///x", false, false}, {"//hooks.metro.example/", false, false}, {"https://" + strings.Repeat("a", 500), false,
			false},
	} {
		if got := webhook.CheckURL(tt.url, tt.local); (got == "") != tt.ok {
			t.Errorf("%s (local %v): %q", tt.url, tt.local, got)
		}
	}
	w := newWorld(t, nil)
	for url, status := range map[string]int{"http://127.0.0.1:9000/": 201, "http://localhost:9000/": 201,
		"http://[::1]:9000/": 201, "http://10.0.0.1/": 400, "https://[::1]/": 400, "http://169.254.169.254/": 400} {
		w.Want(status, nil, "POST", "/api/v1/webhooks", w.operator, fmt.Sprintf(`{"url": %q}`, url))
	}
}

// TestCostOfAnEvent: an event with one endpoint costs at most nine write units.
func TestCostOfAnEvent(t *testing.T) {
	w, r := newWorld(t, nil), newReceiver(t)
	w.create(r.URL, "")
	at := w.prepare()
	ctx, meter := table.Metered(t.Context())
	testkit.Must(t, w.feed.Change(ctx, at))
	w.mu.Lock()
	m := w.queue[len(w.queue)-1].m
	w.mu.Unlock()
	testkit.Must(t, w.worker.Handle(ctx, m))
	const loads = 2 // SENT and the delivery: one unit each, which the meter does not count
	if got := testkit.WriteUnits(meter.Usage()) + loads; got > 9 || got < 6 && !testkit.OnDynamoDBLocal() {
		t.Errorf("%v write units", got)
	}
}

var _ http.RoundTripper = deliver.Local()

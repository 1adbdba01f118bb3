package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/sync/errgroup"

	"svc/internal/test/testkit"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// receiver verifies each message with the official library and keeps the events.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	got    []string // types of events, or why a message was refused
	about  []string // the events' resources
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		var message struct{ Type, Challenge, Resource string }
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
		r.got, r.about = append(r.got, message.Type), append(r.about, message.Resource)
	}))
	t.Cleanup(r.Close)
	return r
}

// wait waits until the receiver has an event of the type.
func (r *receiver) wait(t *testing.T, kind string) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r.mu.Lock()
		found := strings.Contains(strings.Join(r.got, "\n")+"\n", kind+"\n")
		r.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("no %s: %q", kind, r.got)
}

// count returns how many events about a resource the receiver has.
func (r *receiver) count(resource string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, about := range r.about {
		if about == resource {
			n++
		}
	}
	return n
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
	w.ok("trigger", "metro", "trip.rated") // a whole ride
	r.wait(t, "trip.rated")
	if out := w.ok("webhook", "test", "metro", one.ID, "--type", "wallet.posted"); !strings.HasSuffix(out,
		"svc webhook deliveries metro "+one.ID+"\n") {
		t.Errorf("the next command is not in %q", out)
	}
	r.wait(t, "wallet.posted")
	var sent []webhook.Delivery
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		sent = read[[]webhook.Delivery](w, "webhook", "deliveries", "metro", one.ID, "--status", "succeeded")
		if len(sent) == 5 {
			break
		}
	}
	if len(sent) != 5 {
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
		{"webhook", "replay", "metro", one.ID, "evt_1"}, {"webhook", "rotate", "metro", one.ID, "--overlap", "200h"},
		{"webhook", "rotate", "metro", one.ID, "--overlap", "90m"},
		{"webhook", "rotate", "metro", one.ID, "--overlap", "2"}} {
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
	if _, errs, code := w.run("listen", "metro", "--forward-to", "ftp://127.0.0.1/"); code != 2 ||
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

// TestListenOutlivesTheService: svc listen waits while svc dev is restarted, and then
// sends what came meanwhile and later, each event once. It takes an address without a
// scheme.
func TestListenOutlivesTheService(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, data: demoFolder(t)}, receive(t)
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	r.use(secret)
	restart := func() func() {
		_, _, stop := devFor(t, w.data, isRunning)
		return stop
	}
	stop := restart()
	limited := *w
	ended := make(chan string, 1)
	go func() {
		_, errs, _ := limited.run("listen", "metro", "--forward-to", strings.TrimPrefix(r.URL, "http://")+"/ok", "--secret",
			secret, "--type", "trip.requested", "--after", "latest")
		ended <- errs
	}()
	ride := func() string {
		changed := read[map[string]string](w, "trigger", "metro", "trip.requested")["changed"]
		return strings.TrimPrefix(changed, "trip ")
	}
	first := ride()
	for deadline := time.Now().Add(testkit.Patience); r.count(first) == 0; time.Sleep(50 * time.Millisecond) {
		if first = ride(); time.Now().After(deadline) { // svc listen may not have found its place before
			t.Fatal("svc listen sends nothing")
		}
		time.Sleep(2 * time.Second)
	}
	stop()
	restart()
	second := ride()
	for deadline := time.Now().Add(testkit.Patience); r.count(second) == 0; time.Sleep(50 * time.Millisecond) {
		select {
		case errs := <-ended:
			t.Fatalf("svc listen ended: %s", errs)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("svc listen sends nothing after the restart")
		}
	}
	if r.count(first) != 1 || r.count(second) != 1 {
		t.Errorf("%d and %d times", r.count(first), r.count(second))
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
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if read[[]webhook.Endpoint](w, "webhook", "list", "metro")[0].Status == webhook.Enabled {
			return
		}
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
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		why := read[[]webhook.Endpoint](w, "webhook", "list", "metro")[0].Reason
		if why != nil && *why != webhook.Unverified {
			break
		}
	}
	_, errs, code := w.run("webhook", "test", "metro", one.ID)
	if code != 1 || !strings.Contains(errs, "Start its receiver, then enable it") {
		t.Errorf("a test of a pending endpoint: %d %s", code, errs)
	}
	ready.Store(true)
	w.ok("webhook", "enable", "metro", one.ID)
	w.enabled(t)
	if again := read[webhook.Endpoint](w, "webhook", "enable", "metro", one.ID); again.Status != webhook.Enabled {
		t.Errorf("enabled again: %+v", again)
	}
}

// TestTriggerEveryType: in a new sandbox without people and without an endpoint, svc
// trigger makes an event of each type.
func TestTriggerEveryType(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t, "--no-demo")
	w.ok("tenant", "create", "fresh", "--name", "Fresh", "--currency", "USD", "--sandbox", "--flag", "taxiEnabled=true",
		"--flag", "deliveryEnabled=true")
	missing := map[string]bool{}
	var erasures errgroup.Group // they wait for a job, which runs each minute
	for _, kind := range event.Types() {
		missing[kind.Name] = true
		trigger := func() error {
			if _, errs, code := w.run("trigger", "fresh", kind.Name); code != 0 {
				return fmt.Errorf("svc trigger fresh %s: %s", kind.Name, errs)
			}
			return nil
		}
		if strings.HasSuffix(kind.Name, ".erased") {
			erasures.Go(trigger)
		} else if err := trigger(); err != nil {
			t.Error(err)
		}
	}
	testkit.Must(t, erasures.Wait())
	for deadline := time.Now().Add(testkit.Patience); len(missing) > 0; time.Sleep(100 * time.Millisecond) {
		for line := range strings.Lines(w.ok("events", "fresh", "--limit", "1000", "--json")) {
			var e event.Event
			testkit.Must(t, json.Unmarshal([]byte(line), &e))
			delete(missing, e.Type)
		}
		if time.Now().After(deadline) {
			t.Fatalf("no events of %v", slices.Sorted(maps.Keys(missing)))
		}
	}
	w.ok("verify")
}

// endpointWithSecret is an endpoint as --json prints it once.
type endpointWithSecret struct {
	webhook.Endpoint
	Secret string `json:"secret"`
}

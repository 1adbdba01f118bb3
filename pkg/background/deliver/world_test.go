package deliver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/background/deliver"
	"svc/pkg/background/feed"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// world is a tenant with webhooks, their queue, and the passing of time.
type world struct {
	*apitest.Stand
	t        *testing.T
	tenant   table.Tenant
	operator string
	worker   deliver.Worker
	feed     feed.Function
	mails    []string
	agent    signing.Access // of subscribe

	mu    sync.Mutex
	queue []queued
}

type queued struct {
	at time.Time
	m  webhook.Message
}

// newWorld serves the rows as svc dev does: at an address of 127.0.0.1.
func newWorld(t *testing.T, wire *testkit.Wire) *world {
	t.Helper()
	sealer := signing.NewSealer()
	w := &world{t: t, Stand: apitest.NewAt(t, testkit.TableOnWire(t, wire), api.Config{BaseURL: "http://127.0.0.1:1",
		Sealer: sealer, Answers: sealer}, append(webhook.Rows(), webhook.AgentRows()...)...)}
	w.tenant, w.operator = w.join()
	w.worker = deliver.Worker{DB: w.DB, Now: w.Now, Secrets: sealer, Client: deliver.Local(), Later: w.later,
		Mail: func(_ context.Context, _, person, subject, _ string) error {
			w.mails = append(w.mails, person+": "+subject)
			return nil
		}}
	for _, book := range webhook.AllDue(w.DB, w.Now) {
		testkit.Must(t, book.Begin(t.Context()))
	}
	w.feed = feed.Function{DB: w.DB, Now: w.Now, Send: w.later}
	return w
}

func (w *world) join() (table.Tenant, string) {
	n := w.Tenant("USD", 1)
	return n, w.Token(n, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_WEBHOOKS", "MANAGE_WEBHOOKS")
}

// sandbox says whether the tenant is a sandbox.
func (w *world) sandbox(is bool) {
	w.t.Helper()
	w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD", "readShards": 1,
		"writeShards": 1, "sandbox": is})
}

func (w *world) put(h table.Handle, it table.Item) {
	w.t.Helper()
	testkit.Must(w.t, h.Load(w.t.Context(), it))
}

// family writes the family of the agent's token.
func (w *world) family(revoked bool) {
	w.t.Helper()
	w.put(w.tenant.Handle, table.Item{Key: authz.FamilyKey(w.tenant, "fam"), Type: "family",
		Attrs: map[string]any{"actor": w.agent.Subject, "revoked": revoked}, Expires: w.Now().Add(30 * 24 * time.Hour)})
}

// subscribe makes the tenant's endpoint the subscription of an agent.
func (w *world) subscribe() {
	w.t.Helper()
	var err error
	w.agent, err = w.Verify(w.t.Context(), w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start),
		"MANAGE_WEBHOOKS", "VIEW_EVENTS"))
	testkit.Must(w.t, err)
	w.family(false)
	book, err := webhook.Kind.FromItem(w.item())
	testkit.Must(w.t, err)
	book.Endpoints[0].Subscription = &webhook.Subscription{Name: "all",
		RefreshBefore: timestamp.Format(w.Now().Add(24 * time.Hour)), Standing: authz.Standing{Token: w.agent.ID,
			Client: w.agent.ClientID, Actor: w.agent.Subject, Audience: w.agent.Audience, Scopes: w.agent.Scopes, Epoch: 1,
			Family: "fam"}}
	w.put(w.tenant.Handle, webhook.Kind.Item(w.tenant, "", book))
}

func (w *world) later(_ context.Context, delay time.Duration, messages ...webhook.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delay < 0 || delay > deliver.MaxDelay {
		w.t.Errorf("a message comes after %v, longer than a queue can wait", delay)
	}
	for _, m := range messages {
		w.queue = append(w.queue, queued{w.Now().Add(delay), m})
	}
	return nil
}

// run handles the messages of the queue that have come, until there are none.
func (w *world) run() {
	w.t.Helper()
	for {
		w.mu.Lock()
		i := slices.IndexFunc(w.queue, func(q queued) bool { return !q.at.After(w.Now()) })
		if i < 0 {
			w.mu.Unlock()
			return
		}
		m := w.queue[i].m
		w.queue = slices.Delete(w.queue, i, i+1)
		w.mu.Unlock()
		if err := w.worker.Handle(w.t.Context(), m); err != nil {
			w.t.Fatal(err)
		}
	}
}

// pass lets time pass, and does what is due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.Advance(d)
	w.run()
	testkit.Must(w.t, w.worker.Sweep(w.t.Context(), func(ctx context.Context, m webhook.Message) error {
		return w.worker.Handle(ctx, m)
	}))
	w.run()
}

// step passes a change of an item to the feed, as the stream does.
func (w *world) step(key table.Key) {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), key)
	testkit.Must(w.t, err)
	testkit.Must(w.t, w.feed.Change(w.t.Context(), stream.Change{Key: key, New: it}))
}

// endpoints passes the change of the tenant's endpoints to the feed and runs.
func (w *world) endpoints() {
	w.t.Helper()
	w.step(webhook.Key(w.tenant))
	w.run()
}

// requested passes what operators asked for to the feed and runs.
func (w *world) requested(endpoint string) {
	w.t.Helper()
	page, err := w.tenant.Query(w.t.Context(), w.tenant.Partition("WEBHOOK", endpoint), table.Query{Prefix: "REQUEST#",
		Limit: 10})
	testkit.Must(w.t, err)
	for _, it := range page.Items {
		w.step(it.Key)
		tx := w.tenant.Write()
		tx.Delete(it.Key)
		defer func() { testkit.Must(w.t, tx.Commit(w.t.Context())) }()
	}
	w.run()
}

// ride requests n trips, and passes them to the feed.
func (w *world) ride(n int) {
	w.t.Helper()
	for range n {
		w.Advance(time.Millisecond)
		at := timestamp.Format(w.Now())
		tr := trip.Trip{ID: ids.New(ids.Trip, w.Now()), Status: trip.Pending, CustomerID: "cus", Currency: "USD",
			OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
		testkit.Must(w.t, w.tenant.Load(w.t.Context(), tr.Item(w.tenant, 1)))
		w.step(trip.Key(w.tenant, tr.ID))
	}
}

// create adds an endpoint and lets it echo its challenge.
func (w *world) create(url string, more string) webhook.WithSecret {
	w.t.Helper()
	var out webhook.WithSecret
	w.Want(201, &out, "POST", "/api/v1/webhooks", w.operator, fmt.Sprintf(`{"url": %q%s}`, url, more))
	w.endpoints()
	return out
}

func (w *world) get(id string) (out webhook.Endpoint) {
	w.t.Helper()
	w.Want(200, &out, "GET", "/api/v1/webhooks/"+id, w.operator, "")
	return out
}

func (w *world) deliveries(id, query string) []webhook.Delivery {
	w.t.Helper()
	var out api.Page[webhook.Delivery]
	w.Want(200, &out, "GET", "/api/v1/webhooks/"+id+"/deliveries"+query, w.operator, "")
	return out.Items
}

// received is one request that a receiver got.
type received struct {
	header http.Header
	body   []byte
	kind   string
	id     string // header webhook-id
}

// receiver is a receiver of webhooks. It echoes challenges.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int
	header map[string]string
	mute   bool // echoes no challenge
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: 204}
	r.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		var b struct{ Type, Challenge string }
		_ = json.Unmarshal(body, &b)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, received{in.Header, body, b.Type, in.Header.Get("webhook-id")})
		if b.Type == "verification" && !r.mute {
			_, _ = fmt.Fprintf(out, `{"challenge": %q}`, b.Challenge)
			return
		}
		for name, value := range r.header {
			out.Header().Set(name, value)
		}
		out.WriteHeader(r.status)
		_, _ = io.WriteString(out, "a secret of the receiver's network")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(status int, header map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.header = status, header
}

// take returns what the receiver got since the last call.
func (r *receiver) take() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

// prepare requests a trip and returns its change, which the feed has not seen.
func (w *world) prepare() stream.Change {
	w.t.Helper()
	w.Advance(time.Millisecond)
	at := timestamp.Format(w.Now())
	tr := trip.Trip{ID: ids.New(ids.Trip, w.Now()), Status: trip.Pending, CustomerID: "cus", Currency: "USD",
		OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), tr.Item(w.tenant, 1)))
	it, err := w.tenant.Get(w.t.Context(), trip.Key(w.tenant, tr.ID))
	testkit.Must(w.t, err)
	return stream.Change{Key: it.Key, New: it}
}

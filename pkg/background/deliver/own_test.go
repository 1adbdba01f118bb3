package deliver_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
)

// own is the subscription of the agent of the rider whose rides world requests.
type own struct {
	*world
	wire *testkit.Wire
	r    *receiver
	id   string
	mine string // the rider's token
	seen map[string]int
}

const rider = "cus"

func newOwn(t *testing.T) *own {
	t.Helper()
	wire := &testkit.Wire{}
	w := &own{world: newWorld(t, wire), wire: wire, r: newReceiver(t), seen: map[string]int{}}
	w.mine = w.Token(w.tenant, authz.Rider, rider)
	w.put(w.tenant.Handle, table.Item{Key: authz.ActorKey(w.tenant, authz.Rider, rider), Type: "customer",
		Attrs: map[string]any{"disabled": false}})
	w.access(false)
	w.ride(2)
	w.run()
	return w
}

// access writes the family of the agent's token.
func (w *own) access(revoked bool) {
	w.put(w.tenant.Handle, table.Item{Key: authz.FamilyKey(w.tenant, ""), Type: "family",
		Attrs: map[string]any{"actor": rider, "revoked": revoked}, Expires: w.Now().Add(30 * 24 * time.Hour)})
}

// begin subscribes, and passes the change to the feed.
func (w *own) begin(url string) {
	w.t.Helper()
	var out webhook.Subscribed
	w.Want(200, &out, "POST", "/mcp/own-subscriptions", w.mine, fmt.Sprintf(`{"name": "all", "url": %q,
		"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}`, url))
	w.id = out.ID
	w.books()
}

// books passes the changes of the tenant's endpoints and the rider's subscriptions to
// the feed.
func (w *own) books() {
	w.t.Helper()
	w.step(webhook.BookKey(w.tenant, rider))
	w.step(webhook.Key(w.tenant))
}

// enabled lets the subscription be enabled.
func (w *own) enabled() {
	w.t.Helper()
	w.run()
	w.books()
	w.requested(w.id)
}

func (w *own) record() *webhook.Record {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), webhook.BookKey(w.tenant, rider))
	testkit.Must(w.t, err)
	book, err := webhook.Kind.FromItem(it)
	testkit.Must(w.t, err)
	return book.Find(w.id)
}

// check checks that the subscription got each event after its beginning once.
func (w *own) check(name string) {
	w.t.Helper()
	w.run()
	last, err := event.Newest(w.t.Context(), w.tenant)
	testkit.Must(w.t, err)
	for _, one := range w.r.take() {
		if one.kind != "verification" {
			w.seen[one.id]++
		}
	}
	r := w.record()
	if want := int(last[0] - r.Subscription.From[0]); r.Status != webhook.Enabled || len(w.seen) != want {
		w.t.Errorf("%s: it is %s and got %d events of %d", name, r.Status, len(w.seen), want)
	}
	for id, n := range w.seen {
		if n != 1 {
			w.t.Errorf("%s: %s came %d times", name, id, n)
		}
	}
}

// TestPersonsSubscriptionMissesNothing: a rider's subscription that begins, or is
// enabled, between any two requests of a step of the feed gets what the step appends
// after its beginning; and an event that comes between any two requests of the enabling
// reaches it.
func TestPersonsSubscriptionMissesNothing(t *testing.T) {
	testkit.LongHere(t)
	for name, c := range map[string]struct{ first, during, meanwhile func(*own) }{
		"begins while appending": {func(*own) {}, nil, func(w *own) {
			w.begin(w.r.URL)
			w.enabled()
		}},
		"is enabled while appending":     {func(w *own) { w.begin(w.r.URL) }, nil, (*own).enabled},
		"an event comes while enabling":  {func(w *own) { w.begin(w.r.URL) }, (*own).run, func(w *own) { w.ride(1) }},
		"an event comes while beginning": {func(*own) {}, func(w *own) { w.begin(w.r.URL) }, func(w *own) { w.ride(1) }},
	} {
		t.Run(name, func(t *testing.T) {
			for p := range testkit.Points(t, 19) {
				w := newOwn(t)
				c.first(w)
				at := w.prepare()
				w.wire.Meanwhile(p.N, func() { c.meanwhile(w) })
				if c.during != nil {
					c.during(w)
				} else {
					testkit.Must(t, w.feed.Change(t.Context(), at))
				}
				if !p.Reached(w.wire.Interrupted()) {
					continue
				}
				testkit.Must(t, w.feed.Change(t.Context(), at))
				w.enabled()
				w.check(fmt.Sprint("before ", p))
				w.ride(2)
				w.check(fmt.Sprint("afterwards, ", p))
			}
		})
	}
}

// TestPersonsSubscriptionGetsNobodyElses: events of other riders, and messages in the
// queue that name another's event, are not sent; nor is anything after the access has
// ended. The subscription then is removed.
func TestPersonsSubscriptionGetsNobodyElses(t *testing.T) {
	w := newOwn(t)
	w.begin(w.r.URL)
	w.enabled()
	w.r.take()
	w.ride(1)
	tr := w.prepare()
	other, err := trip.FromItem(tr.New)
	testkit.Must(t, err)
	other.CustomerID = "cus_2"
	testkit.Must(t, w.tenant.Load(t.Context(), other.Item(w.tenant, 1)))
	tr.New, err = w.tenant.Get(t.Context(), tr.Key)
	testkit.Must(t, err)
	testkit.Must(t, w.feed.Change(t.Context(), tr))
	last, err := event.Newest(t.Context(), w.tenant)
	testkit.Must(t, err)
	it, err := w.tenant.Get(t.Context(), event.Key(w.tenant, 0, last[0]))
	testkit.Must(t, err)
	foreign, err := table.DecodeDoc[event.Event](it)
	testkit.Must(t, err)
	testkit.Must(t, w.later(t.Context(), 0, webhook.Message{Tenant: w.tenant.ID(), Person: rider, Endpoint: w.id,
		Event: foreign.ID, Number: last[0], Attempt: 1}))
	w.run()
	if got := w.r.take(); len(got) != 1 || got[0].id == foreign.ID {
		t.Errorf("got %d messages, want one", len(got))
	}
	w.r.answers(http.StatusInternalServerError, nil)
	w.ride(1)
	w.run()
	w.access(true)
	w.r.take()
	for range 4 {
		w.pass(time.Hour)
	}
	if got := w.r.take(); len(got) > 0 || w.record() != nil {
		t.Errorf("after the access has ended: %d messages, %+v", len(got), w.record())
	}
	if len(w.mails) > 0 {
		t.Errorf("mailed: %q", w.mails)
	}
}

// TestPersonsEventsCostReadsOnly: while no person has a subscription, an event costs
// nothing more; then it costs one read for each person that it concerns.
func TestPersonsEventsCostReadsOnly(t *testing.T) {
	w := newOwn(t)
	cost := func() (reads, writes float64) {
		at := w.prepare()
		ctx, meter := table.Metered(t.Context())
		testkit.Must(t, w.feed.Change(ctx, at))
		w.run()
		return meter.Usage().ReadUnits, testkit.WriteUnits(meter.Usage())
	}
	r0, w0 := cost()
	w.begin("https://hooks.metro.example/")
	r1, w1 := cost()
	if w0 != w1 || r1-r0 > 6 {
		t.Errorf("an event costs %v reads and %v writes, and %v and %v with a subscription", r0, w0, r1, w1)
	}
}

// TestAdvanceReachesPersons: in a sandbox, advance makes the attempts to the
// subscriptions of persons' agents that are due, as those to the tenant's endpoints.
// Elsewhere it makes none.
func TestAdvanceReachesPersons(t *testing.T) {
	w := newOwn(t)
	w.sandbox(true)
	w.begin(w.r.URL)
	w.enabled()
	w.r.answers(http.StatusInternalServerError, nil)
	w.ride(2)
	w.run()
	w.r.take()
	for _, tt := range []struct {
		sandbox       bool
		seconds, want int
	}{{true, 1, 0}, {false, 3600, 0}, {true, 10, 2}, {true, 3600, 2}} {
		w.sandbox(tt.sandbox)
		testkit.Must(t, w.worker.Handle(t.Context(), webhook.Message{Tenant: w.tenant.ID(), Advance: tt.seconds}))
		w.run()
		if got := w.r.take(); len(got) != tt.want {
			t.Errorf("%d s ahead, sandbox %v: %d attempts, want %d", tt.seconds, tt.sandbox, len(got), tt.want)
		}
	}
	w.pass(7 * time.Minute) // the rows of the attempts find them made
	if got := w.r.take(); len(got) > 0 {
		t.Errorf("%d attempts were made twice", len(got))
	}
}

// TestPersonsAreCopied: the copies of a tenant's endpoints say too that persons have
// subscriptions. A person's subscription gets the events of every shard.
func TestPersonsAreCopied(t *testing.T) {
	w := newOwn(t)
	w.sharded(t)
	hook := w.create(w.r.URL, "")
	w.ride(12)
	w.run()
	w.begin(w.r.URL)
	if versions, enabled := w.copies(hook.ID); len(versions) != 1 || enabled != webhook.Copies {
		t.Errorf("copies of versions %v; %d have the endpoint", versions, enabled)
	}
	w.enabled()
	w.Want(200, nil, "DELETE", "/api/v1/webhooks/"+hook.ID, w.operator, "")
	w.r.take()
	w.ride(12)
	w.run()
	if got := w.r.take(); len(got) != 12 {
		t.Errorf("got %d events of 12", len(got))
	}
}

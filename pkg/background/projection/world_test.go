package projection_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/shopspring/decimal"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// world is a tenant whose items change in the table and, in the same way, in
// memory.
type world struct {
	t         testing.TB
	name      string
	rnd       *rand.Rand
	db        *table.DB
	crash     *testkit.Wire
	tenant    table.Tenant
	shards    int
	now       time.Time
	trips     map[string]trip.Trip
	drivers   map[string]driver.Record
	customers map[string]customer.Record
	wallets   map[string]wallet.Wallet
	changed   func(table.Key) // called for each item that was written
	keeps     bool            // if true, nothing is removed
	letters   map[string]bool // first characters that suffix rows may have
}

func newWorld(t testing.TB, name string, seed uint64, shards int) *world {
	t.Helper()
	w := &world{t: t, name: name, changed: func(table.Key) {}, rnd: rand.New(rand.NewPCG(seed, 7)),
		crash: &testkit.Wire{}, shards: shards, now: start,
		trips: map[string]trip.Trip{}, drivers: map[string]driver.Record{}, customers: map[string]customer.Record{},
		wallets: map[string]wallet.Wallet{}, letters: map[string]bool{}}
	w.db = testkit.Open(t, name, w.crash)
	w.tenant = w.db.Tenant(ids.New(ids.Tenant, start))
	w.raise(shards)
	return w
}

// raise sets the number of shards that lists read and writes use.
func (w *world) raise(shards int) {
	w.shards = shards
	for n := range authz.Copies {
		w.put(table.Item{Key: authz.FlagsKey(w.tenant, n), Type: "flags", Attrs: map[string]any{"readShards": shards,
			"writeShards": shards}})
	}
}

func (w *world) put(items ...table.Item) {
	w.t.Helper()
	if err := w.tenant.Load(context.Background(), items...); err != nil {
		w.t.Fatal(err)
	}
	for _, it := range items {
		if it.Type != "flags" {
			w.changed(it.Key)
		}
	}
}

func (w *world) remove(key table.Key) {
	w.t.Helper()
	tx := w.tenant.Write()
	tx.Delete(key)
	if err := tx.Commit(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.changed(key)
}

func (w *world) step() projection.Step {
	return projection.Step{Now: func() time.Time { return w.now }}
}

func (w *world) function() projection.Function {
	return projection.Function{DB: w.db, Step: w.step()}
}

func pick[T any](w *world, m map[string]T) (string, bool) {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		return "", false
	}
	return keys[w.rnd.IntN(len(keys))], true
}

// change makes n random changes: additions, new states and names, writes without
// a change, removals.
func (w *world) change(n int) {
	w.t.Helper()
	for range n {
		w.now = w.now.Add(time.Duration(w.rnd.IntN(2000)) * time.Millisecond)
		switch w.rnd.IntN(10) {
		case 0, 1:
			w.newTrip()
		case 2, 3, 4:
			w.moveTrip()
		case 5:
			w.changeDriver()
		case 6, 7:
			w.changeCustomer()
		case 8:
			w.moveWallet()
		case 9:
			if !w.keeps {
				w.removeOne()
			}
		}
	}
}

func (w *world) newTrip() {
	spans := []time.Duration{time.Millisecond, 50 * time.Millisecond, 5 * time.Second, 10 * time.Minute, 30 * time.Hour,
		90 * 24 * time.Hour}
	at := w.now.Add(-time.Duration(w.rnd.Int64N(int64(spans[w.rnd.IntN(len(spans))]))))
	if w.keeps { // traffic requests trips now
		at = w.now
	}
	tr := trip.Trip{ID: ids.New(ids.Trip, at), Status: trip.Pending, CustomerID: "cus", Currency: "USD",
		PaymentType: "CASH",
		OriginLat:   "1", OriginLng: "1", RequestedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(at), Version: 1}
	w.trips[tr.ID] = tr
	w.put(tr.Item(w.tenant, w.shards))
}

func (w *world) moveTrip() {
	id, ok := pick(w, w.trips)
	if !ok {
		return
	}
	tr := w.trips[id]
	if w.rnd.IntN(5) > 0 { // otherwise the trip is written unchanged
		tr.Version++
		tr.Status = trip.Statuses[w.rnd.IntN(len(trip.Statuses))]
		tr.FinalFare, tr.CompletedAt = nil, nil
		if tr.Status == trip.Completed {
			tr.CompletedAt = timestamp.Ptr(w.now)
		}
		if w.rnd.IntN(3) > 0 {
			tr.FinalFare = ptr(money.Amount(fmt.Sprintf("%d.%02d", w.rnd.IntN(100), w.rnd.IntN(100))))
		}
	}
	w.trips[id] = tr
	w.put(tr.Item(w.tenant, w.shards))
}

func (w *world) changeDriver() {
	id, ok := pick(w, w.drivers)
	d := w.drivers[id]
	if !ok || w.rnd.IntN(3) == 0 {
		d = driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, w.now), FirstName: "Dana", Email: "d@x.example"}}
	}
	d.Status = []string{driver.Offline, driver.Online, driver.Busy}[w.rnd.IntN(3)]
	if w.rnd.IntN(3) == 0 {
		d.LastName = fmt.Sprint("D", w.rnd.IntN(100))
	}
	w.drivers[d.ID] = d
	w.put(driver.Item(w.tenant, d, w.shards))
}

var syllables = []string{"An", "na", " ", "Bo", "ß", "é", "Ж", "ук", "王", "小", "#", "İ", "ﬁ", "a", "a", "A"}

func (w *world) word(n int) string {
	var out string
	for range n {
		out += syllables[w.rnd.IntN(len(syllables))]
	}
	return strings.TrimSpace(out)
}

func (w *world) changeCustomer() {
	id, ok := pick(w, w.customers)
	c := w.customers[id]
	if !ok || w.rnd.IntN(3) == 0 {
		c = customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, w.now), FirstName: "a",
			CreatedAt: timestamp.Format(w.now), Email: "a@b.example"}}
	}
	switch w.rnd.IntN(6) {
	case 0: // one more trip; the words stay the same
		c.TotalTrips++
	case 1: // more rows than fit into one transaction
		c.FirstName, c.LastName = w.word(60), w.word(60)
	case 2:
		c.Phone = ptr(fmt.Sprintf("+1 555 %04d", w.rnd.IntN(10000)))
	default:
		c.FirstName, c.LastName = w.word(1+w.rnd.IntN(3)), w.word(w.rnd.IntN(3))
	}
	c.Name = strings.TrimSpace(c.FirstName + " " + c.LastName)
	w.know(c)
	w.put(customer.Item(w.tenant, c, w.shards))
}

func (w *world) know(c customer.Record) {
	w.customers[c.ID] = c
	for _, word := range c.Words() {
		for _, r := range word {
			w.letters[string(r)] = true
		}
	}
}

// rename gives a customer a name with more rows than fit into one transaction.
func (w *world) rename(t table.Tenant, c *customer.Record) {
	c.FirstName, c.LastName = w.word(50), w.word(50)
	c.Name = strings.TrimSpace(c.FirstName + " " + c.LastName)
	w.know(*c)
	if err := t.Load(context.Background(), customer.Item(t, *c, w.shards)); err != nil {
		w.t.Error(err)
	}
}

func (w *world) moveWallet() {
	id, ok := pick(w, w.wallets)
	if !ok || w.rnd.IntN(3) == 0 {
		id = ids.New(ids.Driver, w.now)
		w.wallets[id] = wallet.Wallet{Side: wallet.Sides[w.rnd.IntN(2)], Actor: id, Currency: "USD"}
	}
	v := w.wallets[id]
	v.Balance, v.UpdatedAt, v.Version = v.Balance.Add(decimal.New(w.rnd.Int64N(20000)-10000,
		-2)), timestamp.Format(w.now), v.Version+1
	w.wallets[id] = v
	w.put(v.Item(w.tenant, w.shards))
}

func (w *world) removeOne() {
	if w.rnd.IntN(2) == 0 {
		if id, ok := pick(w, w.trips); ok {
			delete(w.trips, id)
			w.remove(trip.Key(w.tenant, id))
		}
		return
	}
	if id, ok := pick(w, w.customers); ok {
		delete(w.customers, id)
		w.remove(customer.Key(w.tenant, id))
	}
}

func eventOf(records []streamtest.Record) events.DynamoDBEvent {
	return events.DynamoDBEvent{Records: records}
}

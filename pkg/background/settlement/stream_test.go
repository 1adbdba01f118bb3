package settlement_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/settlement"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/local/schema"
)

func ptr[T any](v T) *T { return &v }

var streamOff = schema.Options{StreamOff: true}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a tenant with drivers and riders, and a process that can crash.
type fixture struct {
	t               testing.TB
	name            string
	crash           *testkit.Wire
	db              *table.DB
	tenant          table.Tenant
	drivers, riders []string
	trips           []trip.Trip
	busy            bool // others change the items, so a check waits between two looks
}

func newFixture(t testing.TB, name string, shards int) *fixture {
	t.Helper()
	p := &fixture{t: t, name: name, crash: &testkit.Wire{}}
	p.db = testkit.Open(t, name, p.crash)
	p.people(shards)
	return p
}

// people creates the tenant with its drivers and riders.
func (p *fixture) people(shards int) {
	p.tenant = p.db.Tenant(ids.New(ids.Tenant, start))
	p.raise(shards)
	for range 3 {
		p.person(shards)
	}
}

// person creates a driver and a rider.
func (p *fixture) person(shards int) {
	i := len(p.drivers)
	d := driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, start), FirstName: "Dana", LastName: fmt.Sprint(i),
		Email: "d@x.example", Status: driver.Online}}
	c := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, start), Name: fmt.Sprint("Rae ", i),
		FirstName: "Rae", LastName: fmt.Sprint(i),
		Email: "r@x.example", CreatedAt: timestamp.Format(start)}}
	p.drivers, p.riders = append(p.drivers, d.ID), append(p.riders, c.ID)
	p.load(driver.Item(p.tenant, d, shards), customer.Item(p.tenant, c, shards))
}

// raise sets the number of shards that lists read and writes use.
func (p *fixture) raise(shards int) {
	for n := range authz.Copies {
		p.load(table.Item{Key: authz.FlagsKey(p.tenant, n), Type: "flags", Attrs: map[string]any{"currency": "USD",
			"readShards": shards, "writeShards": shards}})
	}
}

func (p *fixture) load(items ...table.Item) {
	p.t.Helper()
	if err := p.tenant.Load(context.Background(), items...); err != nil {
		p.t.Fatal(err)
	}
}

// ride creates a completed trip. Successive trips have every combination of
// payment, fare and snapshot.
func (p *fixture) ride(i int) trip.Trip {
	at := start.Add(time.Duration(i) * time.Second)
	tr := trip.Trip{ID: ids.New(ids.Trip, at), TripCode: ids.Code(), Status: trip.Completed, DriverID: ptr(p.drivers[i%3]),
		CustomerID:    p.riders[(i/3)%3],
		OriginAddress: "a", OriginLat: "1", OriginLng: "2", PaymentType: []string{"CASH", "CARD", "WALLET",
			"WALLET"}[i%4], Currency: "USD",
		RequestedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(at), CompletedAt: timestamp.Ptr(at), Version: 5}
	if i%7 != 0 {
		tr.FinalFare = ptr(money.Amount(fmt.Sprintf("%d.%02d", i%40, (i*37)%100)))
	}
	if i%5 != 0 {
		tr.CommissionRate = ptr(money.Amount("0.175"))
	}
	p.trips = append(p.trips, tr)
	return tr
}

// audit checks that every trip has one receipt and its postings once, that
// every wallet's balance is the sum of its postings, and that totalTrips is
// right.
func (p *fixture) audit() {
	p.t.Helper()
	type side struct {
		side  wallet.Side
		actor string
	}
	want, counts := map[side][]string{}, map[string]int64{}
	for _, tr := range p.trips {
		it, err := p.tenant.Get(p.t.Context(), receipt.Key(p.tenant, tr.ID))
		if err != nil || !it.Found() {
			p.t.Fatalf("receipt of %s: %v, %v", tr.ID, it.Found(), err)
		}
		var r receipt.Receipt
		if err := it.Decode(&r); err != nil || r.TripCode != tr.TripCode || !cmp.Equal(r.Total, tr.FinalFare) {
			p.t.Errorf("receipt of %s: %+v, %v", tr.ID, r, err)
		}
		entries, err := receipt.EntriesOf(tr)
		if err != nil {
			p.t.Fatal(err)
		}
		post := func(s side, amount *decimal.Decimal) {
			if amount != nil {
				want[s] = append(want[s], tr.TripCode+" "+string(money.Of(*amount)))
			}
		}
		post(side{wallet.Driver, *tr.DriverID}, entries.Driver)
		post(side{wallet.Customer, tr.CustomerID}, entries.Rider)
		counts[*tr.DriverID]++
		counts[tr.CustomerID]++
	}
	for i := range p.drivers {
		for _, s := range []side{{wallet.Driver, p.drivers[i]}, {wallet.Customer, p.riders[i]}} {
			p.auditWallet(s.side, s.actor, want[s])
			audience := authz.Rider
			if s.side == wallet.Driver {
				audience = authz.Driver
			}
			it, err := p.tenant.Get(p.t.Context(), authz.ActorKey(p.tenant, audience, s.actor))
			if err != nil || it.Int("totalTrips") != counts[s.actor] || it.Version <= counts[s.actor] {
				p.t.Errorf("%s has %d trips at version %d, want %d (%v)", s.actor, it.Int("totalTrips"), it.Version,
					counts[s.actor], err)
			}
		}
	}
}

// postingsOf reads all of a wallet's postings, oldest first.
func postingsOf(t testing.TB, tn table.Tenant, side wallet.Side, actor string) ([]wallet.Posting, error) {
	t.Helper()
	page, err := tn.Query(t.Context(), wallet.Key(tn, side, actor).PK, table.Query{Prefix: "POSTING#",
		Limit: table.Examined, Consistent: true, Fill: true})
	if err != nil || page.More {
		return nil, fmt.Errorf("postings, more %v: %w", page.More, err)
	}
	out := make([]wallet.Posting, len(page.Items))
	for i, it := range page.Items {
		if err := it.Decode(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *fixture) auditWallet(side wallet.Side, actor string, want []string) {
	p.t.Helper()
	postings, err := postingsOf(p.t, p.tenant, side, actor)
	if err != nil {
		p.t.Fatal(err)
	}
	sum, got := decimal.Zero, map[string]int{}
	for _, posting := range postings {
		sum = sum.Add(posting.Amount.Decimal())
		code, _, _ := strings.Cut(strings.TrimPrefix(posting.Description, "Trip "), ":")
		got[code+" "+string(posting.Amount)]++
	}
	wanted := map[string]int{}
	for _, w := range want {
		wanted[w]++
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		p.t.Errorf("postings of %s %s: %s", side, actor, diff)
	}
	it, err := p.tenant.Get(p.t.Context(), wallet.Key(p.tenant, side, actor))
	if err != nil {
		p.t.Fatal(err)
	}
	if !it.Found() {
		if len(want) > 0 {
			p.t.Errorf("%s %s has no wallet", side, actor)
		}
		return
	}
	w, err := wallet.FromItem(it)
	if err != nil || !w.Balance.Equal(sum) || w.Name == "" || !strings.HasPrefix(it.R, wallet.Rank(sum)+"#") {
		p.t.Errorf("%s %s: balance %s of %q at %q, postings add up to %s (%v)", side, actor, w.Balance, w.Name, it.R, sum,
			err)
	}
}

func TestFunctionSettlesOnceHoweverBadlyTheStreamComes(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			p := newFixture(t, streamtest.Table(t), 1+int(seed)*3)
			for i := range 40 {
				done := p.ride(i)
				pending := done
				pending.Status, pending.Version, pending.FinalFare = trip.InProgress, 4, nil
				p.load(pending.Item(p.tenant, 1))
				p.load(done.Item(p.tenant, 1))
				p.load(done.Item(p.tenant, 1)) // a record without a change
			}
			records := streamtest.Records(t, p.name)
			f := settlement.Function{DB: p.db, Now: func() time.Time { return start }}
			crashes := 0
			for _, batch := range streamtest.Abuse(rnd, records, 4, 12) {
				streamtest.Deliver(t, f.Handle, batch, 4, func(attempt int) context.Context {
					if p.crash.Revive() {
						crashes++
					}
					if attempt < 2 && rnd.IntN(2) == 0 {
						return p.crash.CrashAt(t.Context(), rnd.IntN(6), rnd.IntN(2) == 0)
					}
					return t.Context()
				})
				p.crash.Revive()
			}
			if crashes < 3 {
				t.Errorf("only %d crashes", crashes)
			}
			p.audit()
		})
	}
}

func TestSettleAfterACrashBetweenAnyTwoRequests(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 1)
	for at := range testkit.CrashPoints(t, 2) {
		for i := range 4 {
			tr := p.ride(10*at.N + i + 1)
			p.load(tr.Item(p.tenant, 1))
			_, err := receipt.Settle(p.crash.CrashAt(t.Context(), at.N, at.Lost), p.tenant, tr, start)
			if crashed := at.Reached(p.crash.Revive()); crashed != (at.N < 2) || crashed != (err != nil) {
				t.Fatalf("%v: crashed %v, %v", at, crashed, err)
			}
			done, err := receipt.Settle(t.Context(), p.tenant, tr, start)
			if want := at.N == 0 || at.N == 1 && !at.Lost; err != nil || done != want {
				t.Fatalf("%v: settled again: %v, %v; want %v", at, done, err, want)
			}
		}
		p.audit()
	}
}

func TestSettleTogether(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 1)
	for i := range 6 {
		tr := p.ride(i)
		p.load(tr.Item(p.tenant, 1))
	}
	results := make(chan error)
	for _, tr := range p.trips {
		for range 3 {
			go func() {
				var err error
				for range 5 { // after a failure, the stream delivers the record again
					if _, err = receipt.Settle(t.Context(), p.tenant, tr, start); err == nil {
						break
					}
				}
				results <- err
			}()
		}
	}
	for range 3 * len(p.trips) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	p.audit()
}

func TestSweepSettlesWhatTheStreamLost(t *testing.T) {
	testkit.LongHere(t)
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			p := newFixture(t, testkit.Name(t, streamOff), shards)
			for i := range 120 {
				p.load(p.ride(i).Item(p.tenant, shards))
			}
			for _, tr := range p.trips[:100] {
				if done, err := receipt.Settle(t.Context(), p.tenant, tr, start); err != nil || !done {
					t.Fatalf("settle: %v, %v", done, err)
				}
			}
			swept, err := settlement.Sweep(t.Context(), p.tenant, time.Time{}, func() time.Time { return start })
			if err != nil || swept.Examined != 120 || len(swept.Settled) != 20 {
				t.Fatalf("sweep: examined %d, settled %d, %v", swept.Examined, len(swept.Settled), err)
			}
			p.audit()
			if swept, err = settlement.Sweep(t.Context(), p.tenant, time.Time{},
				func() time.Time { return start }); err != nil || len(swept.Settled) != 0 {
				t.Errorf("second sweep: %v, %v", swept, err)
			}
		})
	}
}

func TestSettleRefusesATripThatIsNotCompleted(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 1)
	if _, err := receipt.Settle(t.Context(), p.tenant, trip.Trip{ID: "trp", Status: trip.InProgress},
		start); err == nil {
		t.Error("a trip in progress is settled")
	}
}

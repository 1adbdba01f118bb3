package settlement_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// checked returns the differences that a check finds; correct also corrects them.
func (p *fixture) checked(correct bool) (found []reconcile.Difference) {
	p.t.Helper()
	run := &reconcile.Run{Correct: correct, Found: func(d reconcile.Difference) { found = append(found, d) }}
	if !p.busy { // the check looks as often, but does not wait
		run.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	check := settlement.Check{Run: run, Now: func() time.Time { return start }}
	if err := check.Tenant(p.t.Context(), p.tenant); err != nil {
		p.t.Fatal(err)
	}
	return found
}

// change writes attributes of an item directly.
func (p *fixture) change(key table.Key, set map[string]any) {
	p.t.Helper()
	tx := p.tenant.Write()
	tx.Update(key, table.Change{Set: set})
	if err := tx.Commit(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *fixture) remove(key table.Key) {
	p.t.Helper()
	tx := p.tenant.Write()
	tx.Delete(key)
	if err := tx.Commit(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// posting returns the key of a settled trip's posting to its driver.
func (p *fixture) posting(tr trip.Trip) table.Key {
	return wallet.PostingKey(p.tenant, wallet.Driver, *tr.DriverID,
		receipt.PostingOf(tr, wallet.Driver, decimal.Zero, *tr.CompletedAt).Posting)
}

// rename replaces the id of the trip's posting in its driver's wallet by one of
// the kind that builds up to 2026-11 created.
func (p *fixture) rename(tr trip.Trip) {
	p.t.Helper()
	it, err := p.tenant.Get(p.t.Context(), p.posting(tr))
	if err != nil {
		p.t.Fatal(err)
	}
	var posting wallet.Posting
	if err := it.Decode(&posting); err != nil {
		p.t.Fatal(err)
	}
	p.remove(it.Key)
	posting.ID = "txn_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	p.load(wallet.PostingItem(p.tenant, wallet.Driver, *tr.DriverID, wallet.Entry{Posting: posting}))
}

func (p *fixture) settled(trips int) {
	p.t.Helper()
	for i := range trips {
		tr := p.ride(i + 1)
		p.load(tr.Item(p.tenant, 3))
		if _, err := receipt.Settle(p.t.Context(), p.tenant, tr, start); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *fixture) driverWallet() table.Key { return wallet.Key(p.tenant, wallet.Driver, p.drivers[0]) }

// damages are the ways in which the items that settlements write can be wrong.
var damages = map[string]struct {
	want []string // the What of the expected differences
	do   func(*fixture)
	left bool // reported but not corrected
}{
	"nothing": {nil, func(*fixture) {}, false},
	"a balance": {[]string{"balance", "rank"}, func(p *fixture) {
		p.change(p.driverWallet(), map[string]any{"balance": money.Of(money.Amount("777").Decimal()), "version": 99})
	}, false},
	"a rank": {[]string{"rank"}, func(p *fixture) {
		p.change(p.driverWallet(),
			map[string]any{"r": "0#" + p.drivers[0]})
	}, false},
	"a wallet gone": {[]string{"balance"}, func(p *fixture) { p.remove(p.driverWallet()) }, false},
	"a receipt's sum": {[]string{"receipt"}, func(p *fixture) {
		p.change(receipt.Key(p.tenant, p.trips[2].ID), map[string]any{"doc": `{"total":1}`})
	}, false},
	"a posting gone": {[]string{"posting", "balance"}, func(p *fixture) {
		p.remove(p.posting(p.trips[2]))
	}, false},
	"a posting's amount": {[]string{"posting", "balance"}, func(p *fixture) {
		p.change(p.posting(p.trips[2]), map[string]any{"doc": `{"amount":1}`})
	}, false},
	"a posting with an id of its own": {nil, func(p *fixture) { p.rename(p.trips[2]) }, false},
	"a receipt gone": {[]string{"receipt"}, func(p *fixture) {
		p.remove(receipt.Key(p.tenant, p.trips[2].ID))
	}, false},
	"a receipt gone, its posting with an id of its own": {[]string{"receipt"}, func(p *fixture) {
		p.remove(receipt.Key(p.tenant, p.trips[2].ID))
		p.rename(p.trips[2])
	}, false},
	"a trip never settled": {[]string{"receipt"}, func(p *fixture) {
		p.load(p.ride(40).Item(p.tenant, 3))
	}, false},
	"a driver's trips": {[]string{"totalTrips"}, func(p *fixture) {
		p.change(authz.ActorKey(p.tenant, authz.Driver, p.drivers[1]), map[string]any{"totalTrips": 13625})
	}, false},
	"a rider's trips": {[]string{"totalTrips"}, func(p *fixture) {
		p.change(authz.ActorKey(p.tenant, authz.Rider, p.riders[2]), map[string]any{"totalTrips": 0})
	}, false},
	"a driver's trips, and a trip never settled": {[]string{"receipt", "totalTrips"}, func(p *fixture) {
		p.load(p.ride(40).Item(p.tenant, 3))
		p.change(authz.ActorKey(p.tenant, authz.Driver, p.drivers[0]), map[string]any{"totalTrips": 7})
	}, false},
	"a receipt of a trip that goes on": {[]string{"receipt", "totalTrips", "totalTrips"}, func(p *fixture) {
		p.change(trip.Key(p.tenant, p.trips[1].ID), map[string]any{"status": string(trip.InProgress)})
	}, true},
}

func TestCheckFindsAndCorrectsDamage(t *testing.T) {
	testkit.LongHere(t)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, testkit.Name(t, streamOff), 3)
			p.settled(24)
			damage.do(p)
			var got []string
			for _, d := range p.checked(false) {
				got = append(got, d.What)
			}
			if diff := cmp.Diff(damage.want, got); diff != "" {
				t.Errorf("found: %s", diff)
			}
			p.checked(true)
			if left := p.checked(false); (len(left) > 0) != damage.left {
				t.Errorf("left: %+v", left)
			}
			if !damage.left {
				p.audit()
			}
		})
	}
}

// While trips are settled, a check reports no false difference. It corrects the
// real differences without losing a posting.
func TestCheckWhileTripsAreSettled(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 3)
	p.settled(12)
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	other := *p
	p.busy = true
	wait.Go(func() {
		for i := 100; ctx.Err() == nil; i++ {
			began := time.Now()
			tr := other.ride(i)
			other.load(tr.Item(p.tenant, 3))
			time.Sleep(5 * time.Millisecond)
			for range 20 {
				if _, err := receipt.Settle(t.Context(), p.tenant, tr, start); err == nil {
					break
				}
			}
			testkit.Sleep(ctx, 10*time.Since(began)) // leaves most processor time to the check
		}
	})
	for range 3 {
		if found := p.checked(false); len(found) > 0 {
			t.Errorf("without damage: %+v", found)
		}
	}
	tx := p.tenant.Write()
	tx.Update(wallet.Key(p.tenant, wallet.Driver, p.drivers[1]), table.Change{Add: map[string]any{"balance": 777,
		"version": 1}})
	for audience, id := range map[authz.Audience]string{authz.Driver: p.drivers[1], authz.Rider: p.riders[0]} {
		tx.Update(authz.ActorKey(p.tenant, audience, id), table.Change{Add: map[string]any{"totalTrips": 50, "version": 1}})
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, d := range p.checked(true) {
		found[d.What]++
	}
	delete(found, "rank") // depends on the balance at that time
	if diff := cmp.Diff(map[string]int{"balance": 1, "totalTrips": 2}, found); diff != "" {
		t.Errorf("with damage: %s", diff)
	}
	stop()
	wait.Wait()
	p.trips = other.trips
	p.audit()
	if found := p.checked(false); len(found) > 0 {
		t.Errorf("corrected: %+v", found)
	}
}

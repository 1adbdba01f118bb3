package projection_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// noWait replaces the waits of a check while nothing else changes the items.
// The number of looks stays the same.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// checked returns the differences that a check finds; correct also corrects them.
// It runs long after the last change, so no period is recent.
func (w *world) checked(correct bool) []reconcile.Difference {
	w.t.Helper()
	var out []reconcile.Difference
	step := w.step()
	step.Now = func() time.Time { return w.now.Add(time.Hour) }
	check := &projection.Check{Step: step, Run: &reconcile.Run{Correct: correct, Wait: noWait,
		Found: func(d reconcile.Difference) { out = append(out, d) }}}
	if err := check.Tenant(w.t.Context(), w.tenant); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// rebuilt counts every item, and then corrects the differences.
func (w *world) rebuilt() {
	w.t.Helper()
	if _, err := w.step().Rebuild(w.t.Context(), w.tenant, nil); err != nil {
		w.t.Fatal(err)
	}
	w.checked(true)
}

// off changes a counter without the projection.
func (w *world) off(ref counter.Ref, name, by string) {
	w.t.Helper()
	changes := counter.Changes{}
	changes.Add(ref, name, decimal.RequireFromString(by))
	tx := w.tenant.Write()
	changes.Write(tx, w.tenant, 0)
	if err := tx.Commit(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// removeCounter removes all shards of a counter. Each transaction of the
// projection picks a shard, so the test does not know which exist.
func (w *world) removeCounter(ref counter.Ref) {
	w.t.Helper()
	for shard := range counter.Shards(w.shards) {
		w.remove(ref.Key(w.tenant, shard))
	}
}

func (w *world) anyTrip() trip.Trip {
	id, ok := pick(w, w.trips)
	if !ok {
		w.t.Fatal("the world has no trip")
	}
	return w.trips[id]
}

func (w *world) periods() []counter.Ref {
	at, err := time.Parse(time.RFC3339, w.anyTrip().RequestedAt)
	if err != nil {
		w.t.Fatal(err)
	}
	return report.Periods(at)
}

// turnDriver gives a driver another status.
func (w *world) turnDriver() {
	id, ok := pick(w, w.drivers)
	if !ok {
		w.t.Fatal("the world has no driver")
	}
	d := w.drivers[id]
	d.Status = map[string]string{driver.Offline: driver.Online, driver.Online: driver.Busy,
		driver.Busy: driver.Offline}[d.Status]
	w.drivers[id] = d
	w.put(driver.Item(w.tenant, d, w.shards))
}

// damages are the ways in which a tenant's derived data can be wrong.
var damages = map[string]struct {
	what string
	do   func(*world)
}{
	"a total too high":           {"counter", func(w *world) { w.off(counter.Drivers, "ONLINE", "12345") }},
	"a total of money":           {"counter", func(w *world) { w.off(counter.DriverWallets, "balance", "-777.25") }},
	"a total that is gone":       {"counter", func(w *world) { w.removeCounter(counter.Customers) }},
	"a day":                      {"counter", func(w *world) { w.off(w.periods()[0], "c", "3") }},
	"a quarter of an hour":       {"counter", func(w *world) { w.off(w.periods()[1], "f", "0.01") }},
	"ten seconds":                {"counter", func(w *world) { w.off(w.periods()[2], "p", "1") }},
	"a tenth of a second":        {"counter", func(w *world) { w.off(w.periods()[3], "x", "-1") }},
	"a millisecond":              {"counter", func(w *world) { w.off(w.periods()[4], "x", "1") }},
	"a millisecond that is gone": {"counter", func(w *world) { w.removeCounter(w.periods()[4]) }},
	"a day without trips": {"counter", func(w *world) {
		w.off(report.Periods(start.Add(1000 * time.Hour))[0], "c", "1")
	}},
	"a stray count in all periods": {"counter", func(w *world) {
		for _, ref := range report.Periods(w.now.Add(-70 * time.Minute)) {
			w.off(ref, "e", "1")
		}
	}},
	"a completion counted twice": {"counter", func(w *world) {
		at := w.now.Add(-time.Minute)
		w.count(w.ride(at.Add(-time.Hour), at))
		for _, ref := range report.Periods(at) {
			w.off(ref, "f", "7.5")
		}
	}},
	"a trip's record lost": {"counted", func(w *world) {
		w.remove(projection.CountedKey(trip.Key(w.tenant, w.anyTrip().ID)))
	}},
	"a wallet's record lost": {"counted", func(w *world) {
		id, _ := pick(w, w.wallets)
		v := w.wallets[id]
		w.remove(projection.CountedKey(wallet.Key(w.tenant, v.Side, v.Actor)))
	}},
	"a wallet with an old name": {"name", func(w *world) {
		id, _ := pick(w, w.drivers)
		w.wallets[id] = walletNamed(w, id, "Old")
		w.put(w.wallets[id].Item(w.tenant, w.shards))
	}},
	"an item changed, and no stream": {"counted", func(w *world) { w.turnDriver() }},
	"a search row lost": {"row", func(w *world) {
		for id := range w.customers {
			it, err := w.tenant.Get(w.t.Context(), projection.CountedKey(customer.Key(w.tenant, id)))
			var counted projection.Counted
			if err != nil || it.Decode(&counted) != nil || counted.Rows == nil {
				continue
			}
			if rows := counted.Rows.Rows(w.tenant, id); len(rows) > 0 {
				w.remove(rows[len(rows)/2].Key)
				return
			}
		}
		w.t.Fatal("no customer has a search row")
	}},
}

// The damages are done one after another in one tenant, because counting the
// items of a new tenant takes long.
func TestCheckFindsAndCorrectsDamage(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := newWorld(t, testkit.Name(t, streamOff), 21, 3)
	w.change(60)
	w.rebuilt()
	if found := w.checked(false); len(found) > 0 {
		t.Fatalf("before any damage: %+v", found)
	}
	for _, name := range slices.Sorted(maps.Keys(damages)) {
		damage := damages[name]
		t.Run(name, func(t *testing.T) {
			w.t = t
			damage.do(w)
			found := w.checked(false)
			if !slices.ContainsFunc(found, func(d reconcile.Difference) bool { return d.What == damage.what }) {
				t.Errorf("found %+v, want a %s", found, damage.what)
			}
			w.rebuilt()
			if found := w.checked(false); len(found) > 0 {
				t.Fatalf("after the rebuild: %+v", found)
			}
			w.recount()
		})
	}
}

// A check is correct while items change and are counted: it reports no false
// difference and corrects each damage once.
func TestCheckWhileItemsChange(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 22, 3)
	w.change(60)
	w.rebuilt()
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	// The traffic waits for the projection, and leaves most processor time to
	// the check. On a slow machine all three are slow, and none falls behind.
	hear := make(chan table.Key)
	w.changed = func(key table.Key) { hear <- key }
	wait.Go(func() {
		for key := range hear {
			for range 50 {
				if _, err := w.step().Tenant(t.Context(), w.tenant, []table.Key{key}); err == nil {
					break
				}
			}
		}
	})
	traffic := &world{}
	*traffic = *w // its own source of chance, the same items
	// Until its count is updated, a removed item looks like damage. On a slow
	// machine, the update takes long. The service removes a counted item of a
	// tenant only together with the tenant.
	traffic.keeps = true
	wait.Go(func() {
		defer close(hear)
		for ctx.Err() == nil {
			began := time.Now()
			traffic.change(1)
			testkit.Sleep(ctx, 15*time.Millisecond+10*time.Since(began))
		}
	})
	still := func(correct bool) []reconcile.Difference {
		var out []reconcile.Difference
		step := projection.Step{Now: func() time.Time { return w.now }} // when the traffic began
		check := &projection.Check{Step: step, Run: &reconcile.Run{Correct: correct,
			Found: func(d reconcile.Difference) { out = append(out, d) }}}
		if err := check.Tenant(t.Context(), w.tenant); err != nil {
			t.Error(err)
		}
		return out
	}
	if found := still(false); len(found) > 0 {
		t.Errorf("without damage: %+v", found)
	}
	w.off(counter.Drivers, "ONLINE", "1280")
	w.off(counter.CustomerWallets, "balance", "0.5")
	found := still(false)
	if len(found) != 2 || !strings.Contains(found[0].Key, "TOTALS#") {
		t.Errorf("with damage: %+v", found)
	}
	still(true)
	if found := still(false); len(found) > 0 {
		t.Errorf("corrected: %+v", found)
	}
	stop()
	wait.Wait()
	w.trips, w.drivers, w.customers, w.wallets = traffic.trips, traffic.drivers, traffic.customers, traffic.wallets
	w.recount()
}

// Shards are raised while a check runs: it corrects no sum that is right. The
// raise comes at different requests of the check, between two reads of a unit.
func TestCheckWhileShardsAreRaised(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 23, 1)
	w.changed = func(key table.Key) {
		if _, err := w.step().Tenant(t.Context(), w.tenant, []table.Key{key}); err != nil {
			t.Error(err)
		}
	}
	w.keeps = true
	w.change(40)
	for _, n := range []int{2, 6, 30, 60} {
		for _, correct := range []bool{false, true} {
			var found []reconcile.Difference
			began := w.now
			check := &projection.Check{Step: projection.Step{Now: func() time.Time { return began }},
				Run: &reconcile.Run{Correct: correct, Wait: noWait,
					Found: func(d reconcile.Difference) { found = append(found, d) }}}
			shards := w.shards
			if correct {
				w.crash.Meanwhile(n, func() {
					w.raise(2 * shards)
					w.change(25)
				})
			}
			if err := check.Tenant(t.Context(), w.tenant); err != nil {
				t.Fatal(err)
			}
			if len(found) > 0 {
				t.Errorf("raised at request %d, correct %v: %+v", n, correct, found)
			}
		}
		w.recount()
	}
}

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// mostRides is how many rides may be driven before a rebuild must have ended: 50
// a second for a minute.
const mostRides = 3000

// TestRebuildBesideRides: svc rebuild ends while rides are driven at up to 50 a
// second, and repairs what was wrong before. Nothing differs afterwards.
func TestRebuildBesideRides(t *testing.T) {
	testkit.Long(t)
	w := start(t)
	db := w.opened()
	tn := db.Tenant(read[struct{ ID string }](w, "tenant", "show", "metro").ID)
	lost := read[[]struct{ ID, DriverID string }](w, "trip", "list", "metro", "--status", "COMPLETED")[0]
	tx := tn.Write()
	tx.Delete(receipt.Key(tn, lost.ID))
	tx.Update(wallet.Key(tn, wallet.Driver, lost.DriverID), table.Change{Add: map[string]any{"balance": 5, "version": 1}})
	testkit.Must(t, tx.Commit(t.Context()))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var driven atomic.Int64
	var traffic sync.WaitGroup
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for n := range 3 {
		person := func(audience string) string {
			return w.token(audience, fmt.Sprintf("%s%d@metro.example", audience, n+1))
		}
		c := client{*w, map[string]string{"rider": person("rider"), "driver": person("driver")}}
		traffic.Go(func() {
			for i := 0; ctx.Err() == nil && driven.Load() < mostRides; i++ {
				<-pace.C
				c.ride(script.Ride{Asks: `"paymentType":"CARD"`, Fare: "8", Key: fmt.Sprint("busy-", n, "-", i)})
				driven.Add(1)
			}
		})
	}
	for driven.Load() < 20 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	before, began := driven.Load(), time.Now()
	out := read[[]rebuildResult](w, "rebuild", "metro")[0]
	meanwhile, took := driven.Load()-before, time.Since(began)
	stop()
	traffic.Wait()
	t.Logf("%d trips in %v, beside %d rides, %.1f a second", out.Examined["trip"], took.Round(time.Millisecond),
		meanwhile, float64(meanwhile)/took.Seconds())
	if driven.Load() >= mostRides {
		t.Errorf("the rebuild did not end beside %d rides", mostRides)
	}
	if meanwhile == 0 {
		t.Error("no ride was driven meanwhile")
	}
	what := map[string]bool{}
	for _, d := range out.Corrected {
		what[d.What] = true
	}
	if len(out.Settled) == 0 || !what["balance"] {
		t.Errorf("settled %v, corrected %+v", out.Settled, out.Corrected)
	}
	w.ok("verify")
}

// rebuildResult is what svc rebuild did in a tenant, as --json prints it.
type rebuildResult struct {
	projection.Rebuilt
	Settled   []string
	Corrected []reconcile.Difference
}

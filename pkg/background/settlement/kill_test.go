package settlement_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/local/engine"
	"svc/pkg/local/schema"
)

// diskEngine starts an engine on the folder and opens the table there. It uses
// dynoxide, which persists every acknowledged write. DynamoDB Local writes to
// disk later.
func diskEngine(t *testing.T, dir string) (*engine.Engine, *table.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	e, err := engine.Start(ctx, engine.Options{Kind: engine.Dynoxide, Dir: dir, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	if _, err := schema.EnsureTable(ctx, e.URL, svc.Template, schema.Options{Name: "killed",
		StreamOff: true}); err != nil {
		t.Fatal(err)
	}
	db, err := table.Open(ctx, table.Options{Table: "killed", Endpoint: e.URL})
	if err != nil {
		t.Fatal(err)
	}
	return e, db
}

// TestEngineKilled kills the engine (SIGKILL) several times while many trips
// are settled at once, and restarts it on the same data. Every acknowledged
// settlement is stored. After all trips are settled again, each has one receipt
// and its postings once, and every balance is the sum of its postings.
func TestEngineKilled(t *testing.T) {
	dir := t.TempDir()
	e, db := diskEngine(t, dir)
	p := &fixture{t: t, name: "killed", db: db}
	p.people(1)
	for i := range 60 {
		p.load(p.ride(i).Item(p.tenant, 1))
	}
	settled := make([]atomic.Bool, len(p.trips)) // acknowledged
	for round := range 3 {
		var done, broken atomic.Int64
		var workers sync.WaitGroup
		work, stop := context.WithCancel(t.Context())
		for w := range 4 {
			workers.Go(func() {
				for i := w; i < len(p.trips) && work.Err() == nil; i += 4 {
					first, err := receipt.Settle(work, p.tenant, p.trips[i], start)
					switch {
					case err != nil:
						broken.Add(1) // the outcome is unknown, or every retry conflicted
					case first && settled[i].Swap(true):
						t.Errorf("trip %d was settled twice", i)
					case first:
						done.Add(1)
					}
				}
			})
		}
		finished := make(chan struct{})
		go func() { workers.Wait(); close(finished) }()
		for under := true; under && done.Load() < int64(6+3*round); {
			select {
			case <-finished:
				under = false
			case <-time.After(time.Millisecond):
			}
		}
		e.Kill()
		stop()
		<-finished
		if done.Load() == 0 {
			t.Errorf("round %d settled nothing, %d failed", round, broken.Load())
		}
		e, db = diskEngine(t, dir)
		id := p.tenant.ID()
		p.db, p.tenant = db, db.Tenant(id)
	}
	for i, tr := range p.trips {
		first, err := receipt.Settle(t.Context(), p.tenant, tr, start)
		if err != nil {
			t.Fatal(err)
		}
		if first && settled[i].Load() {
			t.Errorf("trip %d was said to be settled before the engine was killed, and was not", i)
		}
	}
	p.audit()
}

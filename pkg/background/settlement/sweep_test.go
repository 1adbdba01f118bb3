package settlement_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/settlement"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// town returns a registered tenant with people and 30 completed trips, none of
// which the stream delivered.
func town(t *testing.T, db *table.DB, slug string, requested int) *fixture {
	t.Helper()
	p := &fixture{t: t, name: slug, db: db}
	p.people(1)
	_, err := tenant.Store{DB: db}.CreateAs(t.Context(), audit.By{At: start, Who: "test"},
		tenant.Tenant{ID: p.tenant.ID(), Slug: slug, Name: slug})
	testkit.Must(t, err)
	for i := range 30 {
		p.load(p.ride(requested+i).Item(p.tenant, 1))
	}
	return p
}

// ending is a context that has a deadline but never ends.
type ending struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (e ending) Deadline() (time.Time, bool) { return e.at, true }

// TestSweepEndsBeforeItsDeadline checks that a sweep that runs out of time
// returns no error.
func TestSweepEndsBeforeItsDeadline(t *testing.T) {
	db := testkit.Open(t, testkit.Name(t, streamOff), nil)
	p := town(t, db, "one", 2*24*3600)
	ctx := ending{t.Context(), time.Now().Add(4 * time.Second)} // less than sweepMargin
	f := settlement.Function{DB: db, Now: func() time.Time { return start.Add(4 * 24 * time.Hour) }}
	testkit.Must(t, f.Sweep(ctx))
	for _, tr := range p.trips {
		it, err := p.tenant.Get(t.Context(), receipt.Key(p.tenant, tr.ID))
		if err != nil || it.Found() {
			t.Errorf("%s was settled: %v", tr.ID, err)
		}
	}
}

// timed is a context whose time is over when it is cancelled.
type timed struct{ context.Context }

// Err implements context.Context.
func (c timed) Err() error {
	if c.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// TestSweepOutOfTimeReportsBrokenTrips checks that a sweep that runs out of time
// still returns the errors that it found before.
func TestSweepOutOfTimeReportsBrokenTrips(t *testing.T) {
	db := testkit.Open(t, testkit.Name(t, streamOff), nil)
	p := town(t, db, "one", 2*24*3600)
	broken := p.ride(3*24*3600).Item(p.tenant, 1) // the newest, so it comes first
	broken.Doc = "no document"
	p.load(broken)
	inner, end := context.WithCancel(t.Context())
	defer end()
	looks := 0
	f := settlement.Function{DB: db, Now: func() time.Time {
		if looks++; looks > 1 { // when the first trip is settled
			end()
		}
		return start.Add(4 * 24 * time.Hour)
	}}
	if err := f.Sweep(timed{inner}); err == nil || !strings.Contains(err.Error(), "trip") ||
		strings.Contains(err.Error(), "deadline") {
		t.Errorf("a trip that cannot be read: %v", err)
	}
}

// TestScheduledSweep checks that the sweep settles the trips that the stream
// lost, in every tenant, each once. It ignores trips that were requested more
// than three days ago. For a trip that cannot be read it returns an error, and
// it still settles the others.
func TestScheduledSweep(t *testing.T) {
	db := testkit.Open(t, testkit.Name(t, streamOff), nil)
	const day = 24 * 3600
	towns := []*fixture{town(t, db, "one", 2*day), town(t, db, "two", 2*day), town(t, db, "three", 2*day)}
	old := town(t, db, "old", 0)
	f := settlement.Function{DB: db, Now: func() time.Time { return start.Add(4 * 24 * time.Hour) }}
	for range 2 {
		testkit.Must(t, f.Sweep(t.Context()))
	}
	for _, p := range towns {
		p.audit()
	}
	for _, tr := range old.trips {
		it, err := db.Tenant(old.tenant.ID()).Get(t.Context(), receipt.Key(old.tenant, tr.ID))
		if err != nil || it.Found() {
			t.Errorf("an old trip has a receipt: %v, %v", it.Found(), err)
		}
	}
	broken := towns[0].ride(3*day).Item(towns[0].tenant, 1)
	towns[0].trips = towns[0].trips[:30]
	broken.Doc = "no document"
	towns[0].load(broken)
	for _, p := range towns {
		p.load(p.ride(3*day+1).Item(p.tenant, 1))
	}
	if err := f.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "trip") {
		t.Errorf("a trip that cannot be read: %v", err)
	}
	for _, p := range towns {
		p.audit()
	}
}

// Trips that come in new shards, while a sweep or a check reads the old ones,
// are settled too.
func TestSweepAndCheckWhileShardsAreRaised(t *testing.T) {
	for what, do := range map[string]func(*fixture){
		"sweep": func(p *fixture) {
			_, err := settlement.Sweep(p.t.Context(), p.tenant, time.Time{}, func() time.Time { return start })
			testkit.Must(p.t, err)
		},
		"check": func(p *fixture) { p.checked(true) },
	} {
		t.Run(what, func(t *testing.T) {
			p := newFixture(t, testkit.Name(t, streamOff), 1)
			p.load(p.ride(0).Item(p.tenant, 1))
			p.crash.Meanwhile(2, func() {
				p.raise(8)
				for i := range 20 {
					if tr := p.ride(1 + i); ids.Pick(tr.ID, 8) > 0 {
						p.load(tr.Item(p.tenant, 8))
					} else { // in the shard that is being read
						p.trips = p.trips[:len(p.trips)-1]
					}
				}
			})
			do(p)
			p.audit()
		})
	}
}

// completed loads a trip that is under way and completes it as the API does.
func (p *fixture) completed(requested, at time.Time) {
	p.t.Helper()
	tr := p.ride(1)
	p.trips = p.trips[:len(p.trips)-1]
	tr.ID, tr.RequestedAt = ids.New(ids.Trip, requested), timestamp.Format(requested)
	tr.Status, tr.CompletedAt, tr.UpdatedAt = trip.InProgress, nil, tr.RequestedAt
	p.load(tr.Item(p.tenant, 1))
	it, err := p.tenant.Get(p.t.Context(), trip.Key(p.tenant, tr.ID))
	testkit.Must(p.t, err)
	store := trip.Store{Tenant: p.tenant, WriteShards: 1, Now: at,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	_, err = store.Complete(p.t.Context(), it, trip.ByDriver(*tr.DriverID), trip.Measured{FinalFare: tr.FinalFare})
	testkit.Must(p.t, err)
	it, err = p.tenant.Get(p.t.Context(), it.Key)
	testkit.Must(p.t, err)
	done, err := trip.FromItem(it)
	testkit.Must(p.t, err)
	p.trips = append(p.trips, done)
}

// TestScheduledSweepOfLateCompletions checks that the sweep also settles a ride
// that was completed weeks after its request, and rides just below and above
// trip.LateAge. The sweep does not read the old trips that were settled long
// ago.
func TestScheduledSweepOfLateCompletions(t *testing.T) {
	db := testkit.Open(t, testkit.Name(t, streamOff), nil)
	p := town(t, db, "one", 0)
	for _, tr := range p.trips { // old and settled long ago
		_, err := receipt.Settle(t.Context(), p.tenant, tr, start)
		testkit.Must(t, err)
	}
	end := start.Add(60 * 24 * time.Hour)
	for _, ahead := range []time.Duration{trip.LateAge, trip.LateAge + time.Millisecond, 73 * time.Hour,
		30 * 24 * time.Hour} {
		p.completed(end.Add(-ahead), end)
	}
	late := len(p.trips)
	now := end.Add(47 * time.Hour) // the stream and seven sweeps have failed
	f := settlement.Function{DB: db, Now: func() time.Time { return now }}
	testkit.Must(t, f.Sweep(t.Context()))
	p.audit()
	ctx, meter := table.Metered(t.Context())
	testkit.Must(t, f.Sweep(ctx))
	if used := meter.Usage(); used.ReadUnits > 20 || used.WriteUnits > 0 {
		t.Errorf("%d settled trips, 4 of them late: %v units to read and %v to write", late, used.ReadUnits, used.WriteUnits)
	}
}

// TestScheduledSweepIsBounded checks that a sweep reads each trip and its
// receipt once.
func TestScheduledSweepIsBounded(t *testing.T) {
	testkit.LongHere(t)
	db := testkit.Open(t, testkit.Name(t, streamOff), nil)
	p := town(t, db, "one", 0)
	for i := range 300 {
		p.load(p.ride(30+i).Item(p.tenant, 1))
	}
	f := settlement.Function{DB: db, Now: func() time.Time { return start.Add(time.Hour) }}
	testkit.Must(t, f.Sweep(t.Context()))
	p.audit()
	ctx, meter := table.Metered(t.Context())
	testkit.Must(t, f.Sweep(ctx))
	used := meter.Usage()
	if most := float64(len(p.trips)) * 1.5; used.ReadUnits > most || used.WriteUnits > 0 {
		t.Errorf("%d settled trips cost %v units to read, want at most %v, and %v to write", len(p.trips), used.ReadUnits,
			most, used.WriteUnits)
	}
}

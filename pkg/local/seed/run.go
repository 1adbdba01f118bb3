package seed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// run is a run in progress: its stored plan, and its state in this process.
type run struct {
	plan
	o      Options
	t      table.Tenant
	tenant tenant.Tenant
	began  time.Time
	made   *generator // has created all rides, so its people have their totals
	still  []ride     // the unfinished trips
	items  int

	resumed bool
}

// Run creates a tenant's data, or finishes an interrupted run. If ctx ends, Run
// stops within a chunk of a few hundred items. The next run writes that chunk
// again.
func Run(ctx context.Context, db *table.DB, n tenant.Tenant, o Options) (Result, error) {
	t := db.Tenant(n.ID)
	p, resumed, err := begin(ctx, t, n, o)
	if err != nil {
		return Result{}, fmt.Errorf("seed: %w", err)
	}
	r := &run{plan: p, o: o, t: t, tenant: n, began: time.Now(), resumed: resumed}
	err = r.all(ctx)
	out := Result{Run: p.Run, Resumed: resumed, Trips: p.Trips, Drivers: p.drivers(), Riders: p.riders(),
		Businesses: p.businesses(), Orders: p.orders(), Items: r.items}
	if err != nil {
		_ = r.saveProgress(context.WithoutCancel(ctx), false) // if this fails, the next run waits until beat has passed
		return out, fmt.Errorf("seed: %w", err)
	}
	return out, nil
}

// stage is a part of a run: total entries, such as drivers, written in chunks. Each chunk
// may be written again. write writes the entries from ≤ n < to.
type stage struct {
	name         string
	total, chunk int
	write        func(ctx context.Context, from, to int) error
}

// stageCount is the number of stages.
const stageCount = 9

// stages returns the stages in order. Trips that others may change, and logins, come
// after everything that belongs to them.
func (r *run) stages() [stageCount]stage {
	drivers, riders := len(r.made.drivers), len(r.made.riders)
	return [stageCount]stage{
		{"drivers", drivers, 500, r.drivers},
		{"riders", riders, 300, r.riders},
		{"trips", r.Trips - r.plan.open(), 200, r.trips()},
		{"wallets", drivers + riders, 500, r.wallets},
		{"businesses", r.plan.businesses(), 100, r.businesses},
		{"orders", r.plan.orders(), 500, r.orders},
		{"open trips", len(r.still), 20, r.open},
		{"sign-ins", drivers + riders, 90, r.logins},
		{"finish", 1, 1, r.finish},
	}
}

// all writes the stages that the plan has not completed.
func (r *run) all(ctx context.Context) error {
	if err := r.generate(ctx); err != nil {
		return err
	}
	if err := tenant.KeepCurrency(ctx, r.t); err != nil {
		return err
	}
	stages := r.stages()
	for ; r.Stage < stageCount; r.Stage, r.Done = r.Stage+1, 0 {
		if err := r.stage(ctx, stages[r.Stage]); err != nil {
			return fmt.Errorf("%s: %w", stages[r.Stage].name, err)
		}
	}
	return r.saveProgress(ctx, false)
}

// generate creates all rides of the run in memory and writes none. The result is the totals
// of the people (made) and the unfinished trips (still).
func (r *run) generate(ctx context.Context) (err error) {
	if r.made, err = newGenerator(r.plan, r.tenant); err != nil {
		return err
	}
	for n := range r.Trips - r.plan.open() {
		if _, err := r.made.next(); err != nil {
			return err
		}
		if n%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.still, err = r.made.open()
	return err
}

// stage writes the chunks of a stage that are not written yet, and saves the progress
// after each.
func (r *run) stage(ctx context.Context, s stage) error {
	for from := r.Done * s.chunk; from < s.total; from += s.chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+s.chunk, s.total)
		if err := s.write(ctx, from, to); err != nil {
			return err
		}
		r.Done++
		if err := r.saveProgress(ctx, true); err != nil {
			return err
		}
		if r.o.Note != nil && s.total > 1 {
			r.o.Note(s.name, to, s.total)
		}
	}
	return nil
}

// finish calls Options.Finish, if there is one.
func (r *run) finish(ctx context.Context, _, _ int) error {
	if r.o.Finish == nil {
		return nil
	}
	return r.o.Finish(ctx, r.resumed)
}

// saveProgress stores the plan with the progress. working is true while the run
// continues.
func (r *run) saveProgress(ctx context.Context, working bool) error {
	r.Beat = ""
	if working {
		r.Beat = timestamp.Format(r.o.By.At.Add(time.Since(r.began)))
	}
	return r.t.Load(ctx, r.plan.item(r.t))
}

// Number of concurrent requests to the table, and of items in each.
const workers, itemsPerLoad = 4, 25

// load writes groups of items, one group after the other. The items of a group are written
// concurrently.
func (r *run) load(ctx context.Context, groups ...[]table.Item) error {
	for _, items := range groups {
		work, ctx := panics.WithContext(ctx)
		work.SetLimit(workers)
		for some := range slices.Chunk(items, itemsPerLoad) {
			work.Go(func() error { return r.t.Load(ctx, some...) })
		}
		if err := work.Wait(); err != nil {
			return err
		}
		r.items += len(items)
	}
	return nil
}

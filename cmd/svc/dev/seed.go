package dev

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/cmd/svc/cli"
	"svc/pkg/access/password"
	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/demo"
	"svc/pkg/local/folder"
	"svc/pkg/local/loading"
	"svc/pkg/local/seed"
)

// seedOptions are the flags of svc seed.
type seedOptions struct {
	tenant, password string
	trips, days      int
	seed             uint64
}

// seedCommand returns the command svc seed, which fills a tenant with realistic trips.
func seedCommand(c *cli.CLI) *cobra.Command {
	var o seedOptions
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Fill a tenant with months of realistic trips",
		Long: "Create drivers, riders, and trips of the last months in every status, with receipts and settled wallets. " +
			"If the tenant's flag deliveryEnabled is on, also create businesses and orders.\n" +
			"First stop a svc dev that runs on the data folder. Then the command switches the table's stream off while it " +
			"loads, and updates the counters at the end.\n" +
			"If svc dev keeps running, the stream stays on, and the load is many times slower.\n" +
			"Ctrl-C stops the command. The next svc seed for the tenant completes the stopped load, with the --trips, " +
			"--days and --seed of that load. After a complete load, it adds more trips.",
		Example: "  svc seed --tenant metro --trips 100000\n  svc seed --tenant metro --trips 5000 --password demo-password",
		RunE: cli.Act(func(ctx context.Context, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			p, err := c.Platform(ctx)
			switch {
			case errors.Is(err, folder.ErrNotRunning):
				return seedFolder(ctx, c, o)
			case err != nil:
				return err
			case p.Data == "" && c.Env.Endpoint == "":
				return cli.Usagef("seed fills tables on this machine only; set AWS_ENDPOINT_URL_DYNAMODB")
			}
			return seedRunning(ctx, c, p, o)
		}),
	}
	cmd.Flags().StringVar(&o.tenant, "tenant", "", "the tenant's `slug`")
	cmd.Flags().IntVar(&o.trips, "trips", 10_000, "number of trips to create")
	cmd.Flags().IntVar(&o.days, "days", 180, "age of the oldest trips in days")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "`number` that starts the random generator")
	cmd.Flags().StringVar(&o.password, "password", "",
		"`password` of all created people; without it they need a link to set one (svc person link)")
	_ = cmd.MarkFlagRequired("tenant") // it is defined above
	return cmd
}

// check returns a usage error for each number that is out of range.
func (o seedOptions) check() error {
	var errs []error
	if o.trips < 1 || o.trips > seed.MaxTrips {
		errs = append(errs, cli.Usagef("--trips %d: expected 1 to %s", o.trips, cli.Thousands(seed.MaxTrips)))
	}
	if o.days < 1 || o.days > seed.MaxDays {
		errs = append(errs, cli.Usagef("--days %d: expected 1 to %s", o.days, cli.Thousands(seed.MaxDays)))
	}
	return errors.Join(errs...)
}

// options returns the options of package seed. note receives the progress: stage, steps
// done and total steps.
func (o seedOptions) options(note func(string, int, int)) seed.Options {
	out := seed.Options{Trips: o.trips, Days: o.days, Seed: o.seed, Now: time.Now(), By: cli.By(), Note: note}
	if o.password != "" {
		out.Hash = password.Hash(o.password)
	}
	return out
}

// seedRunning fills a tenant of a running service. The service processes the
// table's stream, so the projection counts the new items. After a resumed load,
// seedRunning also counts all items of the tenant itself.
func seedRunning(ctx context.Context, c *cli.CLI, p cli.Platform, o seedOptions) error {
	n, _, err := p.Tenant(ctx, o.tenant)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Err,
		"The service runs, and its stream is on. Loading is many times slower than without the stream, and the counters "+
			"lag behind. If you can, stop the service first.")
	bar := cli.NewProgress(c.Err)
	run := o.options(bar.Show)
	run.Finish = func(ctx context.Context, resumed bool) error {
		if !resumed {
			return nil // the stream functions process every new item
		}
		return count(ctx, p.DB, []tenant.Tenant{n}, bar)
	}
	return fill(ctx, c, p.DB, n, run, bar)
}

// seedFolder fills a tenant of a data folder without a running service.
func seedFolder(ctx context.Context, c *cli.CLI, o seedOptions) (err error) {
	l, err := loading.Open(ctx, loading.Options{Data: c.Data, Table: c.Env.Table, Template: svc.Template,
		Bytes: int64(o.trips) * seed.BytesPerTrip})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	db, err := table.Open(ctx, table.Options{Table: l.Table, Endpoint: l.Endpoint})
	if err != nil {
		return err
	}
	bar := cli.NewProgress(c.Err)
	n, err := seededTenant(ctx, db, o.tenant, bar)
	if err != nil {
		return err
	}
	all, err := tenant.Store{DB: db}.List(ctx)
	if err != nil {
		return err
	}
	if l.Streaming { // a service ran here before: settle what its stream functions missed, then switch the stream off
		if err := settle(ctx, db, all, bar); err != nil {
			return err
		}
		if err := l.DisableStream(ctx); err != nil {
			return err
		}
	}
	run := o.options(bar.Show)
	run.Finish = func(ctx context.Context, _ bool) error { return count(ctx, db, all, bar) }
	if err := fill(ctx, c, db, n, run, bar); err != nil {
		return err
	}
	return l.EnableStream(ctx)
}

// seededTenant finds the tenant. If the tenant does not exist, seededTenant loads
// the demo data, which may contain the tenant.
func seededTenant(ctx context.Context, db *table.DB, slug string, bar *cli.Progress) (tenant.Tenant, error) {
	store := tenant.Store{DB: db}
	n, err := store.BySlug(ctx, slug)
	if !errors.Is(err, fault.NotFound()) {
		return n, err
	}
	if _, err := demo.Load(ctx, db, time.Now()); err != nil {
		return tenant.Tenant{}, err
	}
	all, err := store.List(ctx)
	if err != nil {
		return tenant.Tenant{}, err
	}
	if err := settle(ctx, db, all, bar); err != nil { // no stream settles the demo's trips here
		return tenant.Tenant{}, err
	}
	if n, err = store.BySlug(ctx, slug); errors.Is(err, fault.NotFound()) {
		err = fmt.Errorf("there is no tenant %q", slug)
	}
	return n, err
}

// settle settles every completed trip that has no receipt. It does the work of the stream
// function settlement, which does not run here.
func settle(ctx context.Context, db *table.DB, tenants []tenant.Tenant, bar *cli.Progress) error {
	for i, n := range tenants {
		if _, err := settlement.Sweep(ctx, db.Tenant(n.ID), time.Time{}, time.Now); err != nil {
			return err
		}
		bar.Show("looking for receipts, tenants", i+1, len(tenants))
	}
	return nil
}

// count computes from the items what the stream function projection maintains: the
// tenants' counters, totals and search rows (index items for searching customers), and
// the counters and ranks of the feedback posts (the roadmap).
func count(ctx context.Context, db *table.DB, tenants []tenant.Tenant, bar *cli.Progress) error {
	step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
	for _, n := range tenants {
		_, err := step.Rebuild(ctx, db.Tenant(n.ID), func(kind string, examined int) {
			bar.Show("counting "+n.Slug+"'s "+kind+"s", examined, 0)
		})
		if err != nil {
			return err
		}
	}
	_, err := step.Posts(ctx, db.Platform(feedback.Kinds...), feedback.AllPartition)
	return err
}

// fill creates the trips of a load in the tenant, and prints what it created.
func fill(ctx context.Context, c *cli.CLI, db *table.DB, n tenant.Tenant, o seed.Options, bar *cli.Progress) error {
	began := time.Now()
	done, err := seed.Run(ctx, db, n, o)
	bar.End()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped; run the same command again to continue")
	case err != nil:
		return err
	}
	verb := "Created"
	if done.Resumed {
		verb = "Completed the interrupted load of"
	}
	return c.Done(done, "%s %s trips of %s drivers and %s riders, and %s orders for tenant %s (%s items in %s).", verb,
		cli.Thousands(done.Trips), cli.Thousands(done.Drivers), cli.Thousands(done.Riders), cli.Thousands(done.Orders),
		n.Slug, cli.Thousands(done.Items), time.Since(began).Round(time.Second))
}

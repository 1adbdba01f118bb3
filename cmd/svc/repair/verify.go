package repair

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/background/feed"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/report"
	"svc/pkg/domain/tenant"
)

// compared has the number of compared values by kind, such as "event".
type compared map[string]int

// add counts n more compared values of the kind.
func (c compared) add(kind string, n int) { c[kind] += n }

// String returns the counts as a text, such as "12 events, 1 receipt".
func (c compared) String() string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		text := fmt.Sprintf("%d %s", c[kind], kind)
		if c[kind] != 1 {
			text += "s"
		}
		out = append(out, text)
	}
	return cmp.Or(strings.Join(out, ", "), "nothing")
}

// verifyCommand returns the command svc verify, which compares derived data with the
// items that it is derived from.
func verifyCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "verify [SLUG…]",
		Short: "Compare balances, receipts, counters and events with the items",
		Long: `Add up every balance from its postings and every counter from its items. Compare receipts,
postings and trip counts with completed trips, the mean ratings of drivers and riders with rated
trips, wallet names with drivers and riders, and search rows and ranks with the items that they list.
Compare the event feed with the logs of trips: it names events that are missing, doubled or of no
change. The command changes nothing. It prints how many things of each kind it compared; with --json
only if something differs.

The command may run while the service runs. It waits some seconds for changes that the stream functions
still have to process. Before it reports a difference, it reads the data of the difference again.

The exit code is 1 if something differs. svc rebuild corrects the differences, except events, and a
receipt of a trip that is not completed.`,
		Example: "  svc verify\n  svc verify metro --json",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			all, seen, bar := []reconcile.Difference{}, compared{}, cli.NewProgress(c.Err)
			defer bar.End()
			run := func(slug string) *reconcile.Run {
				return &reconcile.Run{Compared: seen.add, Found: func(d reconcile.Difference) {
					d.Tenant = slug
					all = append(all, d)
				}}
			}
			err := each(ctx, p, args, func(n tenant.Tenant, t table.Tenant) error {
				r := run(n.Slug)
				counted, err := report.All(ctx, t)
				if err != nil {
					return err
				}
				return verifyTenant(ctx, n.Slug, t, r, func(of string) { follow(bar, r, of, counted.Trips) })
			}, func() error {
				return check(run("")).Posts(ctx, p.DB.Platform(feedback.Kinds...), feedback.AllPartition)
			})
			if err != nil {
				return err
			}
			bar.End()
			if len(all) == 0 {
				return c.Done(all, "No differences. Compared: %s.", seen.String())
			}
			shown := cli.Table{Head: "TENANT WHAT KEY WANT HAVE"}
			for _, d := range all {
				shown.Add(d.Tenant, d.What, d.Key, d.Want, d.Have)
			}
			if err := c.Show(all, shown); err != nil {
				return err
			}
			return fmt.Errorf("%d derived values differ from the items; svc rebuild corrects them, except events, and "+
				"receipts of trips that are not completed; compared: %s",
				len(all), seen)
		})}
}

// verifyTenant makes all checks of one tenant. Before each check it calls begins with a
// description of the check.
func verifyTenant(ctx context.Context, slug string, t table.Tenant, r *reconcile.Run, begins func(string)) error {
	begins(slug + ": comparing receipts of trips")
	if err := checkLedger(ctx, t, r); err != nil {
		return err
	}
	begins(slug + ": comparing counts of trips")
	if err := check(r).Tenant(ctx, t); err != nil {
		return err
	}
	begins(slug + ": comparing events of trips")
	return (&feed.Check{Run: r, Now: time.Now}).Tenant(ctx, t)
}

// each calls the function one for each tenant with a given slug. Without slugs it calls
// one for all tenants, and then the function rest for the feedback posts, which belong to
// no tenant.
func each(ctx context.Context, p cli.Platform, slugs []string, one func(tenant.Tenant, table.Tenant) error,
	rest func() error) error {
	var chosen []tenant.Tenant
	for _, slug := range slugs {
		n, _, err := p.Tenant(ctx, slug)
		if err != nil {
			return err
		}
		chosen = append(chosen, n)
	}
	if len(slugs) == 0 {
		var err error
		if chosen, err = (tenant.Store{DB: p.DB}).List(ctx); err != nil {
			return err
		}
	}
	for _, n := range chosen {
		if err := one(n, p.DB.Tenant(n.ID)); err != nil {
			return fmt.Errorf("%s: %w", n.Slug, err)
		}
	}
	if len(slugs) > 0 {
		return nil
	}
	return rest()
}

// checkLedger checks the balances, receipts, postings and trip counts of a tenant.
func checkLedger(ctx context.Context, t table.Tenant, run *reconcile.Run) error {
	check := settlement.Check{Run: run, Now: time.Now}
	return check.Tenant(ctx, t)
}

// check returns the check of counters, of search rows (index items for searching
// customers), and of the feedback posts that all tenants share.
func check(run *reconcile.Run) *projection.Check {
	return &projection.Check{Run: run, Step: projection.Step{Now: time.Now, RankRows: feedback.RankRows},
		PostCounts: feedback.Counts, PostRanks: feedback.RankPartitions}
}

// follow makes p show how many trips the run of checks has read. total is the approximate
// number of trips.
func follow(p *cli.Progress, run *reconcile.Run, stage string, total int) {
	done := 0
	run.Trips = func(n int) {
		done += n
		p.Show(stage, done, total)
	}
}

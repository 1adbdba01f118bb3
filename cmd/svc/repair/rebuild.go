package repair

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/report"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// rebuilt is the result of a rebuild of one tenant or, if Tenant is "", of the feedback
// posts that all tenants share.
type rebuilt struct {
	Tenant    string   `json:"tenant"`
	Phones    int      `json:"phones"`    // phones whose stored number was set anew (see projection.Phones)
	Completed int      `json:"completed"` // completed trips
	Settled   []string `json:"settled"`   // completed trips that had no receipt and are now settled
	projection.Rebuilt
	Corrected []reconcile.Difference `json:"corrected"` // in sums, receipts, and rows of searches and ranks
}

// rebuildCommand returns the command svc rebuild, which corrects derived data.
func rebuildCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "rebuild [SLUG…]",
		Short: "Settle missed trips, and recompute balances, counters and ranks",
		Long: `Settle the completed trips that have no receipt, and restore lost postings. Then compute every balance
from its postings, and every counter, trip count, rating, wallet name, search row and rank from the
items. Read phones of riders, drivers and businesses as numbers of the tenant's country, as the service
does itself when they change.
The command replaces every stored value that is wrong, except a receipt of a trip that is not completed.

It may run while the service runs, and may be repeated. If counters keep changing, it lets those of the
tenant rest for some seconds; what happens meanwhile is counted afterwards. It shows its progress, and
takes some minutes for a million trips. Without a slug it processes all tenants and the roadmap. ` +
			`svc verify reports the differences and changes nothing.`,
		Example: "  svc rebuild\n  svc rebuild metro",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
			all, shown, bar := []rebuilt{}, cli.Table{Head: "TENANT WHAT EXAMINED DIFFERED"}, cli.NewProgress(c.Err)
			defer bar.End()
			err := each(ctx, p, args, func(n tenant.Tenant, t table.Tenant) error {
				one, err := rebuild(ctx, t, step, n, bar)
				if err != nil {
					return err
				}
				all = append(all, one)
				shown.Add(n.Slug, "receipts", one.Completed, len(one.Settled))
				count(&shown, n.Slug, one.Rebuilt)
				shown.Add(n.Slug, "sums and rows", "-", len(one.Corrected))
				return nil
			}, func() error {
				posts, err := step.Posts(ctx, p.DB.Platform(feedback.Kinds...), feedback.AllPartition)
				if err != nil {
					return err
				}
				one := rebuilt{Settled: []string{}, Rebuilt: posts, Corrected: []reconcile.Difference{}}
				err = check(one.run()).Posts(ctx, p.DB.Platform(feedback.Kinds...), feedback.AllPartition)
				all = append(all, one)
				count(&shown, "", posts)
				shown.Add("", "sums and rows", "-", len(one.Corrected))
				return err
			})
			if err != nil {
				return err
			}
			bar.End()
			return c.Show(all, shown)
		})}
}

// count adds a line to the table for each kind of item: how many were examined, and how
// many had a wrong count.
func count(t *cli.Table, slug string, r projection.Rebuilt) {
	for _, kind := range slices.Sorted(maps.Keys(r.Examined)) {
		t.Add(slug, kind+"s", r.Examined[kind], r.Differed[kind])
	}
}

// run returns a run of checks that corrects every difference and adds it to r.Corrected.
func (r *rebuilt) run() *reconcile.Run {
	return &reconcile.Run{Correct: true, Found: func(d reconcile.Difference) { r.Corrected = append(r.Corrected, d) }}
}

// rebuild corrects the derived data of one tenant: first phone numbers, receipts and
// balances, then the index entries of zones (settings.CoverZones), counters, and the rows
// of searches and ranks.
func rebuild(ctx context.Context, t table.Tenant, step projection.Step, n tenant.Tenant,
	bar *cli.Progress) (out rebuilt, err error) {
	out.Tenant, out.Corrected = n.Slug, []reconcile.Difference{}
	counted, err := report.All(ctx, t)
	if err != nil {
		return out, err
	}
	total := counted.Trips
	if _, out.Phones, err = (projection.Phones{Read: plans.Read}).All(ctx, t); err != nil {
		return out, err
	}
	swept, err := settlement.Sweep(ctx, t, time.Time{}, time.Now)
	if err != nil {
		return out, err
	}
	out.Completed, out.Settled = swept.Examined, swept.Settled
	run := out.run()
	follow(bar, run, n.Slug+": comparing receipts of trips", total)
	if err := checkLedger(ctx, t, run); err != nil {
		return out, err
	}
	if err := settings.CoverZones(ctx, t); err != nil {
		return out, err
	}
	out.Rebuilt, err = step.Rebuild(ctx, t, func(kind string, examined int) {
		of := 0
		if kind == "trip" {
			of = total
		}
		bar.Show(n.Slug+": counting "+kind+"s", examined, of)
	})
	if err != nil {
		return out, err
	}
	follow(bar, run, n.Slug+": comparing counts of trips", total)
	err = check(run).Tenant(ctx, t)
	return out, err
}

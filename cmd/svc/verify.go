package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/tenant"
)

// difference is derived data that does not match the items.
type difference struct {
	Tenant string `json:"tenant,omitempty"`
	What   string `json:"what"`
	Key    string `json:"key"`
	Want   string `json:"want"`
	Have   string `json:"have"`
}

// compared counts what was compared, by kind.
type compared map[string]int

func (c compared) add(kind string, n int) { c[kind] += n }

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

func verifyCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "verify [SLUG…]",
		Short: "Compare balances, receipts, counters and ranks with the items",
		Long: `Add up every balance from its postings and every counter from its items. Compare receipts,
postings and trip counts with completed trips, wallet names with drivers and riders, and search rows
and ranks with the items that they list. The command changes nothing. It prints how many things of
each kind it compared; with --json only if something differs.

The command may run while the service runs. It waits some seconds for changes that the stream functions
still have to process. Before it reports a difference, it reads the data of the difference again.

The exit code is 1 if something differs. svc rebuild corrects the differences, except a receipt of a
trip that is not completed.`,
		Example: "  svc verify\n  svc verify metro --json",
		RunE: c.on(func(ctx context.Context, p platform, args []string) error {
			all, seen := []difference{}, compared{}
			err := p.each(ctx, args, func(n tenant.Tenant, t table.Tenant) error {
				ledger, err := checkLedger(ctx, t, false, seen)
				if err != nil {
					return err
				}
				counters, err := checkCounters(ctx, t, false, seen)
				for _, d := range append(ledger, counters...) {
					d.Tenant = n.Slug
					all = append(all, d)
				}
				return err
			}, func() error {
				found, err := checkPosts(ctx, p.db, false, seen)
				all = append(all, found...)
				return err
			})
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return c.done(all, "No differences. Compared: %s.", seen.String())
			}
			shown := cols{head: "TENANT WHAT KEY WANT HAVE"}
			for _, d := range all {
				shown.add(d.Tenant, d.What, d.Key, d.Want, d.Have)
			}
			if err := c.show(all, shown); err != nil {
				return err
			}
			return fmt.Errorf("%d derived values differ from the items; svc rebuild corrects them, except receipts of trips "+
				"that are not completed; compared: %s",
				len(all), seen)
		})}
}

// each calls the function one for each tenant with a given slug. Without slugs it
// calls one for all tenants, and then rest for the roadmap, which belongs to no
// tenant.
func (p platform) each(ctx context.Context, slugs []string, one func(tenant.Tenant, table.Tenant) error,
	rest func() error) error {
	var chosen []tenant.Tenant
	for _, slug := range slugs {
		n, _, err := p.tenant(ctx, slug)
		if err != nil {
			return err
		}
		chosen = append(chosen, n)
	}
	if len(slugs) == 0 {
		var err error
		if chosen, err = (tenant.Store{DB: p.db}).List(ctx); err != nil {
			return err
		}
	}
	for _, n := range chosen {
		if err := one(n, p.db.Tenant(n.ID)); err != nil {
			return fmt.Errorf("%s: %w", n.Slug, err)
		}
	}
	if len(slugs) > 0 {
		return nil
	}
	return rest()
}

// checkLedger checks balances, receipts, postings and trip counts. With correct it
// also corrects them, except a receipt of a trip that is not completed.
func checkLedger(ctx context.Context, t table.Tenant, correct bool, seen compared) ([]difference, error) {
	out := []difference{}
	check := settlement.Check{Correct: correct, Now: time.Now, Compared: seen.add, Found: func(d settlement.Difference) {
		out = append(out, difference{"", d.What, d.Key, d.Want, d.Have})
	}}
	err := check.Tenant(ctx, t)
	return out, err
}

// checkCounters checks counters and search rows; correct also corrects them.
func checkCounters(ctx context.Context, t table.Tenant, correct bool, seen compared) ([]difference, error) {
	out := []difference{}
	err := projectionCheck(correct, seen, &out).Tenant(ctx, t)
	return out, err
}

// checkPosts checks the roadmap's counters and rows; correct also corrects them.
func checkPosts(ctx context.Context, db *table.DB, correct bool, seen compared) ([]difference, error) {
	out := []difference{}
	err := projectionCheck(correct, seen, &out).Posts(ctx, db.Platform(feedback.Kinds...), feedback.AllPartition)
	return out, err
}

func projectionCheck(correct bool, seen compared, into *[]difference) *projection.Check {
	return &projection.Check{Step: projection.Step{Now: time.Now, RankRows: feedback.RankRows}, Correct: correct,
		PostCounts: feedback.Counts, PostRanks: feedback.RankPartitions, Compared: seen.add,
		Found: func(d projection.Difference) {
			*into = append(*into, difference{"", d.What, d.Key, d.Want, d.Have})
		}}
}

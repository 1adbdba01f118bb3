package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/feedback"
	"svc/pkg/projection"
	"svc/pkg/settlement"
	"svc/pkg/tenant"
)

// rebuilt is what a rebuild did to one tenant.
type rebuilt struct {
	Tenant    string   `json:"tenant"`
	Completed int      `json:"completed"` // completed trips
	Settled   []string `json:"settled"`   // those of them that had no receipt
	projection.Rebuilt
}

func rebuildCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "rebuild [SLUG…]", Short: "Settle what was lost, count everything again, and say what differed",
		Long: "Settle the completed trips that have no receipt, and take every counter, search row and rank from the items as they are now.\n" +
			"It runs beside a live service and may be repeated; without a slug it is about all tenants and the roadmap.",
		Example: "  svc rebuild\n  svc rebuild metro",
		RunE: act(func(ctx context.Context, args []string) error {
			p, err := c.place(ctx)
			if err != nil {
				return err
			}
			tenants, err := p.tenants(ctx, args)
			if err != nil {
				return err
			}
			step := projection.Step{Now: time.Now, RankRows: feedback.RankRows}
			all, table := []rebuilt{}, cols{head: "TENANT WHAT EXAMINED DIFFERED"}
			for _, n := range tenants {
				one, err := c.rebuild(ctx, p, step, n)
				if err != nil {
					return fmt.Errorf("%s: %w", n.Slug, err)
				}
				all = append(all, one)
				table.add(n.Slug, "receipts", one.Completed, len(one.Settled))
				table.count(n.Slug, one.Rebuilt)
			}
			if len(args) == 0 {
				posts, err := step.Posts(ctx, p.db.Platform(feedback.Kinds...), feedback.AllPartition)
				if err != nil {
					return err
				}
				all = append(all, rebuilt{Settled: []string{}, Rebuilt: posts})
				table.count("", posts)
			}
			return c.show(all, table)
		})}
}

func (t *cols) count(slug string, r projection.Rebuilt) {
	for _, kind := range slices.Sorted(maps.Keys(r.Examined)) {
		t.add(slug, kind+"s", r.Examined[kind], r.Differed[kind])
	}
}

func (p place) tenants(ctx context.Context, slugs []string) ([]tenant.Tenant, error) {
	if len(slugs) == 0 {
		return tenant.Store{DB: p.db}.List(ctx)
	}
	var out []tenant.Tenant
	for _, slug := range slugs {
		n, _, err := p.tenant(ctx, slug)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (c *cli) rebuild(ctx context.Context, p place, step projection.Step, n tenant.Tenant) (rebuilt, error) {
	t := p.db.Tenant(n.ID)
	swept, err := settlement.Sweep(ctx, t, n.ReadShards, time.Now)
	if err != nil {
		return rebuilt{}, err
	}
	last := time.Now()
	done, err := step.Rebuild(ctx, t, n.ReadShards, func(kind string, examined int) {
		if time.Since(last) > time.Second {
			last = time.Now()
			fmt.Fprintf(c.err, "%s: %d %ss\n", n.Slug, examined, kind)
		}
	})
	return rebuilt{n.Slug, swept.Examined, swept.Settled, done}, err
}

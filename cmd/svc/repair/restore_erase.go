package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/background/erasure"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// restoreErasures returns the command svc restore erasures, which lists the persons who
// were erased.
func restoreErasures(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "erasures", Short: "List who was erased, for a table that is restored from a backup",
		Long: "List the erasures of every tenant. The list has identifiers only. Keep it outside of the table: a table " +
			"that\nis restored from a backup has the persons again, and svc restore erase erases those of the list.",
		Example: "  svc restore erasures --json > erased.json",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			rows, t := []erasure.Erased{}, cli.Table{Head: "TENANT PERSON AT REQUEST+"}
			err := each(ctx, p, args, func(n tenant.Tenant, of table.Tenant) error {
				return erasure.Journal(ctx, of, func(e erasure.Erased) error {
					rows = append(rows, e)
					t.Add(n.Slug, e.Person, e.At, e.Request)
					return nil
				})
			}, func() error { return nil })
			if err != nil {
				return err
			}
			return c.Show(rows, t)
		})}
}

// restoreErase returns the command svc restore erase, which erases the listed persons
// again.
func restoreErase(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "erase", Short: "Erase again whom svc restore erasures lists",
		Long: "Read the list that svc restore erasures --json printed for the earlier table from standard input, and\n" +
			"erase its persons in this table. Run it before callers reach a restored table. It may be repeated.",
		Example: "  svc restore erase --yes < erased.json",
		RunE: c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
			if !c.Yes {
				return cli.Usagef("this erases every person of the list for good; confirm with --yes")
			}
			var list []erasure.Erased
			if err := json.NewDecoder(c.Stdin).Decode(&list); err != nil {
				return cli.Usagef("standard input is not what svc restore erasures --json prints: %v", err)
			}
			r := erasure.Runner{DB: p.DB, Now: time.Now}
			for _, e := range list {
				if err := r.Repeat(ctx, e); err != nil {
					return fmt.Errorf("%s of %s: %w", e.Person, e.Tenant, err)
				}
			}
			return c.Done(list, "Erased %s persons again.", cli.Thousands(len(list)))
		})}
}

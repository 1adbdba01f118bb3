package people

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/background/jobs"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
)

// DrainTime is longer than the longest run of a function that writes a tenant's
// data (60 s in template.yaml). After this time, no request that began before the
// tenant was disabled can still write.
var DrainTime = 90 * time.Second

// mostPasses limits how often a deletion reads the whole table. Usually a deletion
// makes three passes: the first removes the items, the second removes those that
// were written meanwhile, and the third finds nothing.
const mostPasses = 10

// tenantDelete returns the command svc tenant delete, which deletes a tenant and all of
// its data.
func tenantDelete(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "delete SLUG", Short: "Delete a tenant and all of its data",
		Long: "Delete a tenant with its trips, orders, wallets, receipts, accounts and audit log. Only a backup can\n" +
			"restore them. The command needs --yes, and the slug typed again on standard input.\n" +
			"The command first disables the tenant: from then on the service rejects every token and sign-in. Then it\n" +
			"ends the memberships and removes the items. At the end the slug and the domain can be used again. A deletion\n" +
			"takes at least 90 seconds, because it waits for requests that began earlier, and reads the whole table\n" +
			"about three times. If the command is interrupted, the same command continues the deletion.\n" +
			"The operators' accounts and their posts on the shared roadmap stay.",
		Example: "  svc tenant delete bay --yes\n  echo bay | svc tenant delete bay --yes\n  svc tenant list --deleted"}
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		slug := args[0]
		if !c.Yes {
			return cli.Usagef("this deletes all data of tenant %s for good; confirm with --yes", slug)
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		n, _, err := p.Tenant(ctx, slug)
		if err != nil && !errors.Is(err, tenant.ErrDeleting) {
			return err
		}
		if err := typed(c, n.Slug); err != nil {
			return err
		}
		removed, err := deleteTenant(ctx, c, p, n)
		if err != nil {
			return fmt.Errorf("%w; run the same command again", err)
		}
		return c.Done(removed, "Deleted tenant %s (%s): %s items and %s memberships.", n.Slug, n.ID,
			cli.Thousands(removed.Items), cli.Thousands(removed.Members))
	})
	return cmd
}

// typed reads a line of standard input. It returns a usage error unless the line is the
// slug.
func typed(c *cli.CLI, slug string) error {
	if cli.IsTerminal(c.Stdin) {
		fmt.Fprintf(c.Err, "Type the tenant's slug to delete all of its data: ")
	}
	line, _ := bufio.NewReader(c.Stdin).ReadString('\n') // after an error, line is what was read before the error
	if strings.TrimSpace(line) != slug {
		return cli.Usagef("the slug %s was not typed on the standard input; nothing was deleted", slug)
	}
	return nil
}

// removed has the numbers of a deletion. If a command continues an interrupted deletion,
// they are only of what this command removed.
type removed struct {
	Tenant  string `json:"tenant"`
	ID      string `json:"id"`
	Members int    `json:"members"`
	Items   int    `json:"items"`
}

// deleteTenant disables the tenant and removes it. Every step may be repeated. The
// last pass is the first one that begins after DrainTime and finds nothing. If
// mostPasses passes are not enough, deleteTenant returns an error.
func deleteTenant(ctx context.Context, c *cli.CLI, p cli.Platform, n tenant.Tenant) (removed, error) {
	store, t, out := tenant.Store{DB: p.DB}, p.DB.Tenant(n.ID), removed{Tenant: n.Slug, ID: n.ID}
	if err := mayDelete(ctx, t); err != nil {
		return out, fmt.Errorf("nothing was deleted: %w", err)
	}
	n, err := store.BeginDelete(ctx, n.ID, cli.By())
	if err != nil {
		return out, err
	}
	began, err := timestamp.Parse(n.DeletingAt)
	if err != nil {
		return out, err
	}
	shown := cli.NewProgress(c.Err)
	defer shown.End()
	for range mostPasses {
		drained, before := time.Since(began) >= DrainTime, out
		if err := pass(ctx, p, t, &out, shown); err != nil {
			return out, err
		}
		if drained && out == before {
			if err := removeFiles(ctx, c, p, n.ID); err != nil {
				return out, err
			}
			return out, store.EndDelete(ctx, n, cli.By())
		}
		if err := awaitDrain(ctx, c, began.Add(DrainTime)); err != nil {
			return out, err
		}
	}
	return out, fmt.Errorf("something still writes items of tenant %s", n.Slug)
}

// removeFiles deletes the files of the tenant with the id. If FILES_BUCKET is not set,
// they stay until they expire, and it prints that.
func removeFiles(ctx context.Context, c *cli.CLI, p cli.Platform, id string) error {
	store, err := p.Files(ctx)
	if err != nil {
		return err
	}
	if store == nil {
		fmt.Fprintln(c.Err, "The tenant's files stay until they expire, after 7 days, because FILES_BUCKET is not set.")
		return nil
	}
	for _, folder := range jobs.Folders(id) {
		if err := store.Remove(ctx, folder); err != nil {
			return fmt.Errorf("files of the tenant: %w", err)
		}
	}
	return nil
}

// mayDelete returns an error if the caller lacks the rights to scan the table and to
// delete items of the tenant. It changes nothing. No other command scans the table. A
// deletion does, because a list of the known kinds of keys could miss a kind that is
// added later.
func mayDelete(ctx context.Context, t table.Tenant) error {
	f := t.Footprint()
	if _, _, err := f.Next(ctx); err != nil {
		return err
	}
	return f.Remove(ctx, []table.Key{t.Key("NONE", "NONE")}) // no such item exists
}

// awaitDrain waits until the time end. After that, no request that began before the
// tenant was disabled can still write.
func awaitDrain(ctx context.Context, c *cli.CLI, end time.Time) error {
	rest := time.Until(end)
	if rest <= 0 {
		return nil
	}
	fmt.Fprintf(c.Err, "Waiting %s for requests that began before the tenant was disabled.\n", cli.Span(rest))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rest):
		return nil
	}
}

// pass reads the table once. It ends the tenant's memberships, and so removes
// the tenant from the operators' records. It removes all other items except the
// tenant's own record and flags: EndDelete removes those.
func pass(ctx context.Context, p cli.Platform, t table.Tenant, out *removed, shown *cli.Progress) error {
	f, people := t.Footprint(), person.Store{DB: p.DB}
	for more := true; more; {
		var found, keys []table.Key
		var err error
		if found, more, err = f.Next(ctx); err != nil {
			return err
		}
		for _, key := range found {
			id := key.PK[strings.LastIndexByte(key.PK, '#')+1:]
			switch {
			case tenant.Last(t, key):
			case key == authz.ActorKey(t, authz.Dashboard, id):
				out.Members++
				if err := people.Leave(ctx, t, cli.By(), id); err != nil && !errors.Is(err, fault.NotFound()) {
					return err
				}
			default:
				keys = append(keys, key)
			}
		}
		if err := f.Remove(ctx, keys); err != nil {
			return err
		}
		out.Items += len(keys)
		shown.Show("items removed", out.Items, 0)
	}
	return nil
}

// showDeleted lists the deleted tenants, newest first.
func showDeleted(ctx context.Context, c *cli.CLI, p cli.Platform) error {
	found, err := cli.All(mostDeleted, func(after string, limit int) ([]tenant.Deleted, string, error) {
		return tenant.Store{DB: p.DB}.ListDeleted(ctx, after, limit)
	})
	if err != nil {
		return err
	}
	t := cli.Table{Head: "SLUG ID CREATED DELETED WHO"}
	for _, one := range found {
		t.Add(one.Slug, one.ID, one.CreatedAt, one.DeletedAt, one.Who)
	}
	return c.Show(found, t)
}

// mostDeleted is the maximum number of deleted tenants in a list.
const mostDeleted = 1000

package repair

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/signing"
	"svc/pkg/base/panics"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
)

func restoreCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("restore", "Work that is necessary after the table was restored from a backup", restoreFinish(c),
		restoreErasures(c), restoreErase(c))
}

// restoreWrites is the maximum number of accounts that change at the same time.
const restoreWrites = 16

// finished is the result for one tenant: how many accounts of each audience lost
// their grants.
type finished struct {
	Tenant    string `json:"tenant"`
	Operators int    `json:"operators"`
	Riders    int    `json:"riders"`
	Drivers   int    `json:"drivers"`
	Machines  int    `json:"machines"` // that were disabled

	Invitations int `json:"invitations"` // that were taken back
}

func restoreFinish(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "finish", Short: "End every grant, because revocations after the backup are lost",
		Long: "End every session, token, consent and one-time link in every tenant, and replace the signing keys. A " +
			"restored table\nlacks the revocations after the moment to which it was restored, so a revoked token would be " +
			"valid again. After the command, everybody\nmust sign in again, with the password of that moment. Machines are " +
			"disabled, because a secret that was removed is there again,\nand invitations of operators are taken back. Run the command before callers reach the restored " +
			"table. It may be repeated.",
		Example: "  svc restore finish --yes"}
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		if !c.Yes {
			return cli.Usagef("this signs everybody out of every application; confirm with --yes")
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		keys, err := p.Keys(ctx)
		if err != nil {
			return err
		}
		tenants, err := tenant.Store{DB: p.DB}.List(ctx)
		if err != nil {
			return err
		}
		rows, table := []finished{}, cli.Table{Head: "TENANT OPERATORS RIDERS DRIVERS MACHINES INVITATIONS"}
		for _, n := range tenants {
			one, err := endGrants(ctx, p, p.DB.Tenant(n.ID))
			if err != nil {
				return fmt.Errorf("%s: %w", n.Slug, err)
			}
			one.Tenant = n.Slug
			if err := p.AppendToAudit(ctx, []string{n.ID}, "restore.finish", "", nil, one); err != nil {
				return err
			}
			rows = append(rows, one)
			table.Add(n.Slug, one.Operators, one.Riders, one.Drivers, one.Machines, one.Invitations)
		}
		if err := replaceKeys(ctx, p, keys); err != nil {
			return err
		}
		return c.Show(rows, table)
	})
	return cmd
}

// replaceKeys revokes every signing key and creates new ones, which sign at
// once. It never opens an old key, so it works even if the sealing key of the old
// keys is lost.
func replaceKeys(ctx context.Context, p cli.Platform, keys *signing.Keys) error {
	return changeKeys(ctx, p, keys, "keys.revoke", "", func(ctx context.Context) error {
		all, err := keys.List(ctx)
		if err != nil {
			return err
		}
		for _, k := range all {
			if err := keys.Revoke(ctx, k.KID); err != nil {
				return err
			}
		}
		return keys.Rotate(ctx)
	})
}

// endGrants ends every session, link and grant of a tenant's accounts.
func endGrants(ctx context.Context, p cli.Platform, t table.Tenant) (out finished, err error) {
	store := person.Store{DB: p.DB}
	out.Operators, err = eachOf(ctx, func(after string, limit int) ([]person.Membership, string, error) {
		return store.Members(ctx, t, after, limit)
	}, func(ctx context.Context, m person.Membership) error {
		return store.EndGrants(ctx, t, cli.By(), m.PersonID)
	})
	if err != nil {
		return out, err
	}
	out.Riders, err = eachOf(ctx, func(after string, limit int) ([]customer.Record, string, error) {
		return customer.List(ctx, t, after, limit)
	}, func(ctx context.Context, r customer.Record) error {
		return endAccount(ctx, t, authz.Rider, r.ID, r.Email, cli.By())
	})
	if err != nil {
		return out, err
	}
	out.Drivers, err = eachOf(ctx, func(after string, limit int) ([]driver.Record, string, error) {
		return driver.List(ctx, t, "", after, limit)
	}, func(ctx context.Context, r driver.Record) error {
		return endAccount(ctx, t, authz.Driver, r.ID, r.Email, cli.By())
	})
	if err != nil {
		return out, err
	}
	out.Machines, err = eachOf(ctx, func(after string, limit int) ([]machine.Record, string, error) {
		return machine.List(ctx, t, after, limit)
	}, func(ctx context.Context, r machine.Record) error { return machine.Disable(ctx, t, cli.By(), r.ID) })
	if err != nil {
		return out, err
	}
	out.Invitations, err = eachOf(ctx, func(after string, limit int) ([]person.Invitation, string, error) {
		return store.Invitations(ctx, t, after, limit)
	}, func(ctx context.Context, n person.Invitation) error { return store.TakeBack(ctx, t, cli.By(), n.ID) })
	return out, err
}

// endAccount ends every session, link and grant of a rider or driver.
func endAccount(ctx context.Context, t table.Tenant, audience authz.Audience, id, address string, by audit.By) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if address != "" { // else the person cannot sign in
			login.EndSessions(tx, login.Key(t, audience, address), id, by)
		}
		login.EndTokens(tx, t, audience, id, by)
		return tx.Commit(ctx)
	})
}

// eachOf runs do on every item of a list and returns the number of these calls.
// It processes up to restoreWrites items of a page at the same time.
func eachOf[T any](ctx context.Context, page func(after string, limit int) ([]T, string, error),
	do func(context.Context, T) error) (int, error) {
	const pageSize = 100
	var done atomic.Int64
	for after := ""; ; {
		some, next, err := page(after, pageSize)
		if err != nil {
			return int(done.Load()), err
		}
		workers, ctx := panics.WithContext(ctx)
		workers.SetLimit(restoreWrites)
		for _, one := range some {
			workers.Go(func() error {
				defer done.Add(1)
				return do(ctx, one)
			})
		}
		if err := workers.Wait(); err != nil || next == "" {
			return int(done.Load()), err
		}
		after = next
	}
}

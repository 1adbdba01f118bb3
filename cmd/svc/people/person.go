package people

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/link"
)

// personCommand returns the group of commands svc person.
func personCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("person", "One-time links for operators, riders and drivers", personLink(c))
}

// personLink returns the command svc person link, which creates a one-time link to set a
// password.
func personLink(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "link EMAIL", Short: "Create a one-time link to set or reset a password",
		Long: "Create a one-time link with which an operator sets a password. The link is valid for 24 hours. For a rider\n" +
			"or driver, give --audience and --tenant.",
		Example: "  svc person link operator@metro.example\n  svc person link rider1@metro.example --audience rider " +
			"--tenant metro"}
	word, slug := cmd.Flags().String("audience", "dashboard",
		"`audience`: dashboard, rider or driver"), cmd.Flags().String("tenant", "", "`slug`, for a rider or driver")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		audience, err := cli.AudienceOf(*word)
		if err != nil {
			return err
		}
		if (audience == authz.Dashboard) != (*slug == "") {
			return cli.Usagef("--tenant is required for a rider or driver, and not allowed for an operator")
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		base, err := p.Address()
		if err != nil {
			return err
		}
		who, tenants, err := account(ctx, p, audience, *slug, args[0])
		if err != nil {
			return err
		}
		tenantID := "" // an operator's link belongs to no tenant
		if audience != authz.Dashboard {
			tenantID = tenants[0]
		}
		link, err := link.New(ctx, p.DB, base, audience, tenantID, args[0], time.Now())
		if err != nil {
			return cli.Missing(err, "enabled account", args[0])
		}
		if err := p.AppendToAudit(ctx, tenants, "person.link", who, nil, nil); err != nil {
			return err
		}
		return c.Done(map[string]string{"link": link}, "%s", link)
	})
	return cmd
}

// account returns the id of the account with the mail address, and the ids of its
// tenants: those of an operator's memberships, and for a rider or driver the tenant with
// the slug.
func account(
	ctx context.Context, p cli.Platform, audience authz.Audience, slug, address string,
) (id string, tenants []string, err error) {
	if audience == authz.Dashboard {
		one, err := person.Store{DB: p.DB}.ByEmail(ctx, address)
		return one.ID, one.Tenants, cli.Missing(err, "enabled account", address)
	}
	_, t, err := p.Tenant(ctx, slug)
	if err != nil {
		return "", nil, err
	}
	l, err := login.Find(ctx, t, audience, address)
	return l.Actor, []string{t.ID()}, cli.Missing(err, "enabled account", address)
}

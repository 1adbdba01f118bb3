package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/oauth"
)

// clientCommand returns the group of commands svc client, about OAuth clients.
func clientCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("client", "OAuth clients: the applications that people sign in with",
		clientList(c), clientShow(c), clientDisable(c), clientEnable(c), clientTrust(c))
}

// clientInUse is an OAuth client with the number of its tokens among the newest live
// access tokens of a tenant.
type clientInUse struct {
	oauth.ClientSummary
	Tokens int `json:"tokens"`
}

// clientList returns the command svc client list.
func clientList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list [SLUG]",
		Short:   "List clients, or those with live access tokens in a tenant",
		Example: "  svc client list\n  svc client list metro"}
	limit := cmd.Flags().Int("limit", 1000, "clients at most; with SLUG, number of the newest access tokens to read")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			return clientsInUse(ctx, c, args[0], *limit)
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		found, err := cli.All(*limit, func(after string, limit int) ([]oauth.ClientSummary, string, error) {
			return p.AuthorizationServer().ListClients(ctx, after, limit)
		})
		if err != nil {
			return err
		}
		table := cli.Table{Head: "ID NAME AUDIENCES CREATED DISABLED"}
		for _, one := range found {
			table.Add(one.ID, one.Name, one.Audiences, timestamp.Format(one.CreatedAt), one.Disabled)
		}
		return c.Show(found, table)
	})
	return cmd
}

// clientsInUse shows the clients that have live access tokens in a tenant. It reads the
// limit newest tokens.
func clientsInUse(ctx context.Context, c *cli.CLI, slug string, limit int) error {
	p, t, err := c.At(ctx, slug)
	if err != nil {
		return err
	}
	server := p.AuthorizationServer()
	tokens, err := cli.All(limit, func(after string, limit int) ([]oauth.Token, string, error) {
		return server.Tokens(ctx, t, after, limit)
	})
	if err != nil {
		return err
	}
	found := []clientInUse{}
	for _, one := range tokens {
		i := slices.IndexFunc(found, func(c clientInUse) bool { return c.ID == one.Client })
		if i < 0 {
			client, err := server.ShowClient(ctx, one.Client)
			if err != nil {
				client = oauth.ClientSummary{ID: one.Client} // usually the client is deleted, but its tokens are live
			}
			i, found = len(found), append(found, clientInUse{ClientSummary: client})
		}
		found[i].Tokens++
	}
	table := cli.Table{Head: "ID NAME TOKENS DISABLED"}
	for _, one := range found {
		table.Add(one.ID, one.Name, one.Tokens, one.Disabled)
	}
	return c.Show(found, table)
}

// clientShow returns the command svc client show.
func clientShow(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "Show a client",
		Example: "  svc client show cli_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			client, err := p.AuthorizationServer().ShowClient(ctx, args[0])
			if err != nil {
				return cli.Missing(err, "client", args[0])
			}
			t := cli.Table{}
			t.Add("id", client.ID)
			t.Add("name", client.Name)
			t.Add("redirects to", client.RedirectURIs)
			t.Add("authenticates by", client.AuthMethod)
			t.Add("audiences", client.Audiences)
			t.Add("scopes", client.Scopes)
			t.Add("contacts", client.Contacts)
			t.Add("created", client.CreatedAt.Format(time.RFC3339))
			t.Add("disabled", client.Disabled)
			return c.Show(client, t)
		})}
}

// clientDisable returns the command svc client disable.
func clientDisable(c *cli.CLI) *cobra.Command {
	return clientSwitch(c, "disable ID", "Reject a client's tokens and sign-ins at once, in every tenant",
		true)
}

// clientEnable returns the command svc client enable.
func clientEnable(c *cli.CLI) *cobra.Command {
	return clientSwitch(c, "enable ID", "Allow a disabled client again; its unexpired tokens work again", false)
}

// clientSwitch returns the command that disables a client if disabled is true, and else
// enables it. The command writes an entry to the audit log of every tenant that is not
// being deleted.
func clientSwitch(c *cli.CLI, use, short string, disabled bool) *cobra.Command {
	word := map[bool]string{true: "disable", false: "enable"}[disabled]
	return &cobra.Command{Use: use, Short: short, Example: "  svc client " + word + " cli_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			tenants, err := p.Everywhere(ctx)
			if err != nil {
				return err
			}
			server := p.AuthorizationServer()
			if err := server.DisableClient(ctx, args[0], disabled); err != nil {
				return cli.Missing(err, "client", args[0])
			}
			if err := p.AppendToAudit(ctx, tenants, "client."+word, args[0], nil, nil); err != nil {
				return err
			}
			return c.Done(map[string]any{"id": args[0], "disabled": disabled}, "Client %s is %sd.", args[0], word)
		})}
}

// clientTrust returns the command svc client trust: people are not asked for consent to a
// trusted client.
func clientTrust(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "trust ID", Short: "Make a client an application of a company or the platform",
		Long: "Make a client an application of the company itself, or of the platform itself in every company. The " +
			"pages then\nname it so, and a person who signs in is not asked for consent. The trust is for the name, the " +
			"redirect\naddresses and the scopes that the client has now. It covers no agents, and no application whose " +
			"address\nanother program on a device may claim.",
		Example: "  svc client trust cli_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro\n" +
			"  svc client trust cli_01JT7M4C6Q8V2N5X9B3D1F7H0K --tenant metro --end\n" +
			"  svc client trust cli_01JT7M4C6Q8V2N5X9B3D1F7H0K --platform"}
	slug := cmd.Flags().String("tenant", "", "`slug` of the company")
	end := cmd.Flags().Bool("end", false, "end the trust; people are asked for consent again")
	everywhere := cmd.Flags().Bool("platform", false, "the platform trusts the client, for every company")
	cmd.MarkFlagsOneRequired("tenant", "platform")
	cmd.MarkFlagsMutuallyExclusive("tenant", "platform")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		owner, set := *slug, trustInCompany
		if *everywhere {
			owner, set = "the platform", trustEverywhere
		}
		err := set(ctx, c, *slug, args[0], !*end)
		if *end && errors.Is(err, fault.NotFound()) {
			return fmt.Errorf("the client %q is not trusted by %s", args[0], owner)
		}
		if err != nil {
			return cli.Missing(err, "client", args[0])
		}
		word := map[bool]string{true: "is no longer", false: "is now"}[*end]
		return c.Done(map[string]any{"id": args[0], "trusted": !*end}, "Client %s %s an application of %s.", args[0], word,
			owner)
	})
	return cmd
}

// trustInCompany makes the client with the id trusted in the tenant with the slug if
// trusted is true. Else it ends the trust.
func trustInCompany(ctx context.Context, c *cli.CLI, slug, id string, trusted bool) error {
	p, t, err := c.At(ctx, slug)
	if err != nil {
		return err
	}
	return p.AuthorizationServer().TrustClient(ctx, t, cli.By(), id, trusted)
}

// trustEverywhere makes the client with the id trusted in every tenant if trusted is
// true. Else it ends that trust. It writes an entry to the audit log of every tenant that
// is not being deleted.
func trustEverywhere(ctx context.Context, c *cli.CLI, _, id string, trusted bool) error {
	p, err := c.Platform(ctx)
	if err != nil {
		return err
	}
	tenants, err := p.Everywhere(ctx)
	if err != nil {
		return err
	}
	server := p.AuthorizationServer()
	if err := server.TrustClientEverywhere(ctx, id, trusted); err != nil {
		return err
	}
	word := map[bool]string{true: "client.trust", false: "client.distrust"}[trusted]
	return p.AppendToAudit(ctx, tenants, word, id, nil, nil)
}

package people

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

// tokenCommand returns the group of commands svc token, about access tokens.
func tokenCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("token", "Access tokens", tokenGet(c), tokenList(c), tokenRevoke(c))
}

// tokenGet returns the command svc token get, which signs in and prints an access token.
func tokenGet(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "get", Short: "Sign in as an app does and print an access token",
		Long: "Register a client, sign in, consent and exchange the code, as an app would, and print the access token.\n" +
			"The next svc token get for the same service and audience uses the same client. Without --password, the\n" +
			"command asks for the password on a terminal, else reads it from standard input. Without --scope, the command\n" +
			"requests every scope of the audience; the token omits the scopes that the person may not have.",
		Example: "  svc token get --tenant metro --audience rider \\\n" +
			"    --email rider1@metro.example --password demo-password\n" +
			"  TOKEN=$(svc token get --tenant metro --audience dashboard \\\n" +
			"    --email operator@metro.example --password demo-password)\n" +
			"  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8080/api/v1/trips"}
	slug, word := cmd.Flags().String("tenant", "", "`slug`"), cmd.Flags().String("audience", "dashboard",
		"`audience`: dashboard, rider or driver")
	email, secret := cmd.Flags().String("email", "", "mail `address`"), cmd.Flags().String("password", "", "`password`")
	scope := cmd.Flags().String("scope", "", "`scopes` to request, separated by spaces")
	_ = cmd.MarkFlagRequired("email") // the flag exists
	cmd.RunE = cli.Act(func(ctx context.Context, _ []string) error {
		audience, err := cli.AudienceOf(*word)
		if err != nil {
			return err
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		base, err := p.Address()
		if err != nil {
			return err
		}
		o := flow.Options{BaseURL: base, Tenant: *slug, Audience: string(audience), Email: *email, Password: *secret,
			Scope: *scope}
		if p.Data != "" {
			o.HTTPClient = &http.Client{Transport: homeward{p.Local}}
		}
		if *slug != "" {
			if _, _, err := p.Tenant(ctx, *slug); err != nil {
				return err
			}
		} else if audience != authz.Dashboard {
			return cli.Usagef("--tenant is missing: the account of a %s belongs to one tenant", audience)
		}
		if o.Password == "" {
			if o.Password, err = readPassword(ctx, c); err != nil {
				return err
			}
		}
		if o.ClientID, err = client(ctx, p, o); err != nil {
			return err
		}
		tokens, err := flow.Token(ctx, o)
		if err != nil {
			return err
		}
		return c.Done(tokens, "%s", tokens.AccessToken)
	})
	return cmd
}

// homeward is a transport that sends every request to the local service at the address
// base, and keeps the request's Host. The service also serves the tenants' custom
// domains, and perhaps the name of a proxy, which DNS resolves to other machines.
type homeward struct{ base string }

// RoundTrip implements http.RoundTripper.
func (h homeward) RoundTrip(r *http.Request) (*http.Response, error) {
	base, err := url.Parse(h.base)
	if err != nil {
		return nil, err
	}
	if r.URL.Host != base.Host {
		r = r.Clone(r.Context())
		r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, base.Scheme, base.Host
	}
	return http.DefaultTransport.RoundTrip(r)
}

// tokenList returns the command svc token list.
func tokenList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List a tenant's live access tokens, newest first",
		Example: "  svc token list metro"}
	limit := cmd.Flags().Int("limit", 100, "tokens at most")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, _ []string) error {
		head, names := "ID AUDIENCE EMAIL ACTOR+ APP CLIENT+ ISSUED+ EXPIRES+ SCOPES+", cli.NamesOf(p, t)
		return cli.List(ctx, c, t, *limit, head, func(one oauth.Token) []any {
			audience := authz.Audience(one.Audience)
			return []any{one.ID, one.Audience, names.Email(ctx, audience, one.Actor), one.Actor, names.App(ctx, one.Client),
				one.Client, one.IssuedAt, one.Expires, c.Summary(one.Scopes, authz.Scopes(audience))}
		}, p.AuthorizationServer().Tokens)
	})
	return cmd
}

// tokenRevoke returns the command svc token revoke.
func tokenRevoke(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke JTI", Short: "Revoke an access token and all tokens of the same sign-in",
		Example: "  svc token revoke tok_01JT7M4C6Q8V2N5X9B3D1F7H0K"}
	slug := cmd.Flags().String("tenant", "", "`slug`; without it svc searches every tenant for the token")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if !ids.Valid(ids.Token, args[0]) {
			// The argument may be the token itself: the error must not contain it.
			return errors.New("there is no token with this id; pass the token's claim jti (tok_…), not the token")
		}
		p, err := c.Platform(ctx)
		if err != nil {
			return err
		}
		tenants, err := tenantsOf(ctx, p, *slug, args[0])
		if err != nil {
			return err
		}
		for _, t := range tenants {
			err := p.AuthorizationServer().RevokeToken(ctx, t, cli.By(), args[0])
			if errors.Is(err, fault.NotFound()) {
				continue
			}
			if err != nil {
				return err
			}
			return c.Done(map[string]any{"id": args[0], "revoked": true}, "Revoked token %s.", args[0])
		}
		return fmt.Errorf("there is no live token %q", args[0])
	})
	return cmd
}

// tenantsOf returns the tenants that may have the token with the id jti. With a slug,
// this is the tenant with the slug. Without a slug, these are the tenants that have the
// token: tenantsOf reads a hundred tenants with each batch read.
func tenantsOf(ctx context.Context, p cli.Platform, slug, jti string) ([]table.Tenant, error) {
	if slug != "" {
		_, t, err := p.Tenant(ctx, slug)
		return []table.Tenant{t}, err
	}
	list, err := tenant.Store{DB: p.DB}.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []table.Tenant
	for len(list) > 0 {
		some := list[:min(100, len(list))]
		list = list[len(some):]
		handles, keys := table.Handle{}, []table.Key{}
		for _, n := range some {
			t := p.DB.Tenant(n.ID)
			handles, keys = table.Join(handles, t.Handle), append(keys, authz.TokenKey(t, jti))
		}
		items, err := handles.Batch(ctx, keys...)
		if err != nil {
			return nil, err
		}
		for i, it := range items {
			if it.Found() {
				found = append(found, p.DB.Tenant(some[i].ID))
			}
		}
	}
	return found, nil
}

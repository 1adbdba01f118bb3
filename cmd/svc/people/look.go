package people

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/settings"
)

// tenantBrand returns the command svc tenant brand, which shows or changes a tenant's
// branding.
func tenantBrand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "brand SLUG [FIELD=VALUE…]", Short: "Show or change a tenant's branding",
		Long:    "Show a tenant's branding, or change fields of the branding. An empty value clears the field.",
		Example: "  svc tenant brand metro\n  svc tenant brand metro primaryColor=#0B5FFF logoUrl=",
		RunE: c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
			if len(args) == 1 {
				b, err := branding.Kind.Get(ctx, t.Get, branding.Key(t))
				if err != nil {
					return err
				}
				return operation.ShowDocument(c, b)
			}
			values, err := pairs(args[1:])
			if err != nil {
				return err
			}
			patch, err := branding.ParsePatch(values)
			if err != nil {
				return err
			}
			commit := func(ctx context.Context, tx *table.Tx, _ branding.Branding) error { return tx.Commit(ctx) }
			b, err := branding.Change(ctx, t, cli.By(), patch, commit)
			if err != nil {
				return err
			}
			return c.Done(b, "Changed the branding of %s.", args[0])
		})}
}

// tenantSettings returns the command svc tenant settings, which shows or changes a
// tenant's settings.
func tenantSettings(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "settings SLUG [NAME=VALUE…]", Short: "Show or change a tenant's settings",
		Long: "Show or change a tenant's settings. The service enforces the payment types, uses waiting, rounding and\n" +
			"routing for fares, and dispatches as dispatch.mode says. The reference of GET /api/v1/settings says of each\n" +
			"setting what it does.",
		Example: "  svc tenant settings metro\n  svc tenant settings metro pricing.cancellationFee=4.5 payments.cash=false",
		RunE: c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
			if len(args) == 1 {
				d, err := settings.Read(ctx, t)
				if err != nil {
					return err
				}
				return operation.ShowDocument(c, d)
			}
			values, err := pairs(args[1:])
			if err != nil {
				return err
			}
			change, err := operation.SettingsBody(values)
			if err != nil {
				return err
			}
			answer, err := operation.Ask(ctx, p, t, "svc_update_settings", change)
			var now struct{ Settings json.RawMessage }
			if err == nil {
				err = json.Unmarshal(answer, &now)
			}
			if err != nil {
				return err
			}
			return c.Done(now.Settings, "Changed the settings of %s.", args[0])
		})}
}

// pairs parses arguments of the form name=value. It returns the values by name.
func pairs(args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, cli.Usagef("%q is not of the form name=value", arg)
		}
		out[name] = value
	}
	return out, nil
}

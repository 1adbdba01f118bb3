package repair

import (
	"context"
	"maps"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/signing"
	"svc/pkg/base/timestamp"
)

// keysCommand returns the group of commands svc keys, about the keys that sign tokens.
func keysCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("keys", "Signing keys", keysList(c), keysRotate(c), keysRevoke(c))
}

// keysList returns the command svc keys list.
func keysList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the signing keys", Example: "  svc keys list",
		RunE: c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
			return showKeys(ctx, c, signing.Open(p.DB, signing.Options{Issuer: p.BaseURL}))
		})}
}

// keyRow is a signing key as --json prints it.
type keyRow struct {
	KID         string  `json:"kid"`
	Alg         string  `json:"alg"`
	State       string  `json:"state"`
	PublishedAt string  `json:"publishedAt"`
	SignsFrom   string  `json:"signsFrom"`
	RevokedAt   *string `json:"revokedAt"`
}

// showKeys prints the signing keys.
func showKeys(ctx context.Context, c *cli.CLI, keys *signing.Keys) error {
	found, err := keys.List(ctx)
	if err != nil {
		return err
	}
	table := cli.Table{Head: "KID ALG STATE PUBLISHED+ SIGNS-FROM"}
	rows := []keyRow{}
	for _, k := range found {
		row := keyRow{k.KID, k.Alg, k.State, timestamp.Format(k.PublishedAt), timestamp.Format(k.SignsFrom), nil}
		if k.RevokedAt != nil {
			row.RevokedAt = timestamp.Ptr(*k.RevokedAt)
		}
		rows = append(rows, row)
		table.Add(row.KID, row.Alg, row.State, row.PublishedAt, row.SignsFrom)
	}
	return c.Show(rows, table)
}

// keysRotate returns the command svc keys rotate, which creates and deletes keys that are
// due.
func keysRotate(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "rotate", Short: "Create the signing keys that are due, and delete expired ones",
		Long: "Do what the scheduled rotation does, for each algorithm. If there is no key, create one, which signs at " +
			"once. Else, if no key is waiting, create one: it signs when the key before it has signed for 30 days, and at " +
			"the earliest 15 minutes after its creation. Delete each key whose tokens have all expired; a revoked key stays " +
			"listed for 90 days. If there is nothing to do, the command changes nothing.",
		Example: "  svc keys rotate",
		RunE: c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
			keys, err := p.Keys(ctx)
			if err != nil {
				return err
			}
			if err := changeKeys(ctx, p, keys, "keys.rotate", "", keys.Rotate); err != nil {
				return err
			}
			return showKeys(ctx, c, keys)
		})}
}

// changeKeys calls change, which changes the signing keys that all tenants share. If that
// succeeds and a key is new, gone or in another state, changeKeys writes an entry to the
// audit log of every tenant that is not being deleted. what names the change, and kid is
// the id of the changed key, "" for none.
func changeKeys(ctx context.Context, p cli.Platform, keys *signing.Keys, what, kid string,
	change func(context.Context) error) error {
	states := func() (map[string]string, error) {
		all, err := keys.List(ctx)
		out := map[string]string{}
		for _, k := range all {
			out[k.KID] = k.State
		}
		return out, err
	}
	before, err := states()
	if err != nil {
		return err
	}
	if err := change(ctx); err != nil {
		return err
	}
	after, err := states()
	if err != nil || maps.Equal(before, after) {
		return err
	}
	tenants, err := p.Everywhere(ctx)
	if err != nil {
		return err
	}
	return p.AppendToAudit(ctx, tenants, what, kid, before, after)
}

// keysRevoke returns the command svc keys revoke.
func keysRevoke(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "revoke KID", Short: "Revoke a signing key and every token that it signed",
		Long: "Revoke a signing key. Within a minute, every function rejects the access tokens that the key signed.\n" +
			"If it was the key that signs, another one signs from now on: the key before it if that is still listed as\n" +
			"verifying, else the waiting key, else a new one.",
		Example: "  svc keys revoke key_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			keys, err := p.Keys(ctx)
			if err != nil {
				return err
			}
			err = changeKeys(ctx, p, keys, "keys.revoke", args[0], func(ctx context.Context) error {
				if err := keys.Revoke(ctx, args[0]); err != nil {
					return err
				}
				return keys.Rotate(ctx)
			})
			if err != nil {
				return cli.Missing(err, "key", args[0])
			}
			return showKeys(ctx, c, keys)
		})}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/settings"
)

func (c *cli) tenantBrand() *cobra.Command {
	return &cobra.Command{Use: "brand SLUG [FIELD=VALUE…]", Short: "Show or change a tenant's branding",
		Long:    "Show a tenant's branding, or change fields of the branding. An empty value clears the field.",
		Example: "  svc tenant brand metro\n  svc tenant brand metro primaryColor=#0B5FFF logoUrl=",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			if len(args) == 1 {
				b, err := branding.Read(ctx, t)
				if err != nil {
					return err
				}
				return c.showDocument(b)
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
			b, err := branding.Change(ctx, t, by(), patch, commit)
			if err != nil {
				return err
			}
			return c.done(b, "Changed the branding of %s.", args[0])
		})}
}

func (c *cli) tenantSettings() *cobra.Command {
	return &cobra.Command{Use: "settings SLUG [NAME=VALUE…]", Short: "Show or change a tenant's settings",
		Long: "Show or change a tenant's settings. The service enforces the payment types, uses waiting, rounding and\n" +
			"routing for fares, and dispatches as dispatch.mode says. The reference of GET /api/v1/settings says of each\n" +
			"setting what it does.",
		Example: "  svc tenant settings metro\n  svc tenant settings metro pricing.cancellationFee=4.5 payments.cash=false",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			if len(args) == 1 {
				d, err := settings.Read(ctx, t)
				if err != nil {
					return err
				}
				return c.showDocument(d)
			}
			values, err := pairs(args[1:])
			if err != nil {
				return err
			}
			d, err := settings.Set(ctx, t, by(), func(d *settings.Document) error {
				for _, name := range slices.Sorted(maps.Keys(values)) {
					if err := put(d, name, values[name]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return c.done(d, "Changed the settings of %s.", args[0])
		})}
}

// pairs parses arguments of the form name=value.
func pairs(args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%q is not of the form name=value", arg)
		}
		out[name] = value
	}
	return out, nil
}

// put sets the member at a dotted path of a document to a JSON value. A value that is no
// JSON is a text, as in dispatch.mode=open.
func put(document any, path, value string) error {
	names, err := settingNames(document)
	if err != nil {
		return err
	}
	if err := known("setting", path, names); err != nil {
		return err
	}
	text := value
	if !json.Valid([]byte(value)) {
		quoted, err := json.Marshal(value)
		if err != nil {
			return err
		}
		text = string(quoted)
	}
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text = "{" + string(key) + ":" + text + "}"
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(document); err != nil {
		return usagef("%s=%s: the value has the wrong type; svc tenant settings SLUG shows values of the right types",
			path, value)
	}
	return nil
}

// settingNames returns the dotted names of a document's members.
func settingNames(document any) ([]string, error) {
	t, err := flat(document)
	names := make([]string, len(t.rows))
	for i, row := range t.rows {
		names[i] = row[0]
	}
	return names, err
}

// showDocument prints a document. The table for people has one line for each
// dotted JSON name.
func (c *cli) showDocument(document any) error {
	t, err := flat(document)
	if err != nil {
		return err
	}
	return c.show(document, t)
}

// flat returns a document as a table of dotted names and values.
func flat(document any) (t cols, err error) {
	text, err := json.Marshal(document)
	if err != nil {
		return t, err
	}
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return t, err
	}
	t.fit = true
	flatten(&t, "", tree)
	return t, nil
}

func flatten(t *cols, prefix string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		switch value := tree[name].(type) {
		case map[string]any:
			flatten(t, prefix+name+".", value)
		case nil:
			t.add(prefix+name, "")
		default:
			t.add(prefix+name, value)
		}
	}
}

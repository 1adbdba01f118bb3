package people

import (
	"context"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
)

// riderCommand returns the group of commands svc rider.
func riderCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("rider", "Riders of a tenant", riderAdd(c), riderList(c), riderEdit(c))
}

// riderFlags adds the flags of a rider to a command. The returned edits apply those flags
// to a rider.
func riderFlags(cmd *cobra.Command) *cli.Edits[customer.Record] {
	e := &cli.Edits[customer.Record]{Cmd: cmd}
	e.Field("first", "first `name`", func(r *customer.Record) any { return &r.FirstName })
	e.Field("last", "last `name`", func(r *customer.Record) any { return &r.LastName })
	e.Field("name", "`name` to show; if empty, first and last name",
		func(r *customer.Record) any { return &r.Name })
	e.Field("phone", "phone `number`", func(r *customer.Record) any { return &r.Phone })
	e.Field("rating", "0 to 5", func(r *customer.Record) any { return &r.Rating })
	return e
}

// riderAdd returns the command svc rider add.
func riderAdd(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG EMAIL", Short: "Add a rider",
		Example: "  svc rider add metro rider4@metro.example \\\n    --first Iris --last Novak --phone '+1 212 555 0190'"}
	e, hash := riderFlags(cmd), newPassword(cmd)
	cmd.RunE = addPerson(c, "rider", authz.Rider, hash, func(ctx context.Context, t table.Tenant, address,
		hashed string) (added, error) {
		r := customer.Record{Customer: customer.Customer{Email: address}}
		if err := e.Apply(&r); err != nil {
			return added{}, err
		}
		country, err := projection.CountryOf(ctx, t)
		if err != nil {
			return added{}, err
		}
		readPhone(&r, country)
		r, err = customer.Store.Create(ctx, t, cli.By(), r, hashed)
		return added{ID: r.ID, Email: r.Email}, err
	})
	return cmd
}

// riderList returns the command svc rider list.
func riderList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List riders, newest first", Example: "  svc rider list metro"}
	limit := cmd.Flags().Int("limit", 100, "riders at most")
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, _ []string) error {
		return cli.List(ctx, c, t, *limit, "NAME EMAIL PHONE TRIPS DISABLED ID+", func(r customer.Record) []any {
			return []any{r.Name, r.Email, r.Phone, r.TotalTrips, r.Disabled, r.ID}
		}, customer.List)
	})
	return cmd
}

// riderEdit returns the command svc rider edit, which changes a rider.
func riderEdit(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "edit SLUG EMAIL|ID", Short: "Change a rider",
		Example: "  svc rider edit metro rider1@metro.example --phone '+1 212 555 0191'\n  svc rider edit metro " +
			"rider1@metro.example --disable"}
	return riderFlags(cmd).Account(c, cli.Account[customer.Record]{Kind: "rider", Find: cli.FindRider, Change: changeRider,
		Fields: func(r *customer.Record) (*string, *string, *bool) { return &r.ID, &r.Email, &r.Disabled }})
}

// readPhone sets r.Number, the phone number that the text r.Phone stands for. country is
// the country (ISO 3166) of a phone without a country code.
func readPhone(r *customer.Record, country string) {
	if r.Phone != nil {
		r.Number = plans.Read(*r.Phone, country)
	}
}

// changeRider is customer.Store.Change, but also sets the phone number (see readPhone).
func changeRider(ctx context.Context, t table.Tenant, who audit.By, id string, edit func(*customer.Record) error) (
	customer.Record, error) {
	country, err := projection.CountryOf(ctx, t)
	if err != nil {
		return customer.Record{}, err
	}
	return customer.Store.Change(ctx, t, who, id, func(r *customer.Record) error {
		err := edit(r)
		readPhone(r, country)
		return err
	})
}

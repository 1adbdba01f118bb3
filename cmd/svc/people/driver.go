package people

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

// driverCommand returns the group of commands svc driver.
func driverCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("driver", "Drivers of a tenant", driverAdd(c), driverList(c), driverEdit(c))
}

// statuses has the statuses of a driver.
var statuses = []string{driver.Offline, driver.Online, driver.Busy}

// driverFlags adds the flags of a driver to a command. The returned edits apply those
// flags to a driver.
func driverFlags(cmd *cobra.Command) *cli.Edits[driver.Record] {
	e := &cli.Edits[driver.Record]{Cmd: cmd}
	cmd.Annotations = map[string]string{cli.StatusWords: strings.Join(statuses, " ")}
	e.Field("first", "first `name`", func(r *driver.Record) any { return &r.FirstName })
	e.Field("last", "last `name`", func(r *driver.Record) any { return &r.LastName })
	e.Field("phone", "phone `number`", func(r *driver.Record) any { return &r.Phone })
	e.Field("photo", "https `URL`", func(r *driver.Record) any { return &r.PhotoURL })
	e.Field("plate", "the vehicle's `plate`", func(r *driver.Record) any { return &r.VehiclePlate })
	e.Field("model", "the vehicle's `model`", func(r *driver.Record) any { return &r.VehicleModel })
	e.Field("color", "the vehicle's `color`", func(r *driver.Record) any { return &r.VehicleColor })
	types := cmd.Flags().StringSlice("services", nil,
		"service types that the driver takes by dispatch, as `IDS` with commas; empty is all")
	e.Step("services", func(r *driver.Record) error {
		r.ServiceTypeIDs = *types
		return nil
	})
	e.Field("status", "OFFLINE, ONLINE or BUSY", func(r *driver.Record) any { return &r.Status })
	e.Field("rating", "0 to 5", func(r *driver.Record) any { return &r.Rating })
	e.Field("lat", "last known latitude, `degrees`", func(r *driver.Record) any { return &r.CurrentLat })
	e.Field("lng", "last known longitude, `degrees`", func(r *driver.Record) any { return &r.CurrentLng })
	for _, flag := range []string{"lat", "lng"} {
		e.Step(flag, func(r *driver.Record) error {
			r.LocationUpdatedAt = timestamp.Ptr(cli.By().At)
			return nil
		})
	}
	return e
}

// driverAdd returns the command svc driver add.
func driverAdd(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG EMAIL", Short: "Add a driver",
		Example: "  svc driver add metro driver4@metro.example --first Lena --last Fischer \\\n" +
			"    --plate MTR-2201 --model 'Kia Niro' --color Blue"}
	e, hash := driverFlags(cmd), newPassword(cmd)
	cmd.RunE = addPerson(c, "driver", authz.Driver, hash, func(ctx context.Context, t table.Tenant, address,
		hashed string) (added, error) {
		r := driver.Record{Driver: driver.Driver{Email: address}}
		if err := e.Apply(&r); err != nil {
			return added{}, err
		}
		r, err := driver.Create(ctx, t, cli.By(), r, hashed)
		return added{ID: r.ID, Email: r.Email}, err
	})
	return cmd
}

// driverList returns the command svc driver list.
func driverList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List drivers, newest first",
		Annotations: map[string]string{cli.StatusWords: strings.Join(statuses, " ")},
		Example:     "  svc driver list metro --status ONLINE"}
	status, limit := cmd.Flags().String("status", "",
		"only drivers with this `STATUS`: OFFLINE, ONLINE or BUSY"), cmd.Flags().Int("limit", 100, "drivers at most")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if err := cli.OneOf("status", *status, statuses); err != nil {
			return err
		}
		_, t, err := c.At(ctx, args[0])
		if err != nil {
			return err
		}
		return cli.List(ctx, c, t, *limit, "NAME EMAIL STATUS PLATE TRIPS DISABLED ID+", func(r driver.Record) []any {
			return []any{r.FirstName + " " + r.LastName, r.Email, r.Status, r.VehiclePlate, r.TotalTrips, r.Disabled, r.ID}
		}, func(ctx context.Context, t table.Tenant, after string, limit int) ([]driver.Record, string, error) {
			return driver.List(ctx, t, *status, after, limit)
		})
	})
	return cmd
}

// driverEdit returns the command svc driver edit, which changes a driver.
func driverEdit(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "edit SLUG EMAIL|ID", Short: "Change a driver",
		Example: "  svc driver edit metro driver1@metro.example --status OFFLINE\n  svc driver edit metro " +
			"driver1@metro.example --disable"}
	return driverFlags(cmd).Account(c, cli.Account[driver.Record]{Kind: "driver", Find: cli.FindDriver,
		Change: driver.Store.Change,
		Fields: func(r *driver.Record) (*string, *string, *bool) { return &r.ID, &r.Email, &r.Disabled }})
}

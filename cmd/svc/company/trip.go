package company

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/pkg/base/ids"
	"svc/pkg/domain/trip"
)

// tripCommand returns the group of commands svc trip.
func tripCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("trip", "Trips: list, show, and change for a rider or driver who cannot", tripMove(c), tripBook(c))
}

// steps maps a status to the id of the API operation that moves a trip to this status
// (svc trip move).
var steps = map[string]string{string(trip.Assigned): "svc_assign_trip",
	string(trip.DriverArrived): "svc_arrive_for_driver", string(trip.InProgress): "svc_start_for_driver",
	string(trip.Completed): "svc_complete_for_driver"}

// movable lists the statuses that svc trip move accepts (the keys of steps), in the order
// of a ride.
var movable = []string{string(trip.Assigned), string(trip.DriverArrived), string(trip.InProgress),
	string(trip.Completed)}

// tripMove returns the command svc trip move, which moves a trip to the next status for
// its driver.
func tripMove(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "move SLUG ID|CODE STATUS", Short: "Take a trip's next step for its driver",
		Annotations: map[string]string{cli.StatusWords: strings.Join(movable, " ")},
		Long: "Take a trip's next step for its driver, by the rules of the API. The statuses are, in order, ASSIGNED,\n" +
			"DRIVER_ARRIVED, IN_PROGRESS and COMPLETED. ASSIGNED needs --driver. Settlement settles a completed trip\n" +
			"as usual. The trip's log and the audit log name you.",
		Example: "  svc trips move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K ASSIGNED \\\n    --driver driver1@metro.example\n" +
			"  svc trips move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K COMPLETED"}
	who := cmd.Flags().String("driver", "", "the driver to assign, by mail `address` or id")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if err := cli.Known("status", args[2], movable); err != nil {
			return err
		}
		if (args[2] == string(trip.Assigned)) != (*who != "") {
			return cli.Usagef("ASSIGNED needs --driver, and no other status allows it")
		}
		body := map[string]any{}
		if *who != "" {
			_, t, err := c.At(ctx, args[0])
			if err != nil {
				return err
			}
			if body["driverId"], err = operation.Identified(ctx, t, ids.Driver, *who); err != nil {
				return err
			}
		}
		return operation.Perform(ctx, c, steps[args[2]], args, body)
	})
	return cmd
}

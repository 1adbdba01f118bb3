package main

import (
	"context"

	"github.com/spf13/cobra"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

func tripCommand(c *cli) *cobra.Command {
	return group("trip", "Trips: list, show, and change for a rider or driver who cannot", c.tripMove(), c.tripBook())
}

// steps are the operations of svc trip move, by the status that they set.
var steps = map[string]string{string(trip.Assigned): "svc_assign_trip",
	string(trip.DriverArrived): "svc_arrive_for_driver", string(trip.InProgress): "svc_start_for_driver",
	string(trip.Completed): "svc_complete_for_driver"}

// movable are the statuses of steps, in the order of a ride.
var movable = []string{string(trip.Assigned), string(trip.DriverArrived), string(trip.InProgress),
	string(trip.Completed)}

func (c *cli) tripMove() *cobra.Command {
	cmd := &cobra.Command{Use: "move SLUG ID|CODE STATUS", Short: "Take a trip's next step for its driver",
		Long: "Take a trip's next step for its driver, by the rules of the API. The statuses are, in order, ASSIGNED,\n" +
			"DRIVER_ARRIVED, IN_PROGRESS and COMPLETED. ASSIGNED needs --driver. Settlement settles a completed trip\n" +
			"as usual. The trip's log and the audit log name you.",
		Example: "  svc trips move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K ASSIGNED \\\n    --driver driver1@metro.example\n" +
			"  svc trips move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K COMPLETED"}
	who := cmd.Flags().String("driver", "", "the driver to assign, by mail `address` or id")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if err := known("status", args[2], movable); err != nil {
			return err
		}
		if (args[2] == string(trip.Assigned)) != (*who != "") {
			return usagef("ASSIGNED needs --driver, and no other status allows it")
		}
		body := map[string]any{}
		if *who != "" {
			_, t, err := c.at(ctx, args[0])
			if err != nil {
				return err
			}
			if body["driverId"], err = identified(ctx, t, ids.Driver, *who); err != nil {
				return err
			}
		}
		return c.perform(ctx, steps[args[2]], args, body)
	})
	return cmd
}

// wordsOf converts values of a string type to strings.
func wordsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// readTrip reads a trip by its id, or by its code if it is one of the newest
// trips. It also returns the trip's item, which a transition replaces.
func readTrip(ctx context.Context, t table.Tenant, id string) (table.Item, trip.Trip, error) {
	if len(id) == codeLength {
		found, err := byCode(id, func(t trip.Trip) (string, string) { return t.TripCode, t.ID },
			func(after string, limit int) ([]trip.Trip, string, error) {
				return trip.Recent(ctx, t, trip.Filter{}, after, limit)
			})
		if err != nil {
			return table.Item{}, trip.Trip{}, err
		}
		id = found
	}
	it, err := t.Get(ctx, trip.Key(t, id))
	if err == nil && !it.Found() {
		err = missing(fault.NotFound(), "trip", id)
	}
	if err != nil {
		return it, trip.Trip{}, err
	}
	one, err := trip.FromItem(it)
	return it, one, err
}

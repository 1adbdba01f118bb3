package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// intervene returns a trip store for changes by a platform operator. Each
// transaction contains an audit entry, and the trip's log names the operator.
// before is set to the status from which the trip was changed.
func intervene(t table.Tenant, writeShards int, before *trip.Status) trip.Store {
	audited := trip.Audited(t, by())
	return trip.Store{Tenant: t, WriteShards: writeShards, Now: time.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) },
		Also: func(tx *table.Tx, was, next trip.Trip, answer any) {
			*before = was.Status
			audited(tx, was, next, answer)
		}}
}

func (c *cli) tripCancel() *cobra.Command {
	cmd := &cobra.Command{Use: "cancel SLUG ID", Short: "Cancel a trip for its rider",
		Long:    "Cancel a trip for its rider, by the rules of the API. The trip's log and the audit log name you.",
		Example: "  svc trip cancel metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --reason 'The driver had an accident'"}
	fee := cmd.Flags().Bool("fee", false, "the rider owes the company's cancellation fee")
	reason := cmd.Flags().String("reason", "", "`text` for the rider and the trip's log; required")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if *reason == "" {
			return usagef("--reason is missing: say why the trip is cancelled")
		}
		return c.moveTrip(ctx, args, func(ctx context.Context, s trip.Store, it table.Item, was trip.Trip) error {
			_, err := s.CancelFor(ctx, it, trip.ByOperator(by().Who), reason, *fee)
			return err
		})
	})
	return cmd
}

// moveTrip makes one transition of a trip and shows the trip after it.
func (c *cli) moveTrip(ctx context.Context, args []string,
	move func(context.Context, trip.Store, table.Item, trip.Trip) error) error {
	p, err := c.platform(ctx)
	if err != nil {
		return err
	}
	n, t, err := p.tenant(ctx, args[0])
	if err != nil {
		return err
	}
	it, was, err := readTrip(ctx, t, args[1])
	if err != nil {
		return err
	}
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return err
	}
	before := was.Status
	s := intervene(t, n.WriteShards, &before)
	s.Strict = tenant.Strict(flags)
	if err := move(ctx, s, it, was); err != nil {
		return err
	}
	_, now, err := readTrip(ctx, t, was.ID)
	if err != nil {
		return err
	}
	return c.done(now, "Trip %s is %s now. It was %s.", now.ID, string(now.Status), string(before))
}

// movable are the statuses that svc trip move can set, in the order of a ride.
var movable = []string{string(trip.Assigned), string(trip.DriverArrived), string(trip.InProgress),
	string(trip.Completed)}

func (c *cli) tripMove() *cobra.Command {
	cmd := &cobra.Command{Use: "move SLUG ID STATUS", Short: "Take a trip's next step for its driver",
		Long: "Take a trip's next step for its driver, by the rules of the API. The statuses are, in order, ASSIGNED,\n" +
			"DRIVER_ARRIVED, IN_PROGRESS and COMPLETED. ASSIGNED needs --driver. Settlement settles a completed trip\n" +
			"as usual. The trip's log and the audit log name you.",
		Example: "  svc trip move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K ASSIGNED \\\n    --driver driver1@metro.example\n" +
			"  svc trip move metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K COMPLETED"}
	who := cmd.Flags().String("driver", "", "the driver to assign, by mail `address` or id")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if err := known("status", args[2], movable); err != nil {
			return err
		}
		if (args[2] == string(trip.Assigned)) != (*who != "") {
			return usagef("ASSIGNED needs --driver, and no other status allows it")
		}
		return c.moveTrip(ctx, args, func(ctx context.Context, s trip.Store, it table.Item, was trip.Trip) error {
			return step(ctx, s, it, was, trip.Status(args[2]), *who)
		})
	})
	return cmd
}

// assign gives the trip to a driver, by mail address or id.
func assign(ctx context.Context, s trip.Store, it table.Item, who string) error {
	one, err := findDriver(ctx, s.Tenant, who)
	if err != nil {
		return err
	}
	if one.Disabled {
		return fmt.Errorf("driver %s is disabled; enable the driver first: svc driver edit … --enable", one.ID)
	}
	_, err = s.Assign(ctx, it, trip.ByOperator(by().Who), one.ID)
	return err
}

func step(ctx context.Context, s trip.Store, it table.Item, was trip.Trip, to trip.Status, who string) (err error) {
	by := trip.ByOperator(by().Who)
	if to == trip.Assigned {
		return assign(ctx, s, it, who)
	}
	if was.DriverID == nil {
		return errors.New("the trip has no driver yet; move it to ASSIGNED first")
	}
	switch to {
	case trip.DriverArrived:
		_, err = s.Arrive(ctx, it, by)
	case trip.InProgress:
		_, err = s.Start(ctx, it, by)
	default:
		_, err = s.Complete(ctx, it, by, trip.Measured{})
	}
	return err
}

func (c *cli) tripComplete() *cobra.Command {
	cmd := &cobra.Command{Use: "complete SLUG ID", Short: "Complete a trip for its driver",
		Long: "Complete a trip that is IN_PROGRESS for its driver, by the rules of the API. Without --fare the fare\n" +
			"follows from the prices and the measured values, else it is the estimate. The driver of the trip is paid.\n" +
			"The trip's log and the audit log name you.",
		Example: "  svc trip complete metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --fare 18.50 --distance 6.4"}
	var fare, distance, duration string
	cmd.Flags().StringVar(&fare, "fare", "", "the final fare, an `amount` in currency units")
	cmd.Flags().StringVar(&distance, "distance", "", "measured `kilometres`")
	cmd.Flags().StringVar(&duration, "duration", "", "measured `seconds`")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		return c.moveTrip(ctx, args, func(ctx context.Context, s trip.Store, it table.Item, was trip.Trip) error {
			flags, err := tenant.Flags(ctx, s.Tenant)
			if err != nil {
				return err
			}
			m, err := trip.Measurements{FinalFare: optional(fare), ActualDistance: optional(distance),
				ActualDuration: optional(duration)}.Measured(was.Currency, json.Number(flags.Text("maxFare")))
			if err == nil {
				_, err = s.Complete(ctx, it, trip.ByOperator(by().Who), m)
			}
			return err
		})
	})
	return cmd
}

// optional returns the number of a flag, nil if it is not given.
func optional(text string) *json.Number {
	if text == "" {
		return nil
	}
	n := json.Number(text)
	return &n
}

func (c *cli) tripHandOver() *cobra.Command {
	cmd := &cobra.Command{Use: "hand-over SLUG ID", Short: "Give a trip to a driver, or to another driver",
		Long: "Give a trip to a driver who need not accept it. A trip that is ASSIGNED or DRIVER_ARRIVED leaves the\n" +
			"driver who had it. The trip's log and the audit log name you.",
		Example: "  svc trip hand-over metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --driver driver2@metro.example"}
	who := cmd.Flags().String("driver", "", "the new driver, by mail `address` or id; required")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if *who == "" {
			return usagef("--driver is missing: say who gets the trip")
		}
		return c.moveTrip(ctx, args, func(ctx context.Context, s trip.Store, it table.Item, _ trip.Trip) error {
			return assign(ctx, s, it, *who)
		})
	})
	return cmd
}

func (c *cli) tripUnassign() *cobra.Command {
	cmd := &cobra.Command{Use: "unassign SLUG ID", Short: "Take a trip from its driver",
		Long:    "Take a trip from its driver. It is SEARCHING then. The trip's log and the audit log name you.",
		Example: "  svc trip unassign metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K \\\n    --reason 'The car broke down'"}
	reason := cmd.Flags().String("reason", "", "`text` for the trip's log")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		return c.moveTrip(ctx, args, func(ctx context.Context, s trip.Store, it table.Item, _ trip.Trip) error {
			_, err := s.Unassign(ctx, it, trip.ByOperator(by().Who), given(*reason))
			return err
		})
	})
	return cmd
}

// given returns the text of a flag, nil if it is empty.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (c *cli) tripDelete() *cobra.Command {
	return &cobra.Command{Use: "delete SLUG ID", Short: "Delete a trip that no driver had, or that is cancelled",
		Long: "Delete a trip that is cancelled, or that no driver ever had. It is gone from all lists and reports.\n" +
			"The audit log names you.",
		Example: "  svc trip delete metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			it, was, err := readTrip(ctx, t, args[1])
			if err != nil {
				return err
			}
			var before trip.Status
			gone, err := intervene(t, 1, &before).Delete(ctx, it, by())
			if err != nil {
				return err
			}
			return c.done(gone, "Trip %s is deleted.", was.ID)
		})}
}

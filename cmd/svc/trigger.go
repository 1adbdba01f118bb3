package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
)

// tripSteps are the steps of a ride after which the feed has an event of the type.
var tripSteps = map[string][]trip.Status{
	"trip.requested": nil, "trip.cancelled": {trip.Cancelled}, "trip.accepted": {trip.Assigned},
	"trip.unassigned": {trip.Assigned, trip.Searching}, "trip.arrived": {trip.Assigned, trip.DriverArrived},
	"trip.started":   {trip.Assigned, trip.DriverArrived, trip.InProgress},
	"trip.completed": {trip.Assigned, trip.DriverArrived, trip.InProgress, trip.Completed},
	"trip.settled":   {trip.Assigned, trip.DriverArrived, trip.InProgress, trip.Completed},
	"wallet.posted":  {trip.Assigned, trip.DriverArrived, trip.InProgress, trip.Completed},
}

func triggerCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "trigger SLUG TYPE", Short: "Make a change that produces an event, to try a receiver",
		Long: "Make a real change that produces an event of the type: a ride of the tenant's first rider and driver, or\n" +
			"a driver who goes online. For types that it has no change for, it sends a test event to each enabled\n" +
			"endpoint; a test event is in no feed. It works in a sandbox, and in any tenant of svc dev.",
		Example: "  svc trigger metro trip.completed\n  svc trigger metro driver.status_changed"}
	cmd.RunE = c.in(func(ctx context.Context, p platform, t table.Tenant, args []string) error {
		if !event.Known(args[1]) {
			return usagef("%s is not a type of event; svc events shows some, docs/events.md all", args[1])
		}
		flags, err := tenant.Flags(ctx, t)
		if err != nil {
			return err
		}
		if p.data == "" && !tenant.IsSandbox(flags) {
			return fmt.Errorf("%s is no sandbox. svc trigger makes rides that never happened, so it works in a sandbox "+
				"and in svc dev only", args[0])
		}
		what, err := trigger(ctx, t, flags, args[1])
		if err != nil {
			return err
		}
		return c.done(map[string]string{"type": args[1], "changed": what}, "%s comes from %s.", args[1], what)
	})
	return cmd
}

// trigger makes the change, and returns what it changed.
func trigger(ctx context.Context, t table.Tenant, flags table.Item, kind string) (string, error) {
	steps, isTrip := tripSteps[kind]
	if !isTrip && kind != "driver.status_changed" {
		return triggerTest(ctx, t, kind, !tenant.IsSandbox(flags))
	}
	drivers, _, err := driver.List(ctx, t, "", "", 50)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(drivers, func(d driver.Record) bool { return !d.Disabled && d.Status != driver.Busy })
	if i < 0 {
		return "", fmt.Errorf("the tenant has no driver who is free; add one: svc driver add")
	}
	if isTrip {
		return triggerTrip(ctx, t, flags, drivers[i].ID, steps)
	}
	_, err = driver.Change(ctx, t, by(), drivers[i].ID, func(r *driver.Record) error {
		if r.Status == driver.Online {
			r.Status = driver.Offline
		} else {
			r.Status = driver.Online
		}
		return nil
	})
	return "driver " + drivers[i].ID, err
}

// triggerTrip makes a ride and takes its steps.
func triggerTrip(ctx context.Context, t table.Tenant, flags table.Item, driverID string,
	steps []trip.Status) (string, error) {
	riders, _, err := customer.List(ctx, t, "", 1)
	if err != nil {
		return "", err
	}
	if len(riders) == 0 {
		return "", fmt.Errorf("the tenant has no rider; add one: svc rider add")
	}
	fare, terms := json.Number("12.50"), trip.Terms{Currency: flags.Text("currency")}
	terms.Fare, terms.Settings.Payments.Cash, terms.Settings.Dispatch.Mode = &fare, true, settings.Manual
	one, err := trip.Ride{OriginAddress: "svc trigger", OriginLat: "40.7128", OriginLng: "-74.006"}.
		New(riders[0].ID, terms, time.Now())
	if err != nil {
		return "", err
	}
	var before trip.Status
	s := intervene(t, max(1, int(flags.Int("writeShards"))), &before)
	s.Strict = tenant.Strict(flags)
	if _, err := s.Create(ctx, one, flags); err != nil {
		return "", err
	}
	for _, to := range steps {
		s.Now = time.Now()
		it, was, err := readTrip(ctx, t, one.ID)
		if err != nil {
			return "", err
		}
		reason := "svc trigger"
		switch to {
		case trip.Cancelled:
			_, err = s.Cancel(ctx, it, trip.ByOperator(by().Who), &reason)
		case trip.Searching:
			_, err = s.Unassign(ctx, it, trip.ByOperator(by().Who), &reason)
		default:
			err = step(ctx, s, it, was, to, driverID)
		}
		if err != nil {
			return "", err
		}
	}
	return "trip " + one.ID, nil
}

// triggerTest sends a test event to each enabled endpoint.
func triggerTest(ctx context.Context, t table.Tenant, kind string, live bool) (string, error) {
	book, err := webhooksOf(ctx, t)
	if err != nil {
		return "", err
	}
	e, sent := event.Sample(kind, live, time.Now()), 0
	for _, r := range book.Endpoints {
		if r.Status == webhook.Enabled {
			if err := ask(ctx, t, r, "test", webhook.Request{Test: &e}); err != nil {
				return "", err
			}
			sent++
		}
	}
	if sent == 0 {
		return "", fmt.Errorf("svc has no change for %s, and the tenant has no enabled webhook endpoint for a test event",
			kind)
	}
	return "a test event", nil
}

package dev

import (
	"context"
	"time"

	"svc/cmd/svc/cli"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// move takes one step of a ride. it is the item of the trip, and was is the trip before
// the step.
type move func(ctx context.Context, g *riding, it table.Item, was trip.Trip) error

// riding is a ride that svc trigger makes. driver is the id of its driver.
type riding struct {
	*trigger
	trip.Store
	driver string
}

// The steps of rides. In the service, dispatch takes some of them, such as searching.
// Here they are changes by the system.
var (
	assigned = stepTo(trip.Assigned)
	arrived  = stepTo(trip.DriverArrived)
	started  = stepTo(trip.InProgress)
	ridden   = stepTo(trip.Completed)
	driven   = []move{assigned, arrived, started, ridden}

	searching = change(func(t trip.Trip, g *riding) (trip.Trip, error) { return t.Search(trip.BySystem(), g.Now) })
	collected = change(func(t trip.Trip, g *riding) (trip.Trip, error) { return t.Collect(trip.BySystem(), g.Now) })
	isDue     = change(func(t trip.Trip, g *riding) (trip.Trip, error) { return t.Due(trip.BySystem(), g.Now) })
	unheard   = change(func(t trip.Trip, g *riding) (trip.Trip, error) {
		return t.Unanswered(trip.BySystem(), "svc trigger", g.Now)
	})
	offered = change(func(t trip.Trip, g *riding) (trip.Trip, error) {
		return t.Note(trip.EventOffered, trip.BySystem(), trip.LogData{DriverID: &g.driver}, g.Now), nil
	})
	refusing = change(func(t trip.Trip, g *riding) (trip.Trip, error) {
		return t.Note(trip.EventDeclined, trip.ByDriver(g.driver), trip.LogData{DriverID: &g.driver}, g.Now), nil
	})
	rating = change(func(t trip.Trip, g *riding) (trip.Trip, error) {
		return t.Rate(trip.ByRider(t.CustomerID), 5, nil, g.Now)
	})
)

// rideSteps has, by event type, the steps of a ride after which the feed has an event of
// that type.
var rideSteps = map[string][]move{
	"trip.requested": nil, "trip.searching": {searching}, "trip.collecting_offers": {searching, collected},
	"trip.offered": {searching, offered}, "trip.declined": {searching, offered, refusing},
	"trip.unanswered": {searching, unheard}, "trip.accepted": {assigned}, "trip.unassigned": {assigned, unassigning},
	"trip.arrived": {assigned, arrived}, "trip.started": {assigned, arrived, started}, "trip.completed": driven,
	"trip.settled": driven, "trip.cancelled": {cancelling}, "trip.rated": append(driven[:4:4], rating),
	"trip.corrected": append(driven[:4:4], correcting), "trip.deleted": {deletedTrip},
}

// laterSteps has, by event type, the steps of a ride that is booked for later (see
// rideSteps).
var laterSteps = map[string][]move{"trip.scheduled": nil, "trip.due": {isDue}}

// stepTo returns the step that moves a trip to the status in the place of its driver, as
// the command svc trip move does.
func stepTo(to trip.Status) move {
	return func(ctx context.Context, g *riding, it table.Item, _ trip.Trip) (err error) {
		switch by := trip.ByOperator(cli.By().Who); to {
		case trip.Assigned:
			_, err = g.Assign(ctx, it, by, g.driver)
		case trip.DriverArrived:
			_, err = g.Arrive(ctx, it, by)
		case trip.InProgress:
			_, err = g.Start(ctx, it, by)
		default:
			_, err = g.Complete(ctx, it, by, trip.Measured{})
		}
		return err
	}
}

// change returns the step that replaces the trip by the result of how.
func change(how func(trip.Trip, *riding) (trip.Trip, error)) move {
	return func(ctx context.Context, g *riding, it table.Item, _ trip.Trip) error {
		_, err := g.Change(ctx, it, func(t trip.Trip) (trip.Trip, error) { return how(t, g) })
		return err
	}
}

// unassigning is the step that takes the driver off the trip.
func unassigning(ctx context.Context, g *riding, it table.Item, _ trip.Trip) error {
	_, err := g.Unassign(ctx, it, trip.ByOperator(cli.By().Who), new("svc trigger"))
	return err
}

// cancelling is the step that cancels the trip.
func cancelling(ctx context.Context, g *riding, it table.Item, _ trip.Trip) error {
	_, err := g.Cancel(ctx, it, trip.ByOperator(cli.By().Who), new("svc trigger"))
	return err
}

// deletedTrip is the step that deletes the trip.
func deletedTrip(ctx context.Context, g *riding, it table.Item, _ trip.Trip) error {
	_, err := g.Delete(ctx, it, cli.By())
	return err
}

// correcting is the step that waits until settlement has issued the receipt, and then
// corrects the fare.
func correcting(ctx context.Context, g *riding, it table.Item, was trip.Trip) error {
	err := await(ctx, "the settlement", func() (bool, error) {
		issued, err := g.t.Get(ctx, receipt.Key(g.t, was.ID))
		return issued.Found(), err
	})
	if err != nil {
		return err
	}
	s, err := ledger(ctx, g.t)
	if err == nil {
		_, err = s.Correct(ctx, it, receipt.Fare{FinalFare: "11.00", Reason: "svc trigger"})
	}
	return err
}

// intervene returns a trip store for changes by the operator of the platform. Each
// transaction contains an audit entry, and the log of the trip names the operator. Each
// change sets *before to the status that the trip had.
func intervene(t table.Tenant, writeShards int, before *trip.Status) trip.Store {
	audited := trip.Audited(t, cli.By())
	return trip.Store{Tenant: t, WriteShards: writeShards, Now: time.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) },
		Also: func(tx *table.Tx, was, next trip.Trip, answer any) {
			*before = was.Status
			audited(tx, was, next, answer)
		}}
}

// ride creates a trip for a rider and takes the steps. If isLater is true, the trip is
// booked for an hour later instead. ride returns "trip" and the id.
func (g *trigger) ride(ctx context.Context, steps []move, isLater bool) (string, error) {
	rider, err := g.aRider(ctx)
	if err != nil {
		return "", err
	}
	d, err := g.aDriver(ctx)
	if err != nil {
		return "", err
	}
	fare, terms := money.Amount("12"), trip.Terms{Currency: g.flags.Text("currency")}
	terms.Fare, terms.Settings.Payments.Cash, terms.Settings.Dispatch.Mode = &fare, true, settings.Manual
	one, err := trip.Ride{OriginAddress: "svc trigger", OriginLat: "40.7128", OriginLng: "-74.006"}.
		New(rider.ID, terms, time.Now())
	if err != nil {
		return "", err
	}
	if isLater {
		one.Status, one.ScheduledFor = trip.Scheduled, new(timestamp.Format(time.Now().Add(time.Hour)))
		one = one.Note(trip.EventBooked, trip.ByOperator(cli.By().Who), trip.LogData{}, time.Now())
	}
	var before trip.Status
	s := intervene(g.t, max(1, int(g.flags.Int("writeShards"))), &before)
	s.Flags = g.flags
	if _, err := s.Create(ctx, one, g.flags); err != nil {
		return "", err
	}
	r := &riding{trigger: g, Store: s, driver: d.ID}
	for _, take := range steps {
		r.Now = time.Now()
		it, was, err := cli.ReadTrip(ctx, g.t, one.ID)
		if err == nil {
			err = take(ctx, r, it, was)
		}
		if err != nil {
			return "", err
		}
	}
	return "trip " + one.ID, nil
}

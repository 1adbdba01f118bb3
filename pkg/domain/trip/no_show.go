package trip

import (
	"context"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
)

// NoShowReason is the cancelReason of a trip whose rider did not come.
const NoShowReason = "no_show"

// missing is the transition of a trip whose rider did not come, made by the driver or by an
// operator for the driver. The trip becomes CANCELLED, because clients would not know a
// new status.
var missing = transition{EventCancelled, "ended as a no-show", []Status{DriverArrived}, Cancelled}

// NoShow ends the trip because the rider did not come during the free waiting time. free
// is the company's free waiting time, for a trip that has no prices of its own. The rider
// owes the trip's NoShowFee, or its CancellationFee if that is nil, unless waived is
// true. Errors: as drive, and a 409 that says until when waiting is free.
func (t Trip) NoShow(by LogActor, now time.Time, free time.Duration, waived bool) (Trip, error) {
	next, err := t.drive(missing, by, now)
	if err != nil {
		return next, err
	}
	if prices, ok := t.Prices.Prices(); ok {
		free = waiting(prices.Free)
	}
	since, ok := t.waitsSince()
	if until := since.Add(free); ok && now.Before(until) {
		return next, fault.InvalidState("The rider may come until %s: waiting is free for %d minutes. Try again then.",
			timestamp.Format(until), int(free.Minutes()))
	}
	reason := NoShowReason
	next.CancelReason = &reason
	next.Operators = with(next.Operators, EventCancelled, by.ID) // else Log names the rider as the actor
	if t.NoShowFee != nil {
		next.CancellationFee = t.NoShowFee
	}
	if next.NoShowFee = nil; waived || next.CancellationFee != nil && *next.CancellationFee == "0" {
		next.CancellationFee = nil
	}
	return next, nil
}

// NoShow ends the trip of a rider who did not come; see Trip.NoShow. it is the trip's item.
func (s Store) NoShow(ctx context.Context, it table.Item, by LogActor, free time.Duration, waived bool) (*Stopped,
	error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.NoShow(by, s.Now, free, waived) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// FreeWaiting returns for how long a driver of the company waits for a rider free of charge.
func FreeWaiting(d settings.Document) time.Duration {
	return waiting(d.Pricing.FreeWaitingMinutes)
}

// waiting returns minutes as a duration. It takes at most a million minutes, because the
// settings have no maximum and a duration could overflow.
func waiting(minutes int) time.Duration { return time.Duration(min(minutes, 1_000_000)) * time.Minute }

// noShowText describes the endpoints that end a trip as a no-show, for the OpenAPI
// document.
const noShowText = "From `DRIVER_ARRIVED` to `CANCELLED`, once waiting is no longer free (`pricing.freeWaitingMinutes` " +
	"after the arrival, or after the time for which the ride is booked); before, the response is a 409 that names the " +
	"time. The trip has the `cancelReason` `no_show`, and the rider owes its `noShowFee`, else its `cancellationFee`."

// needNoShow returns the keys of the trip in the path and of the settings.
func needNoShow(t table.Tenant, p api.Peek) []table.Key {
	return append(needTrip(t, p), settings.Key(t))
}

// NoShowInput names a trip whose rider did not come.
type NoShowInput struct {
	ID   string `path:"id" doc:"Identifier of the trip." example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body *struct {
		Waive bool `json:"waive,omitempty" example:"false" doc:"Whether the rider owes nothing."`
	}
}

// noShowInPlace ends a trip as a no-show, by an operator in the driver's place.
func noShowInPlace(ctx context.Context, c *api.Caller, in *NoShowInput) (*Stopped, error) {
	return endAsNoShow(ctx, c, in.ID, in.Body != nil && in.Body.Waive)
}

// noShow ends a trip as a no-show, by its driver.
func noShow(ctx context.Context, c *api.Caller, in *GetInput) (*Stopped, error) {
	return endAsNoShow(ctx, c, in.ID, false)
}

// endAsNoShow ends a trip because its rider did not come; waived means that the rider
// owes nothing.
func endAsNoShow(ctx context.Context, c *api.Caller, id string, waived bool) (*Stopped, error) {
	s, it, err := open(ctx, c, id)
	if err != nil {
		return nil, err
	}
	d, err := settings.Kind.Get(ctx, c.Item, settings.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	return s.NoShow(ctx, it, actor(c), FreeWaiting(d), waived)
}

// noShowFee returns the company's fee for a rider who does not come; nil means that the
// cancellation fee applies.
func (terms Terms) noShowFee() *money.Amount {
	if own := terms.Settings.Pricing.NoShowFee; own != nil {
		return terms.fee(*own)
	}
	return nil
}

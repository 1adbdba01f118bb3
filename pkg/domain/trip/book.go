package trip

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/external"
	"svc/pkg/domain/settings"
	"svc/pkg/edge/api"
)

// How far ahead a trip may be scheduled.
const (
	soonest = 15 * time.Minute
	latest  = 60 * 24 * time.Hour
)

// Booking is an operator's request for a trip of somebody who calls.
type Booking struct {
	CustomerID   string `json:"customerId,omitempty" maxLength:"100" doc:"The rider, who must not be disabled. Either this or phone."`
	Phone        string `json:"phone,omitempty" maxLength:"40" example:"+1 212 555 0190" doc:"The phone number of the rider who calls, with a country code, or as it is dialled in the company's country. A number that no customer has makes a customer."`
	Name         string `json:"name,omitempty" maxLength:"100" example:"Iris Novak" doc:"With phone: the name of a rider who is new. Without it the number is the name."`
	DriverID     string `json:"driverId,omitempty" maxLength:"100" doc:"The driver who gets the trip at once."`
	ScheduledFor string `json:"scheduledFor,omitempty" maxLength:"100" example:"2026-01-31T08:00:00-05:00" doc:"When the rider wants to be picked up, from 15 minutes to 60 days ahead: ISO 8601 with an offset. Not with driverId: assign a driver to the scheduled trip."`
	Ride
	external.Edit
}

// BookInput is the request for a booking.
type BookInput struct {
	Body Booking
}

// Resolve implements huma.Resolver.
func (in *BookInput) Resolve(ctx huma.Context) []error {
	b := in.Body
	errs := (&RideInput{Body: b.Ride}).Resolve(ctx)
	switch {
	case b.CustomerID == "" && b.Phone == "":
		errs = append(errs, &huma.ErrorDetail{Location: "body.customerId", Message: "is required, or phone in its place"})
	case b.CustomerID != "" && b.Phone != "":
		errs = append(errs, &huma.ErrorDetail{Location: "body.phone", Message: "is not possible with customerId"})
	case b.Name != "" && b.Phone == "":
		errs = append(errs, &huma.ErrorDetail{Location: "body.name", Message: "is not possible without phone"})
	}
	if b.DriverID != "" && b.ScheduledFor != "" {
		errs = append(errs, &huma.ErrorDetail{Location: "body.scheduledFor",
			Message: "is not possible with driverId; assign a driver to the scheduled trip"})
	}
	return errs
}

// scheduled returns the time of a scheduled trip, nil without one. Errors: a 400. A time
// needs an offset: a rider who is picked up some hours late has missed the train.
func (b Booking) scheduled(now time.Time) (*string, error) {
	if b.ScheduledFor == "" {
		return nil, nil //nolint:nilnil // neither a time nor an error
	}
	in, err := timestamp.ParseInput(b.ScheduledFor)
	if err != nil {
		return nil, fault.Field("body.scheduledFor", "%v", err)
	}
	at, ok := in.Zoned()
	if !ok {
		return nil, fault.Field("body.scheduledFor", "expected a time with an offset, such as 2026-01-31T08:00:00-05:00")
	}
	if at.Before(now.Add(soonest)) || at.After(now.Add(latest)) {
		return nil, fault.Field("body.scheduledFor", "expected a time from 15 minutes to 60 days ahead; now it is %s",
			timestamp.Format(now))
	}
	return timestamp.Ptr(at), nil
}

func book(ctx context.Context, c *api.Caller, in *BookInput) (*Trip, error) {
	d, err := deskOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if d.Early, err = api.EarlyOf[Early](ctx, c); err != nil {
		return nil, err
	}
	return d.Book(ctx, in.Body)
}

// Early is what a booking reads while the checks are under way.
type Early struct {
	origin settings.Origin
	found  customer.Candidates // who may have the caller's number
}

func readEarly(ctx context.Context, t table.Tenant, p api.Peek) (out Early, err error) {
	group, ctx := panics.WithContext(ctx)
	group.Go(func() (err error) {
		out.origin, err = settings.EarlyOrigin(ctx, t, p)
		return err
	})
	group.Go(func() (err error) {
		out.found, err = customer.CandidatesOf(ctx, t, p.Body("phone"))
		return err
	})
	return out, group.Wait()
}

// Book makes a trip for the rider of a booking. Errors: a 400, or a 409.
func (d Desk) Book(ctx context.Context, b Booking) (*Trip, error) {
	at, err := b.scheduled(d.Now)
	if err != nil {
		return nil, err
	}
	if b.DriverID != "" {
		if err := d.person(ctx, "driverId", ids.Driver, b.DriverID, driver.Key); err != nil {
			return nil, err
		}
	}
	if b.Phone != "" {
		return d.bookCaller(ctx, b, at)
	}
	if err := d.person(ctx, "customerId", ids.Customer, b.CustomerID, customer.Key); err != nil {
		return nil, err
	}
	return d.bookFor(ctx, b, b.CustomerID, at)
}

// bookFor makes a trip for a rider.
func (d Desk) bookFor(ctx context.Context, b Booking, rider string, at *string) (*Trip, error) {
	terms, err := d.terms(ctx, rider, &b.Ride)
	if err != nil {
		return nil, err
	}
	if at != nil && !terms.Settings.Dispatch.ScheduledRides {
		return nil, fault.InvalidState("The company takes no rides for a later time: its setting dispatch.scheduledRides " +
			"is off. Switch it on, or book without scheduledFor.")
	}
	t, err := b.New(rider, terms, d.Now)
	if err != nil {
		return nil, err
	}
	if err := t.Members.Set(b.Edit); err != nil {
		return nil, api.InBody(err)
	}
	if err := terms.Settings.Serves(ctx, d.Tenant, d.Flags, d.Early.origin, t.OriginLat, t.OriginLng); err != nil {
		return nil, err
	}
	if t.EstimatedFare == nil {
		if t.EstimatedFare, err = t.guess(terms); err != nil {
			return nil, err
		}
	}
	return d.create(ctx, t.booked(ByOperator(d.By.Who), b.DriverID, at))
}

// guess estimates the fare by the straight line. It is nil if the trip has no
// prices or no destination, or the fare would be above the company's largest.
func (t Trip) guess(terms Terms) (*money.Amount, error) {
	if t.Prices == "" || t.DestLat == nil {
		return nil, nil
	}
	j, err := estimate.JourneyOf(t.OriginLat, t.OriginLng, t.DestLat, t.DestLng)
	if err != nil {
		return nil, err
	}
	s, err := settings.ServiceKind.FromItem(terms.Service)
	if err != nil {
		return nil, err
	}
	fare := estimate.Straight(s.ServiceType, terms.Settings, j, t.Currency)
	if fare != nil && fare.Decimal().GreaterThan(money.MaxFare(terms.MaxFare, t.Currency).Decimal()) {
		fare = nil // as POST /me/estimates leaves it out
	}
	return fare, nil
}

// booked returns the new trip as the operator booked it: for a driver, for a later
// time, or for neither.
func (t Trip) booked(by LogActor, driver string, at *string) Trip {
	data := LogData{ServiceTypeID: t.ServiceTypeID, ScheduledFor: at}
	switch t.ScheduledFor = at; {
	case driver != "":
		t.Status, t.DriverID, t.AcceptedAt, data.DriverID = Assigned, &driver, &t.RequestedAt, &driver
	case at != nil:
		t.Status = Scheduled
	}
	t.History = []Past{{Event: EventBooked, At: t.RequestedAt, Who: by.ID, To: t.Status, Data: data}}
	return t
}

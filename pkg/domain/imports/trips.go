package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"svc/pkg/base/codec"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// ForTrips reads what an import of trips needs of the company. lock keeps the
// company's currency as it is from now on.
func (g *Target) ForTrips(ctx context.Context, lock bool) error {
	if lock {
		if err := tenant.KeepCurrency(ctx, g.Tenant); err != nil {
			return err
		}
	}
	flags, err := tenant.Flags(ctx, g.Tenant)
	if err != nil {
		return err
	}
	it, err := g.Tenant.Get(ctx, tenant.Key(g.Tenant))
	if err != nil {
		return err
	}
	g.Terms = trip.Terms{Currency: flags.Text("currency"), MaxFare: flags.Amount("maxFare")}
	g.Zone, err = tenant.Zone(it)
	return err
}

// former returns the ride of a row, of a rider and a driver.
func (o Options) former(g Target, cells map[string]string, rider string, driver *string) (trip.Trip, *Fault) {
	text := func(column string) *string {
		if cells[column] == "" {
			return nil
		}
		s := cells[column]
		return &s
	}
	f := trip.Former{Reference: cells["tripId"], Rider: rider, Driver: driver, By: g.By.Who,
		Status: trip.Status(meant(cmp.Or(cells["status"], string(trip.Completed)), statuses))}
	f.OriginAddress, f.DestAddress, f.Notes = cells["originAddress"], text("destAddress"), text("notes")
	f.PaymentType = meant(cmp.Or(cells["paymentType"], "CASH"), payments)
	for column, to := range map[string]**json.Number{"destLat": &f.DestLat, "destLng": &f.DestLng} {
		if cells[column] == "" {
			continue
		}
		n, bad := o.degrees(cells, column)
		if bad != nil {
			return trip.Trip{}, bad
		}
		*to = &n
	}
	var bad *Fault
	if f.Fare, bad = o.fare(g, cells, f.Status); bad != nil {
		return trip.Trip{}, bad
	}
	if f.OriginLat, bad = o.degrees(cells, "originLat"); bad != nil {
		return trip.Trip{}, bad
	}
	if f.OriginLng, bad = o.degrees(cells, "originLng"); bad != nil {
		return trip.Trip{}, bad
	}
	if f.RequestedAt, bad = o.when(g, cells, "requestedAt", time.Time{}); bad != nil {
		return trip.Trip{}, bad
	}
	if cells["completedAt"] != "" {
		at, bad := o.when(g, cells, "completedAt", f.RequestedAt)
		if bad != nil {
			return trip.Trip{}, bad
		}
		if f.Status != trip.Cancelled || at.Unix() != 0 { // other systems write 1970 for no time
			f.CompletedAt = &at
		}
	}
	tr, err := f.New(g.Tenant, g.Terms, g.By.At)
	return tr, faultOf(err, nil)
}

// fare returns the fare of a ride, nil for none. A cancelled ride without a fare may say
// 0. An amount in another currency than the company's is a fault.
func (o Options) fare(g Target, cells map[string]string, status trip.Status) (*money.Amount, *Fault) {
	if code := cells["currency"]; code != "" && !strings.EqualFold(code, g.Terms.Currency) {
		return nil, &Fault{Column: "currency", Code: "invalid", Message: "The company's currency is " + g.Terms.Currency +
			". An amount in another currency cannot be imported."}
	}
	if cells["fare"] == "" {
		return nil, nil
	}
	text, bad := o.number("fare", cells["fare"])
	if bad != nil {
		return nil, bad
	}
	if d, err := money.Parse(text); err == nil && d.IsZero() && status == trip.Cancelled {
		return nil, nil
	}
	return new(money.Amount(text)), nil // the ride checks it
}

// exported compares a row of an export with its trip, which an import does not change.
func (a *applying) exported(ref *reference, tr trip.Trip) *Fault {
	was, err := a.former(a.g, ref.Cells, tr.CustomerID, tr.DriverID)
	differs := err == nil && (was.RequestedAt != tr.RequestedAt || was.Status != tr.Status ||
		codec.OrZero(was.FinalFare) != codec.OrZero(tr.FinalFare))
	if ref.person != "" && ref.person != tr.CustomerID || differs {
		return &Fault{Column: "tripId", Code: "taken", Message: "This is a trip of this service, with another rider, time, " +
			"status or fare. An import does not change it."}
	}
	a.step.Unchanged++
	return nil
}

func (a *applying) trip(ref *reference) (*Fault, error) {
	if read := a.found[trip.Key(a.g.Tenant, ref.Cells["tripId"])]; read.Found() {
		tr, err := trip.FromItem(read)
		if err != nil {
			return nil, err
		}
		return a.exported(ref, tr), nil
	}
	tr, f := a.former(a.g, ref.Cells, ref.person, ref.driver)
	if f != nil {
		return f, nil
	}
	read, claim := a.found[ref.stored], a.found[ref.claim]
	if !read.Found() {
		if claim.Found() && claim.Text("actor") != tr.ID {
			return &Fault{Column: "tripId", Code: "taken", Message: "A trip of this service has this identifier as its " +
				"externalId: " + claim.Text("actor") + "."}, nil
		}
		a.tx.Create(tr.Item(a.g.Tenant, a.g.Shards)).Else(table.ErrConflict)
		if !claim.Found() {
			a.tx.Create(external.Row(ref.claim, tr.ID)).Else(table.ErrConflict)
		}
		a.step.Created++
		a.step.Made = append(a.step.Made, MadeTrip{tr.ID, tr.TripCode})
		return nil, nil
	}
	was, err := trip.FromItem(read)
	if err != nil {
		return nil, err
	}
	if !was.SameFormer(tr) {
		return &Fault{Column: "tripId", Code: "taken", Message: "A ride with this tripId was imported with another rider, " +
			"driver, time, status or fare. Imported rides do not change."}, nil
	}
	a.step.Unchanged++
	return nil, nil
}

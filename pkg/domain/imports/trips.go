package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
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
	g.Terms = trip.Terms{Currency: flags.Text("currency"), MaxFare: json.Number(flags.Text("maxFare"))}
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
		Status: trip.Status(strings.ToUpper(cmp.Or(cells["status"], string(trip.Completed))))}
	f.OriginAddress, f.DestAddress, f.Notes = cells["originAddress"], text("destAddress"), text("notes")
	f.PaymentType = strings.ToUpper(cmp.Or(cells["paymentType"], "CASH"))
	for column, to := range map[string]**json.Number{"destLat": &f.DestLat, "destLng": &f.DestLng, "fare": &f.Fare} {
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
	if f.OriginLat, bad = o.degrees(cells, "originLat"); bad != nil {
		return trip.Trip{}, bad
	}
	if f.OriginLng, bad = o.degrees(cells, "originLng"); bad != nil {
		return trip.Trip{}, bad
	}
	if f.RequestedAt, bad = g.when(cells, "requestedAt"); bad != nil {
		return trip.Trip{}, bad
	}
	if cells["completedAt"] != "" {
		at, bad := g.when(cells, "completedAt")
		if bad != nil {
			return trip.Trip{}, bad
		}
		f.CompletedAt = &at
	}
	tr, err := f.New(g.Tenant, g.Terms, g.By.At)
	return tr, faultOf(err, nil)
}

// when returns the time of a cell. A time without an offset is in the company's
// time zone.
func (g Target) when(cells map[string]string, column string) (time.Time, *Fault) {
	in, err := timestamp.ParseInput(strings.Replace(cells[column], " ", "T", 1))
	if err != nil {
		return time.Time{}, &Fault{Column: column, Code: "invalid", Message: "Expected a time such as " +
			"2026-01-31T08:00:00Z, or 2026-01-31 08:00 in the company's time zone."}
	}
	at, zoned := in.Zoned()
	if !zoned && !in.IsDate() {
		at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), g.Zone)
	} else if !zoned {
		at = in.From(g.Zone)
	}
	return at.Truncate(time.Millisecond), nil
}

// driverKeys returns the keys of the items that lead to the driver of a ride.
func (a *applying) driverKeys(cells map[string]string) (out []table.Key) {
	if id := cells["driverExternalId"]; id != "" {
		out = append(out, indexKey(a.g.Tenant, authz.Driver, "externalId", id))
	}
	if address := cells["driverEmail"]; address != "" {
		out = append(out, login.Key(a.g.Tenant, authz.Driver, address))
	}
	return out
}

func (a *applying) tripKey(cells map[string]string) table.Key {
	return trip.Key(a.g.Tenant, trip.FormerID(a.g.Tenant, cells["tripId"]))
}

// driver returns the identifier of the driver whom a row of a ride names. It returns nil
// if the row names no driver.
func (a *applying) driver(cells map[string]string) (*string, *Fault) {
	keys := a.driverKeys(cells)
	for _, key := range keys {
		id := leadsTo(a.found[key])
		rec := a.found[authz.ActorKey(a.g.Tenant, authz.Driver, id)]
		if id != "" && rec.Found() && !rec.Has("erasedAt") {
			return &id, nil
		}
	}
	if len(keys) > 0 {
		return nil, &Fault{Column: "driverEmail", Code: "unknown", Message: "There is no such driver. Import the drivers " +
			"first, or leave the cell empty."}
	}
	return nil, nil
}

func (a *applying) trip(row Row) (*Fault, error) {
	rider, f := a.rider(row.Cells)
	if f != nil {
		return f, nil
	}
	driver, f := a.driver(row.Cells)
	if f != nil {
		return f, nil
	}
	tr, f := a.former(a.g, row.Cells, rider, driver)
	if f != nil {
		return f, nil
	}
	read := a.found[trip.Key(a.g.Tenant, tr.ID)]
	if !read.Found() {
		a.tx.Create(tr.Item(a.g.Tenant, a.g.Shards)).Else(table.ErrConflict)
		a.step.Created++
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

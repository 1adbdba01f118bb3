package robots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

const (
	late      = 90 * time.Second // an order that was due longer ago is dropped
	least     = 3                // if fewer rides are running, robot riders order more
	leastEach = 10 * time.Second // then one more ride is ordered in each span of this length
)

// order lets robot riders order the rides that are due by the hourly curve (ordered). A
// ride's identifier follows from its time, so no ride is ordered twice.
func (v *view) order(ctx context.Context) error {
	if !v.flags.Flag(authz.Taxi) {
		return nil
	}
	free := v.freeRiders()
	running := len(v.roster.Riders) - len(free)
	var due []time.Time
	minute := v.now.Truncate(time.Minute)
	for _, m := range []time.Time{minute.Add(-time.Minute), minute} {
		for i := range ordered(v.roster, m) {
			at := m.Add(time.Duration(chance(60_000, m.String(), fmt.Sprint(i))) * time.Millisecond)
			if !at.After(v.now) && v.now.Sub(at) < late {
				due = append(due, at)
			}
		}
	}
	if running < least {
		due = append(due, v.now.Truncate(leastEach))
	}
	keys := make([]table.Key, len(due))
	for i, at := range due {
		keys[i] = trip.Key(v.tenant, v.rideID(at))
	}
	there, err := v.tenant.Batch(ctx, keys...)
	if err != nil {
		return err
	}
	for i, at := range due {
		if there[i].Found() || len(free) == 0 {
			continue
		}
		n := chance(len(free), v.rideID(at), "rider")
		if err := v.request(ctx, free[n], at); err != nil && !errors.Is(err, table.ErrCondition) {
			return fmt.Errorf("a robot's ride: %w", err)
		}
		free = slices.Delete(free, n, n+1)
	}
	return nil
}

// rideID returns the identifier of the ride that a robot rider orders for the time at.
func (v *view) rideID(at time.Time) string { return ids.Derived(ids.Trip, at, "robot "+v.tenant.ID()) }

// freeRiders returns the ids of the robot riders without an open trip.
func (v *view) freeRiders() []string {
	return slices.DeleteFunc(slices.Clone(v.roster.Riders), func(id string) bool {
		return slices.ContainsFunc(v.trips, func(t open) bool { return t.CustomerID == id })
	})
}

// request requests a ride as POST /api/v1/me/trips does. when is the time at which the
// ride is due.
func (v *view) request(ctx context.Context, rider string, when time.Time) error {
	id := v.rideID(when)
	from := cornerOf(id)
	to := cornerOf(id + " to")
	for n := 0; from.in(v.roster).metres(to.in(v.roster)) < 800; n++ {
		to = cornerOf(fmt.Sprint(id, " to ", n))
	}
	a, b := from.in(v.roster), to.in(v.roster)
	address, lat, lng := to.address(), degrees(b.lat), degrees(b.lng)
	r := trip.Ride{OriginAddress: from.address(), OriginLat: degrees(a.lat), OriginLng: degrees(a.lng),
		DestAddress: &address, DestLat: &lat, DestLng: &lng, PaymentType: v.pays(id)}
	terms, err := v.terms(ctx, &r, id)
	if err != nil {
		return err
	}
	t, err := r.New(rider, terms, v.now)
	if err != nil {
		return err
	}
	t.ID = id
	if err := v.settings.Serves(ctx, v.tenant, v.flags, settings.Origin{}, t.OriginLat, t.OriginLng); err != nil {
		v.report(ctx, "order", id, err)
		return nil
	}
	_, err = v.store().Create(ctx, t, v.flags)
	return err
}

// pays returns a payment type that the company takes. id is that of the ride.
func (v *view) pays(id string) string {
	p := v.settings.Payments
	if p.Card && (!p.Cash || chance(3, id, "pays") > 0) {
		return "CARD"
	}
	if p.Cash {
		return "CASH"
	}
	return "WALLET"
}

// terms picks one of the company's active service types for the ride, and estimates the
// fare. id is that of the ride.
func (v *view) terms(ctx context.Context, r *trip.Ride, id string) (trip.Terms, error) {
	out := trip.Terms{Currency: v.flags.Text("currency"), Settings: v.settings}
	services, err := settings.Services(ctx, v.tenant)
	if err != nil {
		return out, err
	}
	services = slices.DeleteFunc(services, func(s settings.Service) bool { return !s.Active })
	if len(services) == 0 {
		return out, nil
	}
	s := services[chance(len(services), id, "service")]
	r.ServiceTypeID = &s.ID
	if out.Service, err = v.tenant.Get(ctx, settings.ServiceKey(v.tenant, s.ID)); err != nil {
		return out, err
	}
	j, err := estimate.JourneyOf(r.OriginLat, r.OriginLng, r.DestLat, r.DestLng)
	if err != nil {
		return out, err
	}
	out.Fare = estimate.Straight(s.ServiceType, v.settings, j, out.Currency)
	return out, nil
}

const (
	ratedEach = 15 * time.Second // time between two looks for rides to rate
	rateable  = 10 * time.Minute // robots do not rate a ride that ended longer ago
	recent    = 30               // how many of the newest completed trips rate reads
)

// rate lets robot riders rate most rides that have ended.
func (v *view) rate(ctx context.Context) error {
	items, err := v.inStatus(ctx, recent, trip.Completed)
	if err != nil {
		return err
	}
	for _, it := range items {
		t, err := trip.FromItem(it)
		if err != nil {
			return err
		}
		if t.Rated != 0 || !slices.Contains(v.roster.Riders, t.CustomerID) || v.since(t.CompletedAt) > rateable ||
			chance(6, t.ID, "rates") == 0 {
			continue
		}
		stars := []int{5, 5, 5, 5, 4, 4, 3}[chance(7, t.ID, "stars")]
		_, err = v.store().Change(ctx, it, func(t trip.Trip) (trip.Trip, error) {
			return t.Rate(trip.LogActor{Type: string(authz.Rider), ID: t.CustomerID}, stars, nil, v.now)
		})
		v.report(ctx, "rate", t.ID, err)
	}
	return nil
}

// number returns n, rounded to an integer, as JSON text.
func number[T ~string](n float64) *T { return new(T(fmt.Sprintf("%.0f", n))) }

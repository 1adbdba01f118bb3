package demo

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/fare"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// trips writes the tenant's trips in their current state.
func (l *loader) trips(ctx context.Context, t table.Tenant, p demoTenant) error {
	services := map[int]table.Item{}
	for i, s := range p.Services {
		it, err := t.Get(ctx, settings.ServiceKey(t, s.ID))
		if err != nil {
			return err
		}
		services[i+1] = it
	}
	for i, r := range demo.Rides {
		tr, err := l.ride(p, r, i+1, services[r.Service])
		if err != nil {
			return fmt.Errorf("trip %d: %w", i+1, err)
		}
		if at, err := t.Get(ctx, trip.Key(t, tr.ID)); err != nil {
			return err
		} else if at.Found() {
			continue // an interrupted load wrote the trip; it may have changed since
		}
		if err := t.Load(ctx, tr.Item(t, 1)); err != nil {
			return err
		}
	}
	return nil
}

// ride returns the n-th trip in its final status. It applies the trip package's own
// transitions.
func (l *loader) ride(p demoTenant, r ride, n int, service table.Item) (trip.Trip, error) {
	at := l.now.Add(-r.Ago.Duration - after(n, 1_009, time.Millisecond, 47*time.Second))
	if r.Ago.Duration > time.Hour {
		at = at.Add(-p.Shift.Duration)
	}
	rider, driver := id(ids.Customer, p.Tenant.Slug, r.Rider), id(ids.Driver, p.Tenant.Slug, r.Driver)
	terms := trip.Terms{Currency: p.Tenant.Currency, Service: service, Settings: settings.Document(p.Settings)}
	tr, err := p.request(r, n).New(rider, terms, at)
	if err != nil {
		return trip.Trip{}, err
	}
	tr.ID, tr.TripCode = id(ids.Trip, p.Tenant.Slug, n), code(p.Tenant.Slug, n)
	km, seconds := p.driven(r, n)
	reason := p.Reasons[n%len(p.Reasons)]
	accepted := 15*time.Second + after(n, 13, time.Second, 70*time.Second)
	arrived := accepted + 2*time.Minute + after(n, 37, time.Second, 5*time.Minute)
	started := arrived + 40*time.Second + after(n, 23, time.Second, 100*time.Second)
	for _, step := range []struct {
		done  bool
		after time.Duration
		act   func(trip.Trip, time.Time) (trip.Trip, error)
	}{
		{r.Status != trip.Pending && r.Driver > 0, accepted, func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Accept(driver, at)
		}},
		{reached(r.Status, trip.DriverArrived), arrived, func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Arrive(trip.ByDriver(driver), at)
		}},
		{reached(r.Status, trip.InProgress), started, func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Start(trip.ByDriver(driver), at)
		}},
		{r.Status == trip.Completed, started + time.Duration(seconds.IntPart())*time.Second, func(tr trip.Trip,
			at time.Time) (trip.Trip, error) {
			return tr.Complete(trip.ByDriver(driver), at, measured(p, r, km, seconds))
		}},
		{r.Status == trip.Cancelled, accepted + 2*time.Minute, func(tr trip.Trip, at time.Time) (trip.Trip, error) {
			return tr.Cancel(trip.ByRider(rider), at, &reason)
		}},
	} {
		if !step.done {
			continue
		}
		next, err := step.act(tr, at.Add(step.after))
		if err != nil {
			return trip.Trip{}, err
		}
		next.Version = tr.Version + 1
		tr = next
	}
	return tr, nil
}

// ends returns the spots at which a ride begins and ends.
func (p demoTenant) ends(r ride) (from, to spot) {
	return p.Spots[r.From%len(p.Spots)], p.Spots[r.To%len(p.Spots)]
}

// request returns what the rider asks for in the n-th trip.
func (p demoTenant) request(r ride, n int) trip.Ride {
	from, to := p.ends(r)
	ride := trip.Ride{OriginAddress: from.Address, OriginLat: from.Lat, OriginLng: from.Lng, DestAddress: &to.Address,
		DestLat: &to.Lat, DestLng: &to.Lng,
		PaymentType: r.Pays}
	if r.Pays == "WALLET" && !p.Settings.Payments.Wallet {
		ride.PaymentType = "CARD"
	}
	if r.Service > 0 {
		ride.ServiceTypeID = &p.Services[r.Service-1].ID
	}
	if notes, ok := p.Notes[n]; ok {
		ride.Notes = &notes
	}
	return ride
}

// driven returns the length of the n-th ride in kilometres (a third more than the
// straight line) and its duration in seconds.
func (p demoTenant) driven(r ride, n int) (km, seconds decimal.Decimal) {
	from, to := p.ends(r)
	degrees := func(n json.Number) float64 { x, _ := n.Float64(); return x }
	north := degrees(to.Lat) - degrees(from.Lat)
	east := (degrees(to.Lng) - degrees(from.Lng)) * math.Cos(degrees(from.Lat)*math.Pi/180)
	km = decimal.NewFromFloat(math.Hypot(north, east) * 111.2 * 4 / 3).Round(1)
	pace := 110 + 17*n%60 // seconds per kilometre
	if km.IntPart() > 9 {
		pace = 80 + 7*n%20 // seconds per kilometre by motorway
	}
	return km, km.Mul(decimal.NewFromInt(int64(pace))).Round(0)
}

// reached reports whether a trip with the status now has reached the given status: it is
// at this status or past it.
func reached(now, status trip.Status) bool {
	way := []trip.Status{trip.Assigned, trip.DriverArrived, trip.InProgress, trip.Completed}
	return slices.Index(way, now) >= slices.Index(way, status)
}

// after returns a duration below most, which differs from trip to trip. n is the number of
// the trip. factor and unit give each use of after other durations.
func after(n, factor int, unit, most time.Duration) time.Duration {
	return time.Duration(n*n*factor) * unit % most
}

// measured returns what the driver reports at the end: fare, distance and duration.
func measured(p demoTenant, r ride, km, seconds decimal.Decimal) trip.Measured {
	amount, _ := p.prices(r).Of(fare.Measures{Kilometres: &km, Seconds: &seconds}, p.Tenant.Currency)
	return trip.Measured{FinalFare: money.Ptr(amount), Distance: money.Ptr(km), Duration: money.Ptr(seconds)}
}

// prices returns the prices of the ride's service type. Without a service type a
// kilometre costs 2.
func (p demoTenant) prices(r ride) fare.Prices {
	if r.Service == 0 {
		return fare.Prices{PerKm: "2", Step: p.Settings.Pricing.RoundFareToMultiple}
	}
	return estimate.PricesOf(p.Services[r.Service-1].ServiceType, p.Settings.Pricing)
}

// code returns the code of a trip or an order: eight characters derived from the slug of
// the tenant and the number n.
func code(slug string, n int) string {
	sum := sha256.Sum256([]byte(slug + strconv.Itoa(n)))
	out := make([]byte, 8)
	for i := range out {
		out[i] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[sum[i]%32]
	}
	return string(out)
}

package seed

import (
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// ride is a trip with its receipt and postings.
type ride struct {
	trip     trip.Trip
	receipt  *receipt.Receipt
	postings []posting
}

// posting is an entry of the wallet of a driver or rider.
type posting struct {
	side  wallet.Side
	actor string
	wallet.Entry
}

// act applies a transition, such as accept, to a trip at the time at.
type act func(at time.Time) (trip.Trip, error)

// do applies a transition to the trip, and increments the trip's version.
func (r *ride) do(at time.Time, do act) error {
	next, err := do(at)
	if err != nil {
		return err
	}
	next.Version = r.trip.Version + 1
	r.trip = next
	return nil
}

// request creates a trip that the rider requested at the time at. It also returns the
// distance in tenths of a kilometre, and the rates of the service type, nil without one.
func (g *generator) request(rider *actor, at time.Time) (ride, int64, *rates, error) {
	from, to := g.point(g.rng), g.point(g.rng)
	asked := trip.Ride{OriginAddress: from.address, OriginLat: from.lat, OriginLng: from.lng, DestAddress: &to.address,
		DestLat: &to.lat, DestLng: &to.lng,
		PaymentType: one(g.rng, g.p.Pays)}
	if g.rng.IntN(40) == 0 {
		note := one(g.rng, notes)
		asked.Notes = &note
	}
	tr, err := asked.New(rider.id, trip.Terms{Currency: g.currency, Settings: settings.Default}, at)
	if err != nil {
		return ride{}, 0, nil, err
	}
	tr.ID, tr.TripCode = g.id(ids.Trip, at), g.code()
	var service *rates
	if len(g.p.Services) > 0 && g.rng.IntN(50) > 0 {
		s := one(g.rng, g.p.Services)
		service, tr.ServiceTypeID, tr.CommissionRate = &s, &s.ID, money.Ptr(s.Commission)
	}
	return ride{trip: tr}, tenthsOfKm(from, to), service, nil
}

// seconds returns a random duration from least to most seconds, to the millisecond.
func (g *generator) seconds(least, most int) time.Duration {
	return time.Duration(least*1000+g.rng.IntN((most-least)*1000)) * time.Millisecond
}

// next creates the next finished trip, which is completed or cancelled.
func (g *generator) next() (ride, error) {
	total := g.p.Trips - g.p.open()
	at := g.clock.at((float64(g.made) + g.rng.Float64()) / float64(total))
	g.made++
	rider := g.rider(at)
	r, km, service, err := g.request(rider, at)
	if err != nil {
		return ride{}, err
	}
	fate := g.rng.IntN(100) // below 6: the rider cancels before a driver accepts; below 13: later; else completed
	cancel := func(after time.Duration) error {
		reason := one(g.rng, reasons)
		at = at.Add(after)
		rider.free = at
		return r.do(at, func(at time.Time) (trip.Trip, error) {
			return r.trip.Cancel(trip.ByRider(rider.id), at, &reason)
		})
	}
	if fate < 6 {
		return r, cancel(g.seconds(30, 400))
	}
	driver := g.driver(at)
	if at, err = g.drive(&r, driver, at, fate); err != nil {
		return ride{}, err
	}
	if fate < 13 {
		driver.free = at
		return r, cancel(g.seconds(20, 240))
	}
	riding := time.Duration(km*14+90)*time.Second + g.seconds(0, 240)
	at = at.Add(riding)
	driver.free, rider.free = at, at
	if err := r.do(at, func(at time.Time) (trip.Trip, error) {
		return r.trip.Complete(trip.ByDriver(driver.id), at, g.measured(service, km, riding))
	}); err != nil {
		return ride{}, err
	}
	return r, g.settle(&r, driver, rider, at)
}

// drive applies the driver's transitions: accept, arrive, start. fate is a random number
// below 100; drive stops before the first transition that does not happen at this fate.
// It returns the time of the last transition.
func (g *generator) drive(r *ride, driver *actor, at time.Time, fate int) (time.Time, error) {
	for _, step := range []struct {
		after time.Duration
		do    act
		until int // below this fate, the transition does not happen
	}{
		{g.seconds(8, 120), func(at time.Time) (trip.Trip, error) {
			return r.trip.Accept(driver.id, at)
		}, 0},
		{g.seconds(120, 660), func(at time.Time) (trip.Trip, error) {
			return r.trip.Arrive(trip.ByDriver(driver.id), at)
		}, 10},
		{g.seconds(20, 240), func(at time.Time) (trip.Trip, error) {
			return r.trip.Start(trip.ByDriver(driver.id), at)
		}, 13},
	} {
		if fate < step.until {
			break
		}
		at = at.Add(step.after)
		if err := r.do(at, step.do); err != nil {
			return at, err
		}
	}
	return at, nil
}

// measured returns what the driver reports at the end of a trip. One driver in two hundred
// reports no fare. tenths is the distance in tenths of a kilometre.
func (g *generator) measured(service *rates, tenths int64, riding time.Duration) trip.Measured {
	km, minutes := decimal.New(tenths, -1), decimal.New(int64(riding/time.Second), 0).Div(decimal.New(60, 0))
	fare := km.Mul(decimal.New(2, 0))
	if service != nil {
		fare = decimal.Max(service.Base.Add(service.PerKm.Mul(km)).Add(service.PerMinute.Mul(minutes)), service.Minimum)
	}
	m := trip.Measured{Distance: money.Ptr(km), Duration: money.Ptr(decimal.New(int64(riding/time.Second), 0))}
	if g.rng.IntN(200) > 0 {
		m.FinalFare = money.Ptr(fare.Round(money.Decimals(g.currency)))
	}
	return m
}

// settle gives a completed trip its receipt and postings, by the rules of the package
// receipt, and adds the postings to the wallets of the driver and the rider.
func (g *generator) settle(r *ride, driver, rider *actor, at time.Time) error {
	entries, err := receipt.EntriesOf(r.trip)
	if err != nil {
		return err
	}
	issued, paid := at.Add(g.seconds(0, 1)), timestamp.Format(at)
	issuedReceipt := receipt.Of(r.trip, entries, g.id(ids.Receipt, issued), timestamp.Format(issued), "")
	r.receipt = &issuedReceipt
	post := func(side wallet.Side, a *actor, amount *decimal.Decimal) {
		if amount != nil {
			r.postings = append(r.postings, posting{side, a.id, receipt.PostingOf(r.trip, side, *amount, paid)})
			a.post(*amount, paid)
		}
	}
	post(wallet.Driver, driver, entries.Driver)
	post(wallet.Customer, rider, entries.Rider)
	driver.trips++
	rider.trips++
	return nil
}

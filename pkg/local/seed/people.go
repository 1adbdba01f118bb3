package seed

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/wallet"
)

// actor is a driver or rider of the run, with the totals of their trips so
// far.
type actor struct {
	id    string
	n     int // index among the drivers or riders
	first string
	last  string
	since time.Time
	free  time.Time // on a trip until this time

	open     bool  // on a trip now
	trips    int64 // settled trips
	balance  decimal.Decimal
	postings int64
	moved    string // time of the last posting
}

// name returns the first and the last name.
func (a *actor) name() string { return a.first + " " + a.last }

// post adds the amount to the actor's balance, and counts the posting. at is the time of
// the posting, in RFC 3339.
func (a *actor) post(amount decimal.Decimal, at string) {
	a.balance, a.postings, a.moved = a.balance.Add(amount), a.postings+1, max(a.moved, at)
}

// wallet returns the actor's wallet after all its postings, as the service
// would have written it.
func (a *actor) wallet(side wallet.Side, currency string) wallet.Wallet {
	return wallet.Wallet{Side: side, Actor: a.id, Name: a.name(), Balance: a.balance, Currency: currency,
		UpdatedAt: a.moved, Version: a.postings}
}

// own returns a random source of the actor. Its numbers do not depend on earlier random
// numbers of the run. side tells apart drivers (1), riders (2), businesses (3) and orders
// (4) with the same n.
func (g *generator) own(a *actor, side uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.key^side, uint64(a.n))) //nolint:gosec // made-up people
}

// one returns a random element of from.
func one[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// email returns the email address of the actor, unique to this run. word is "driver" or
// "rider".
func (g *generator) email(word string, a *actor) string {
	return fmt.Sprintf("%s.%d.%d@%s.example", word, g.p.Run, a.n+1, g.slug)
}

// rating returns a random rating from 3.80 to 5.00.
func rating(r *rand.Rand) *money.Amount {
	return money.Ptr(decimal.New(380+r.Int64N(121), -2))
}

// phone returns a random phone number.
func phone(r *rand.Rand) *string {
	text := fmt.Sprintf("+1 %03d 555 %04d", 201+r.IntN(700), r.IntN(10_000))
	return &text
}

// driverItem returns the item of a driver, with the totals of the run's trips. shards is
// the tenant's writeShards.
func (g *generator) driverItem(t table.Tenant, a *actor, shards int) table.Item {
	r := g.own(a, 1)
	car, plate := one(r, cars), fmt.Sprintf("%c%c%c-%04d", 'A'+rune(r.IntN(26)), 'A'+rune(r.IntN(26)),
		'A'+rune(r.IntN(26)), r.IntN(10_000))
	at := g.point(r)
	d := driver.Record{CreatedAt: timestamp.Format(a.since), Driver: driver.Driver{ID: a.id, FirstName: a.first,
		LastName: a.last, Email: g.email("driver", a),
		Phone: phone(r), Status: driver.Offline, Rating: rating(r), TotalTrips: a.trips, VehiclePlate: &plate,
		VehicleModel: &car.model, VehicleColor: &car.color,
		CurrentLat: &at.lat, CurrentLng: &at.lng,
		LocationUpdatedAt: timestamp.Ptr(g.now.Add(-time.Duration(r.Int64N(int64(72 * time.Hour)))))}}
	switch {
	case a.open:
		d.Status, d.LocationUpdatedAt = driver.Busy, timestamp.Ptr(g.now)
	case r.IntN(100) < 40:
		d.Status, d.LocationUpdatedAt = driver.Online, timestamp.Ptr(g.now.Add(-time.Duration(r.IntN(90))*time.Second))
	}
	it := driver.Item(t, d, shards)
	it.Version = 1 + a.trips // each settlement increments the version
	return it
}

// riderItems returns the item of a rider, with the totals of the run's trips, and the
// items of the rider's addresses and cards. shards is the tenant's writeShards.
func (g *generator) riderItems(t table.Tenant, a *actor, shards int) []table.Item {
	r := g.own(a, 2)
	c := customer.Record{Customer: customer.Customer{ID: a.id, Name: a.name(), FirstName: a.first, LastName: a.last,
		Email: g.email("rider", a),
		Phone: phone(r), TotalTrips: a.trips, Rating: rating(r), CreatedAt: timestamp.Format(a.since)}}
	it := customer.Item(t, c, shards)
	it.Version = 1 + a.trips
	out := []table.Item{it}
	labels := []string{"Home", "Work", "Gym", "Parents"}
	for i := range r.IntN(4) {
		spot, used := g.point(r), a.since.Add(time.Duration(r.Int64N(int64(g.now.Sub(a.since))+1)))
		out = append(out, address.Kind.Item(t, a.id, address.Address{ID: g.idOf(r, ids.Address, used), Address: spot.address,
			Lat: spot.lat, Lng: spot.lng,
			Label: &labels[i], UsageCount: 1 + r.Int64N(30), LastUsedAt: timestamp.Format(used)}))
	}
	for i := range r.IntN(3) {
		at := a.since.Add(time.Duration(i+1) * time.Hour)
		out = append(out, payment.Kind.Item(t, a.id, payment.Method{ID: g.idOf(r, ids.Payment, at), Type: "CARD",
			Brand: one(r, []string{"visa", "mastercard", "amex"}),
			Last4: fmt.Sprintf("%04d", r.IntN(10_000)), ExpMonth: 1 + r.IntN(12), ExpYear: g.now.Year() + 1 + r.IntN(5),
			IsDefault: i == 0, CreatedAt: timestamp.Format(at)}))
	}
	return out
}

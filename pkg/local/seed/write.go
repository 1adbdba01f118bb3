package seed

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// drivers writes the drivers with the indexes from ≤ n < to.
func (r *run) drivers(ctx context.Context, from, to int) error {
	var items []table.Item
	for _, a := range r.made.drivers[from:to] {
		items = append(items, r.made.driverItem(r.t, a, r.tenant.WriteShards))
	}
	return r.load(ctx, items)
}

// riders writes the riders with the indexes from ≤ n < to, with their addresses and cards.
func (r *run) riders(ctx context.Context, from, to int) error {
	var items []table.Item
	for _, a := range r.made.riders[from:to] {
		items = append(items, r.made.riderItems(r.t, a, r.tenant.WriteShards)...)
	}
	return r.load(ctx, items)
}

// trips returns the stage that writes the finished trips. The stage generates them again,
// one chunk at a time.
func (r *run) trips() func(ctx context.Context, from, to int) error {
	var again *generator
	return func(ctx context.Context, from, to int) (err error) {
		if again == nil {
			if again, err = newGenerator(r.plan, r.tenant); err != nil {
				return err
			}
		}
		var beside, trips []table.Item
		for again.made < to {
			one, err := again.next()
			if err != nil {
				return err
			}
			if again.made <= from {
				continue // an earlier chunk has the trip
			}
			trips = append(trips, one.trip.Item(r.t, r.tenant.WriteShards))
			beside = append(beside, one.beside(r.t)...)
		}
		return r.load(ctx, beside, trips)
	}
}

// beside returns the items that belong to a trip: its receipt and postings.
func (r ride) beside(t table.Tenant) []table.Item {
	var out []table.Item
	if r.receipt != nil {
		out = append(out, receipt.Item(t, *r.receipt))
	}
	for _, p := range r.postings {
		out = append(out, wallet.PostingItem(t, p.side, p.actor, p.Entry))
	}
	return out
}

// person returns person n of all drivers and then all riders, with the kind of wallet and
// the audience.
func (r *run) person(n int) (*actor, wallet.Side, authz.Audience) {
	if drivers := r.made.drivers; n >= len(drivers) {
		return r.made.riders[n-len(drivers)], wallet.Customer, authz.Rider
	}
	return r.made.drivers[n], wallet.Driver, authz.Driver
}

// wallets writes the wallets of persons n, from ≤ n < to, who have postings.
func (r *run) wallets(ctx context.Context, from, to int) error {
	var items []table.Item
	for n := from; n < to; n++ {
		if a, side, _ := r.person(n); a.postings > 0 {
			items = append(items, a.wallet(side, r.tenant.Currency).Item(r.t, r.tenant.WriteShards))
		}
	}
	return r.load(ctx, items)
}

// open writes the unfinished trips with the indexes from ≤ n < to. A driver or an operator
// may change such a trip at once, so each write requires that the trip does not exist yet.
func (r *run) open(ctx context.Context, from, to int) error {
	for _, one := range r.still[from:to] {
		tx := r.t.Write()
		tx.Create(one.trip.Item(r.t, r.tenant.WriteShards))
		for _, it := range one.beside(r.t) {
			tx.Put(it)
		}
		switch err := table.Retry(ctx, tx.Commit); {
		case err == nil:
			r.items += tx.Len()
		case !errors.Is(err, table.ErrCondition):
			return err
		}
	}
	return nil
}

// logins writes the logins of people, with which they sign in, if they are missing.
func (r *run) logins(ctx context.Context, from, to int) error {
	err := r.signIn(ctx, from, to)
	if !errors.Is(err, login.ErrTaken) {
		return err
	}
	for n := from; n < to; n++ { // some of the logins exist, so write one after the other
		if err := r.signIn(ctx, n, n+1); err != nil && !errors.Is(err, login.ErrTaken) {
			return err
		}
	}
	return nil
}

// signIn writes the logins of people in one transaction. The error is login.ErrTaken if
// one exists.
func (r *run) signIn(ctx context.Context, from, to int) error {
	tx, words := r.t.Write(), map[authz.Audience]string{authz.Driver: "driver", authz.Rider: "rider"}
	for n := from; n < to; n++ {
		a, _, audience := r.person(n)
		login.Create(tx, r.t, audience, r.made.email(words[audience], a), a.id, r.o.Hash, false, audit.By{Who: r.o.By.Who,
			At: a.since})
	}
	err := table.Retry(ctx, tx.Commit)
	if err == nil {
		r.items += tx.Len()
	}
	return err
}

// business creates business n of the run. Its data depend only on n and the run.
func (r *run) business(n int) delivery.Business {
	g := r.made
	chance := g.own(&actor{n: n}, 3)
	kind, at, tel := kitchens[n%len(kitchens)], g.point(chance), phone(chance)
	name := kind.name
	if n >= len(kitchens) {
		_, street, _ := strings.Cut(at.address, " ")
		name += ", " + street
	}
	id := g.idOf(chance, ids.Business, g.now.AddDate(0, 0, -r.Days-n))
	return delivery.Business{ID: id, Name: name, Category: kind.category, Address: at.address, Lat: at.lat, Lng: at.lng,
		Phone: tel, Active: n%12 != 11}
}

// businesses writes the businesses n, from ≤ n < to.
func (r *run) businesses(ctx context.Context, from, to int) error {
	return loadEach(ctx, r, from, to, r.business, func(t table.Tenant, b delivery.Business, shards int) table.Item {
		return delivery.BusinessKind.Sharded(t, b, b.ID, shards)
	})
}

// orders writes the orders n, from ≤ n < to.
func (r *run) orders(ctx context.Context, from, to int) error {
	return loadEach(ctx, r, from, to, r.order, func(t table.Tenant, o delivery.Order, shards int) table.Item {
		return delivery.OrderKind.Sharded(t, o, o.ID, shards)
	})
}

// loadEach writes entries, such as orders, for from ≤ n < to. made creates entry n. item
// returns the stored form of an entry; its last argument is the tenant's writeShards.
func loadEach[T any](ctx context.Context, r *run, from, to int, made func(int) T,
	item func(table.Tenant, T, int) table.Item) error {
	var items []table.Item
	for n := from; n < to; n++ {
		items = append(items, item(r.t, made(n), r.tenant.WriteShards))
	}
	return r.load(ctx, items)
}

// order creates order n. It is delivered or cancelled; the newest orders are
// still in progress.
func (r *run) order(n int) delivery.Order {
	g, total := r.made, r.plan.orders()
	chance := g.own(&actor{n: n}, 4)
	at := g.clock.at((float64(n) + chance.Float64()) / float64(total))
	id := g.idOf(chance, ids.Order, at)
	o := delivery.Order{ID: id, OrderCode: "R" + id[len(id)-7:], Status: "DELIVERED",
		BusinessID: r.business(chance.IntN(r.plan.businesses())).ID,
		CustomerID: one(chance, g.there(at)).id, Currency: r.tenant.Currency, DeliveryAddress: g.point(chance).address,
		CreatedAt: timestamp.Format(at)}
	lasted := time.Duration(20+chance.IntN(50)) * time.Minute
	driver := one(chance, g.drivers).id
	switch left := total - 1 - n; {
	case left < min(5, total/4): // the newest orders have a status before DELIVERED
		at = g.now.Add(-time.Duration(left*9+3) * time.Minute)
		o.CreatedAt, o.Status, lasted = timestamp.Format(at), delivery.Statuses[left], time.Duration(left)*time.Minute
		if left == 4 {
			o.DriverID = &driver
		}
	case chance.IntN(100) < 7:
		o.Status, lasted = "CANCELLED", time.Duration(2+chance.IntN(12))*time.Minute
	default:
		o.DriverID = &driver
	}
	o.UpdatedAt = timestamp.Format(at.Add(lasted))
	places := money.Decimals(r.tenant.Currency)
	sum := decimal.Zero
	for range 1 + chance.IntN(3) {
		dish, quantity := one(chance, dishes), 1+chance.IntN(3)
		price := decimal.New(dish.cents, -2).Round(places)
		o.Items = append(o.Items, delivery.Line{Name: dish.name, Quantity: quantity, UnitPrice: money.Of(price)})
		sum = sum.Add(price.Mul(decimal.NewFromInt(int64(quantity))))
	}
	fee := decimal.New(199+100*chance.Int64N(3), -2).Round(places)
	o.Subtotal, o.DeliveryFee, o.Total = money.Of(sum), money.Of(fee), money.Of(sum.Add(fee))
	return o
}

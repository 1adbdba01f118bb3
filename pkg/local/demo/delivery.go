package demo

import (
	"context"
	"encoding/json"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/payment"
)

// order is one order of the demo.
type order struct {
	business, rider, driver int // driver 0 for none
	status                  string
	ago                     time.Duration
	fee                     json.Number
	lines                   []delivery.Line
}

// dish is an item of a menu of the demo.
type dish struct {
	section, name string
	price         json.Number
}

// untilStatus is the time from placing an order until it reached a status.
var untilStatus = map[string]time.Duration{"ACCEPTED": 2 * time.Minute, "PREPARING": 5 * time.Minute,
	"READY":     19 * time.Minute,
	"PICKED_UP": 24 * time.Minute, "DELIVERED": 38 * time.Minute, "CANCELLED": 4 * time.Minute}

// delivery writes businesses, orders, and the riders' saved addresses and
// cards.
func (l *loader) delivery(ctx context.Context, t table.Tenant, p demoTenant) error {
	slug := p.tenant.Slug
	for _, b := range p.businesses {
		if _, err := delivery.AddBusiness(ctx, t, l.by, b); once(err) != nil {
			return err
		}
	}
	if err := l.menus(ctx, t, p); err != nil {
		return err
	}
	for i, o := range p.orders {
		at := l.now.Add(-o.ago)
		moved := at.Add(untilStatus[o.status])
		n := delivery.Order{ID: id(ids.Order, slug, i+1), OrderCode: code(slug, 500+i), Status: o.status,
			BusinessID: id(ids.Business, slug, o.business),
			CustomerID: id(ids.Customer, slug, o.rider), Items: o.lines, DeliveryFee: o.fee, Currency: p.tenant.Currency,
			DeliveryAddress: p.spots[o.rider].address, CreatedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(moved)}
		if o.driver > 0 {
			d := id(ids.Driver, slug, o.driver)
			n.DriverID = &d
		}
		if _, err := delivery.AddOrder(ctx, t, audit.By{Who: who, At: at}, n); once(err) != nil {
			return err
		}
	}
	if err := l.addresses(ctx, t, p); err != nil {
		return err
	}
	for i, card := range []struct {
		rider       int
		brand, last string
		month, year int
	}{{1, "visa", "4242", 4, 5}, {1, "mastercard", "5454", 11, 3}, {2, "amex", "0005", 7, 2}, {3, "visa", "1881", 1, 4}} {
		at := audit.By{Who: who, At: l.now.AddDate(0, 0, -60+i)}
		m := payment.Method{ID: id(ids.Payment, slug, i+1), Type: "CARD", Brand: card.brand, Last4: card.last,
			ExpMonth: card.month, ExpYear: l.now.Year() + card.year}
		if _, err := payment.Add(ctx, t, at, id(ids.Customer, slug, card.rider), m); once(err) != nil {
			return err
		}
	}
	return nil
}

// menus writes the menus, with numbers that count through all of them.
func (l *loader) menus(ctx context.Context, t table.Tenant, p demoTenant) error {
	n := 0
	for number := range p.businesses {
		for _, d := range p.menus[number+1] {
			n++
			m := delivery.MenuItem{ID: id(ids.MenuItem, p.tenant.Slug, n),
				MenuItemEdit: delivery.MenuItemEdit{Name: d.name, Section: &d.section, Price: d.price}}
			_, err := delivery.AddMenuItem(ctx, t, l.by, id(ids.Business, p.tenant.Slug, number+1), m)
			if once(err) != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) addresses(ctx context.Context, t table.Tenant, p demoTenant) error {
	for i, a := range []struct {
		rider, spot  int
		label, notes string
		uses         int64
		ago          time.Duration
	}{
		{1, 0, "Home", "Ring twice", 14, 11 * time.Minute}, {1, 1, "Work", "", 9, 2 * day}, {1, 5, "Choir", "", 3, 13 * day},
		{2, 2, "Home", "Blue door, second floor", 11, 6 * time.Minute}, {2, 3, "Parents", "", 2, 21 * day},
		{3, 7, "Home", "", 7, 25 * day}, {3, 1, "Studio", "Entrance on the yard", 5, 9 * time.Hour},
	} {
		spot, rider := p.spots[a.spot%len(p.spots)], id(ids.Customer, p.tenant.Slug, a.rider)
		one := address.Address{ID: id(ids.Address, p.tenant.Slug, i+1), Address: spot.address, Lat: spot.lat, Lng: spot.lng,
			Label:      &a.label,
			UsageCount: a.uses, LastUsedAt: timestamp.Format(l.now.Add(-a.ago))}
		if a.notes != "" {
			one.Notes = &a.notes
		}
		it := address.Item(t, rider, one)
		if at, err := t.Get(ctx, it.Key); err != nil {
			return err
		} else if at.Found() {
			continue // written by an interrupted load
		}
		if err := t.Load(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

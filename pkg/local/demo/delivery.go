package demo

import (
	"context"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/payment"
)

// untilStatus is the time from placing an order until it reached a status.
var untilStatus = map[string]time.Duration{"ACCEPTED": 2 * time.Minute, "PREPARING": 5 * time.Minute,
	"READY":     19 * time.Minute,
	"PICKED_UP": 24 * time.Minute, "DELIVERED": 38 * time.Minute, "CANCELLED": 4 * time.Minute}

// delivery writes the businesses and orders of the tenant p, and its riders' saved
// addresses and cards.
func (l *loader) delivery(ctx context.Context, t table.Tenant, p demoTenant) error {
	slug := p.Tenant.Slug
	for _, b := range p.Businesses {
		if _, err := delivery.AddBusiness(ctx, t, l.by, b); once(err) != nil {
			return err
		}
	}
	if err := l.menus(ctx, t, p); err != nil {
		return err
	}
	for i, o := range p.Orders {
		at := l.now.Add(-o.Ago.Duration)
		moved := at.Add(untilStatus[o.Status])
		n := delivery.Order{ID: id(ids.Order, slug, i+1), OrderCode: code(slug, 500+i), Status: o.Status,
			BusinessID: id(ids.Business, slug, o.Business),
			CustomerID: id(ids.Customer, slug, o.Rider), Items: o.Lines, DeliveryFee: o.Fee, Currency: p.Tenant.Currency,
			DeliveryAddress: p.Spots[o.Rider].Address, CreatedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(moved)}
		if o.Driver > 0 {
			d := id(ids.Driver, slug, o.Driver)
			n.DriverID = &d
		}
		if _, err := delivery.AddOrder(ctx, t, audit.By{Who: who, At: at}, n); once(err) != nil {
			return err
		}
	}
	if err := l.addresses(ctx, t, p); err != nil {
		return err
	}
	for i, card := range demo.Cards {
		at := audit.By{Who: who, At: l.now.AddDate(0, 0, -60+i)}
		m := payment.Method{ID: id(ids.Payment, slug, i+1), Type: "CARD", Brand: card.Brand, Last4: card.Last4,
			ExpMonth: card.Month, ExpYear: l.now.Year() + card.Years}
		if _, err := payment.Add(ctx, t, at, id(ids.Customer, slug, card.Rider), m); once(err) != nil {
			return err
		}
	}
	return nil
}

// menus writes the menus of the tenant's businesses. The ids of the items are numbered
// through all menus.
func (l *loader) menus(ctx context.Context, t table.Tenant, p demoTenant) error {
	n := 0
	for number := range p.Businesses {
		for _, d := range p.Menus[number+1] {
			n++
			m := delivery.MenuItem{ID: id(ids.MenuItem, p.Tenant.Slug, n),
				MenuItemEdit: delivery.MenuItemEdit{Name: d.Name, Section: &d.Section, Price: d.Price}}
			_, err := delivery.AddMenuItem(ctx, t, l.by, id(ids.Business, p.Tenant.Slug, number+1), m)
			if once(err) != nil {
				return err
			}
		}
	}
	return nil
}

// addresses writes the riders' saved addresses. It skips those that exist.
func (l *loader) addresses(ctx context.Context, t table.Tenant, p demoTenant) error {
	for i, a := range demo.Addresses {
		spot, rider := p.Spots[a.Spot%len(p.Spots)], id(ids.Customer, p.Tenant.Slug, a.Rider)
		one := address.Address{ID: id(ids.Address, p.Tenant.Slug, i+1), Address: spot.Address, Lat: spot.Lat, Lng: spot.Lng,
			Label:      &a.Label,
			UsageCount: a.Uses, LastUsedAt: timestamp.Format(l.now.Add(-a.Ago.Duration))}
		if a.Notes != "" {
			one.Notes = &a.Notes
		}
		it := address.Kind.Item(t, rider, one)
		if at, err := t.Get(ctx, it.Key); err != nil {
			return err
		} else if at.Found() {
			continue // an interrupted load wrote the address
		}
		if err := t.Load(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/trip"
)

// Operator finds an operator by mail address or id.
func (p Platform) Operator(ctx context.Context, name string) (person.Person, error) {
	store := person.Store{DB: p.DB}
	find := store.ByEmail
	if ids.Valid(ids.Person, name) {
		find = store.ByID
	}
	one, err := find(ctx, name)
	return one, Missing(err, "operator", name)
}

// FindDriver finds a driver by mail address or id.
func FindDriver(ctx context.Context, t table.Tenant, name string) (driver.Record, error) {
	one, err := driver.Store.Find(ctx, t, name)
	return one, Missing(err, "driver", name)
}

// FindRider finds a rider by mail address or id.
func FindRider(ctx context.Context, t table.Tenant, name string) (customer.Record, error) {
	one, err := customer.Store.Find(ctx, t, name)
	return one, Missing(err, "rider", name)
}

// ReadTrip reads a trip by its id, or by its code if it is one of the newest
// trips. It also returns the trip's item, which a transition replaces.
func ReadTrip(ctx context.Context, t table.Tenant, id string) (table.Item, trip.Trip, error) {
	if len(id) == CodeLength {
		found, err := byCode(id, func(t trip.Trip) (string, string) { return t.TripCode, t.ID },
			func(after string, limit int) ([]trip.Trip, string, error) {
				return trip.Recent(ctx, t, trip.Filter{}, after, limit)
			})
		if err != nil {
			return table.Item{}, trip.Trip{}, err
		}
		id = found
	}
	it, err := t.Get(ctx, trip.Key(t, id))
	if err == nil && !it.Found() {
		err = Missing(fault.NotFound(), "trip", id)
	}
	if err != nil {
		return it, trip.Trip{}, err
	}
	one, err := trip.FromItem(it)
	return it, one, err
}

// OrderByCode returns the id of the order with the code, if it is one of the newest
// orders.
func OrderByCode(ctx context.Context, t table.Tenant, code string) (string, error) {
	return byCode(code, func(o delivery.Order) (string, string) { return o.OrderCode, o.ID },
		func(after string, limit int) ([]delivery.Order, string, error) {
			return delivery.Orders(ctx, t, "", after, limit)
		})
}

// CodeLength is the number of characters of the code of a trip or an order.
const CodeLength = 8

// searched is how many of the newest trips or orders byCode looks through.
const searched = 10_000

// byCode searches the newest items of a list for a code, and returns the id of the item.
// A code is a short name that people read to each other; upper and lower case are the
// same. of returns the code and the id of an item. page returns the items behind after,
// and the position of the next page, "" at the end.
func byCode[T any](code string, of func(T) (code, id string),
	page func(after string, limit int) ([]T, string, error)) (string, error) {
	after := ""
	for seen := 0; seen < searched; {
		some, next, err := page(after, 200)
		if err != nil {
			return "", err
		}
		for _, one := range some {
			if found, id := of(one); strings.EqualFold(found, code) {
				return id, nil
			}
		}
		if after, seen = next, seen+len(some); next == "" {
			break
		}
	}
	return "", fmt.Errorf("there is no code %q among the newest %d; use the id", code, searched)
}

// Missing replaces fault.NotFound by an error that names the missing thing: there is no
// <what> "<name>". It returns every other error unchanged.
func Missing(err error, what, name string) error {
	if errors.Is(err, fault.NotFound()) {
		return fmt.Errorf("there is no %s %q", what, name)
	}
	return err
}

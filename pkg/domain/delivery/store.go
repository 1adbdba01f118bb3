package delivery

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
)

// AddBusiness adds a business. It generates the ID if it is empty.
func AddBusiness(ctx context.Context, t table.Tenant, by audit.By, b Business) (Business, error) {
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return Business{}, err
	}
	if err := b.prepare(by, flags.Text("currency")); err != nil {
		return Business{}, err
	}
	it := BusinessKind.Sharded(t, b, b.ID, max(1, int(flags.Int("writeShards"))))
	return b, audit.Create(ctx, t, by, "business.add", b.ID, it, b.Managed())
}

// prepare completes a new business.
func (b *Business) prepare(by audit.By, currency string) error {
	if b.ID == "" {
		b.ID = ids.New(ids.Business, by.At)
	}
	if err := b.typed(nil); err != nil {
		return err
	}
	return b.normalize(currency)
}

// SetBusiness changes a business. It returns fault.NotFound if there is none.
// Lists of the API omit a business that is not active.
func SetBusiness(
	ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*Business) error,
) (Business, error) {
	if !ids.Valid(ids.Business, id) {
		return Business{}, fault.NotFound()
	}
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return Business{}, err
	}
	return businessChange(t, by, id, flags.Text("currency"), edit).Run(ctx)
}

// businessChange is a change of a business.
func businessChange(
	t table.Tenant, by audit.By, id, currency string, edit func(*Business) error,
) audit.Change[Business] {
	return audit.Change[Business]{Tenant: t, By: by, What: "business.set", Subject: id,
		Key: BusinessKey(t, id), Kind: &BusinessKind, Edit: edit,
		Shown: func(b Business) any { return b.Managed() },
		Check: func(was Business, now *Business) error {
			now.ID = was.ID
			if err := now.typed(was.Phone); err != nil {
				return err
			}
			return now.normalize(currency)
		},
		Also: func(ctx context.Context, tx *table.Tx, was, now Business) error {
			return BusinessIDs.Move(ctx, tx, t, id, was.ExternalID, now.ExternalID)
		}}
}

// AddOrder adds an order. It fills in ID, OrderCode, Status (PENDING),
// CreatedAt and UpdatedAt if they are empty, and computes the sums. Business,
// customer and driver must belong to the tenant, and the currency must be the
// tenant's. AddOrder does not check whether the business is active.
func AddOrder(ctx context.Context, t table.Tenant, by audit.By, o Order) (Order, error) {
	if err := o.prepare(by); err != nil {
		return Order{}, err
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		flags, err := tenant.Flags(ctx, t)
		if err != nil {
			return err
		}
		if o.Currency != flags.Text("currency") {
			return fault.Field("currency", "expected %s, the tenant's currency", flags.Text("currency"))
		}
		tx := t.Write()
		o.add(tx, t, by, flags)
		tx.Check(BusinessKey(t, o.BusinessID)).If("attribute_exists(pk)").Else(fault.Field("business",
			"there is no such business"))
		tx.Check(customer.Key(t, o.CustomerID)).If("attribute_exists(pk)").Else(fault.Field("customer",
			"there is no such rider"))
		if o.DriverID != nil {
			tx.Check(driver.Key(t, *o.DriverID)).If("attribute_exists(pk)").Else(errDriver)
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return Order{}, fmt.Errorf("add order: %w", err)
	}
	return o, nil
}

// prepare completes a new order.
func (o *Order) prepare(by audit.By) error {
	if o.ID == "" {
		o.ID = ids.New(ids.Order, by.At)
	}
	if o.OrderCode == "" {
		o.OrderCode = ids.Code()
	}
	if o.Status == "" {
		o.Status = Statuses[0]
	}
	if o.CreatedAt == "" {
		o.CreatedAt = timestamp.Format(by.At)
	}
	if o.UpdatedAt == "" {
		o.UpdatedAt = o.CreatedAt
	}
	return o.normalize()
}

// add adds a new order to the transaction. flags is a copy of the tenant's flags.
func (o Order) add(tx *table.Tx, t table.Tenant, by audit.By, flags table.Item) {
	it := OrderKind.Sharded(t, o, o.ID, max(1, int(flags.Int("writeShards"))))
	audit.Add(tx, t, by, "order.add", o.ID, it, o.withoutAddress())
	tenant.Price(tx, flags)
}

var errDriver = fault.Field("driverId", "expected a driver of this company who is not disabled")

// SetOrder changes an order's status, unless status is "", and assigns a
// driver, unless driverID is nil. A status that the order already has changes
// nothing. Errors: fault.NotFound if there is no order, fault.InvalidState if
// the order cannot change to the status, a 400 if there is no such driver.
func SetOrder(ctx context.Context, t table.Tenant, by audit.By, id, status string, driverID *string) (Order, error) {
	if !ids.Valid(ids.Order, id) {
		return Order{}, fault.NotFound()
	}
	return orderChange(t, by, id, func(o *Order) error {
		o.Status = cmp.Or(status, o.Status)
		if driverID != nil {
			o.DriverID = driverID
		}
		return nil
	}).Run(ctx)
}

// orderChange is a change of an order's status or driver.
func orderChange(t table.Tenant, by audit.By, id string, edit func(*Order) error) audit.Change[Order] {
	return audit.Change[Order]{Tenant: t, By: by, What: "order.set", Subject: id,
		Key: OrderKey(t, id), Kind: &OrderKind, Edit: edit,
		Shown: Order.withoutAddress,
		Check: func(was Order, now *Order) error {
			if reflect.DeepEqual(was, *now) {
				return nil
			}
			// The address of an order that is over may be gone.
			if moved := now.with(was.Members); !reflect.DeepEqual(was, moved) {
				if err := moved.follows(was); err != nil {
					return err
				}
				if err := moved.normalize(); err != nil {
					return err
				}
				*now = moved.with(now.Members)
			}
			now.UpdatedAt = max(was.UpdatedAt, timestamp.Format(by.At))
			return nil
		},
		Also: func(ctx context.Context, tx *table.Tx, was, now Order) error {
			if now.DriverID != nil && !reflect.DeepEqual(was.DriverID, now.DriverID) {
				tx.Check(driver.Key(t, *now.DriverID)).
					If("attribute_exists(pk) AND (attribute_not_exists(disabled) OR disabled = ?)", false).Else(errDriver)
			}
			return OrderIDs.Move(ctx, tx, t, id, was.ExternalID, now.ExternalID)
		}}
}

// with returns the order with other members of other systems.
func (o Order) with(m external.Members) Order { o.Members = m; return o }

// own returns the order as its rider sees it.
func own(o Order) Order { return o.with(external.Members{}) }

// follows returns an error unless the order may become this one.
func (o Order) follows(was Order) error {
	switch {
	case o.Status != was.Status && !moves(was.Status, o.Status):
		return fault.InvalidState("An order that is %s cannot become %s.", was.Status, o.Status)
	case was.Over() && !reflect.DeepEqual(o.DriverID, was.DriverID):
		return fault.InvalidState("The driver of an order that is %s cannot change.", was.Status)
	}
	return nil
}

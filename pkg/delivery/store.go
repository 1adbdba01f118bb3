package delivery

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"svc/pkg/audit"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/tenant"
	"svc/pkg/timestamp"
)

// AddBusiness adds a business; its ID is made unless given.
func AddBusiness(ctx context.Context, t table.Tenant, by audit.By, b Business) (Business, error) {
	if b.ID == "" {
		b.ID = ids.New(ids.Business, by.At)
	}
	if err := b.normal(); err != nil {
		return Business{}, err
	}
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return Business{}, err
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Create(BusinessItem(t, b, shards))
		audit.Append(tx, t, by, "business.add", b.ID, nil, b)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Business{}, fmt.Errorf("add business: %w", err)
	}
	return b, nil
}

// SetBusiness changes a business; one that is not active is in no list of the
// API.
func SetBusiness(ctx context.Context, t table.Tenant, by audit.By, id string, change func(*Business) error) (Business, error) {
	if !ids.Valid(ids.Business, id) {
		return Business{}, fault.NotFound()
	}
	var now Business
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, BusinessKey(t, id))
		if err != nil {
			return err
		}
		was, err := BusinessOf(it)
		if err != nil {
			return err
		}
		now = was
		if err := change(&now); err != nil {
			return err
		}
		now.ID = was.ID
		if err := now.normal(); err != nil || reflect.DeepEqual(was, now) {
			return err
		}
		tx, next := t.Write(), businessItem(t, now, shardOf(it.G[1]))
		next.Version = it.Version
		tx.Replace(next).Else(table.ErrConflict)
		audit.Append(tx, t, by, "business.set", id, was, now)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Business{}, fmt.Errorf("change business: %w", err)
	}
	return now, nil
}

// AddOrder adds an order; ID and OrderCode (unless given), CreatedAt, UpdatedAt
// and, where absent, the status PENDING are made, the sums reckoned. Business,
// customer and driver must be the tenant's.
func AddOrder(ctx context.Context, t table.Tenant, by audit.By, o Order) (Order, error) {
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
	if err := o.normal(); err != nil {
		return Order{}, err
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		flags, err := tenant.Flags(ctx, t)
		if err != nil {
			return err
		}
		if o.Currency != flags.Text("currency") {
			return fault.Field("currency", "expected %s, the tenant's", flags.Text("currency"))
		}
		tx := t.Write()
		tx.Create(OrderItem(t, o, max(1, int(flags.Int("writeShards")))))
		tenant.Price(tx, flags)
		tx.Check(BusinessKey(t, o.BusinessID)).If("attribute_exists(pk)").Else(fault.Field("business", "there is no such business"))
		tx.Check(customer.Key(t, o.CustomerID)).If("attribute_exists(pk)").Else(fault.Field("customer", "there is no such rider"))
		if o.DriverID != nil {
			tx.Check(driver.Key(t, *o.DriverID)).If("attribute_exists(pk)").Else(errDriver)
		}
		audit.Append(tx, t, by, "order.add", o.ID, nil, o)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Order{}, fmt.Errorf("add order: %w", err)
	}
	return o, nil
}

var errDriver = fault.Field("driver", "there is no such driver")

// SetOrder moves an order to another status and, where driverID is not nil,
// gives it a driver. fault.InvalidState when the status does not follow.
func SetOrder(ctx context.Context, t table.Tenant, by audit.By, id, status string, driverID *string) (Order, error) {
	if !ids.Valid(ids.Order, id) {
		return Order{}, fault.NotFound()
	}
	var now Order
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, OrderKey(t, id))
		if err != nil {
			return err
		}
		was, err := OrderOf(it)
		if err != nil {
			return err
		}
		if now, err = OrderOf(it); err != nil {
			return err
		}
		if status != "" && status != was.Status {
			if !moves(was.Status, status) {
				return fault.InvalidState("An order that is %s cannot become %s.", was.Status, status)
			}
			now.Status = status
		}
		if driverID != nil {
			now.DriverID = driverID
		}
		if err := now.normal(); err != nil || reflect.DeepEqual(was, now) {
			return err
		}
		now.UpdatedAt = max(was.UpdatedAt, timestamp.Format(by.At))
		tx, next := t.Write(), orderItem(t, now, shardOf(it.G[0]))
		next.Version = it.Version
		tx.Replace(next).Else(table.ErrConflict)
		if driverID != nil {
			tx.Check(driver.Key(t, *driverID)).If("attribute_exists(pk)").Else(errDriver)
		}
		audit.Append(tx, t, by, "order.set", id, was, now)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Order{}, fmt.Errorf("change order: %w", err)
	}
	return now, nil
}

func shardOf(partition string) string { return partition[strings.LastIndexByte(partition, '#')+1:] }

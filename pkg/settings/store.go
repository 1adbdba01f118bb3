package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"svc/pkg/audit"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// most is how many service types, and how many zones, a tenant may list.
const most = 1000

// Services reads the tenant's service types, oldest first, those that are not
// active included.
//
// Access pattern: T#t#SETTINGS, SERVICE#…, strongly consistent.
func Services(ctx context.Context, t table.Tenant) ([]Service, error) {
	return all(ctx, t, "SERVICE#", ServiceOf)
}

// Zones reads the tenant's zones, oldest first.
//
// Access pattern: T#t#SETTINGS, ZONE#…, strongly consistent.
func Zones(ctx context.Context, t table.Tenant) ([]Zone, error) {
	return all(ctx, t, "ZONE#", ZoneOf)
}

func all[T any](ctx context.Context, t table.Tenant, prefix string, of func(table.Item) (T, error)) ([]T, error) {
	page, err := t.Query(ctx, Key(t).PK, table.Query{Prefix: prefix, Limit: most, Consistent: true, Whole: true})
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	out := make([]T, 0, len(page.Items))
	for _, it := range page.Items {
		one, err := of(it)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// AddService adds a service type; its ID is made unless given.
func AddService(ctx context.Context, t table.Tenant, by audit.By, s Service) (Service, error) {
	if s.ID == "" {
		s.ID = ids.New(ids.Service, by.At)
	}
	if err := s.normal(); err != nil {
		return Service{}, err
	}
	return s, add(ctx, t, by, "service.add", s.ID, ServiceItem(t, s), serviceShown(s))
}

// SetService changes a service type.
func SetService(ctx context.Context, t table.Tenant, by audit.By, id string, change func(*Service) error) (Service, error) {
	if !ids.Valid(ids.Service, id) {
		return Service{}, fault.NotFound()
	}
	return set(ctx, t, by, "service.set", id, ServiceKey(t, id), ServiceOf, change, (*Service).normal,
		func(s Service) table.Item { return ServiceItem(t, s) }, serviceShown)
}

// AddZone adds a zone; its ID is made unless given.
func AddZone(ctx context.Context, t table.Tenant, by audit.By, z Zone) (Zone, error) {
	if z.ID == "" {
		z.ID = ids.New(ids.Zone, by.At)
	}
	if err := z.normal(); err != nil {
		return Zone{}, err
	}
	return z, add(ctx, t, by, "zone.add", z.ID, ZoneItem(t, z), z)
}

// SetZone changes a zone.
func SetZone(ctx context.Context, t table.Tenant, by audit.By, id string, change func(*Zone) error) (Zone, error) {
	if !ids.Valid(ids.Zone, id) {
		return Zone{}, fault.NotFound()
	}
	return set(ctx, t, by, "zone.set", id, ZoneKey(t, id), ZoneOf, change, (*Zone).normal,
		func(z Zone) table.Item { return ZoneItem(t, z) }, func(z Zone) any { return z })
}

// Read reads the tenant's settings document.
func Read(ctx context.Context, t table.Tenant) (Document, error) {
	it, err := t.Get(ctx, Key(t))
	if err != nil {
		return Document{}, fmt.Errorf("settings: %w", err)
	}
	return Of(it)
}

// Set changes the tenant's settings document.
func Set(ctx context.Context, t table.Tenant, by audit.By, change func(*Document) error) (Document, error) {
	return set(ctx, t, by, "settings.set", t.ID(), Key(t), Of, change, (*Document).normal,
		func(d Document) table.Item { return Item(t, d) }, func(d Document) any { return d })
}

func (d *Document) normal() error {
	for _, setting := range []struct {
		name string
		n    json.Number
	}{{"cancellationFee", d.Pricing.CancellationFee}, {"waitingPerMinute", d.Pricing.WaitingPerMinute},
		{"roundFareToMultiple", d.Pricing.RoundFareToMultiple}, {"searchRadiusKm", d.Dispatch.SearchRadiusKm}} {
		if x, err := money.Parse(setting.n); err != nil || x.IsNegative() || x.GreaterThan(money.Max) {
			return fault.Field(setting.name, "expected a number of 0 or more")
		}
	}
	if x, err := money.Parse(d.Pricing.TaxRate); err != nil || x.IsNegative() || x.GreaterThan(money.Must("1")) {
		return fault.Field("taxRate", "expected a share between 0 and 1")
	}
	switch {
	case d.Pricing.FreeWaitingMinutes < 0:
		return fault.Field("freeWaitingMinutes", "expected a number of 0 or more")
	case d.Dispatch.OfferTimeoutSeconds < 0:
		return fault.Field("offerTimeoutSeconds", "expected a number of 0 or more")
	}
	return nil
}

func add(ctx context.Context, t table.Tenant, by audit.By, what, id string, it table.Item, shown any) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Create(it)
		audit.Append(tx, t, by, what, id, nil, shown)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// set is the one read, change, put on the condition of the version.
func set[T any](ctx context.Context, t table.Tenant, by audit.By, what, id string, key table.Key, of func(table.Item) (T, error),
	change func(*T) error, normal func(*T) error, item func(T) table.Item, shown func(T) any) (T, error) {
	var now T
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		was, err := of(it)
		if err != nil {
			return err
		}
		if now, err = of(it); err != nil { // a copy of its own: was must not share what change touches
			return err
		}
		if err := change(&now); err != nil {
			return err
		}
		if err := normal(&now); err != nil {
			return err
		}
		next := item(now)
		if next.Key != key {
			return fmt.Errorf("%s: an id never changes", what)
		}
		if reflect.DeepEqual(was, now) {
			return nil
		}
		tx := t.Write()
		if it.Found() {
			next.Version = it.Version
			tx.Replace(next).Else(table.ErrConflict)
		} else {
			tx.Create(next).Else(table.ErrConflict)
		}
		audit.Append(tx, t, by, what, id, shown(was), shown(now))
		return tx.Commit(ctx)
	})
	if err != nil {
		return now, fmt.Errorf("%s: %w", what, err)
	}
	return now, nil
}

func serviceShown(s Service) any {
	return struct {
		ServiceType
		CommissionRate string `json:"commissionRate"`
	}{s.ServiceType, string(s.CommissionRate)}
}

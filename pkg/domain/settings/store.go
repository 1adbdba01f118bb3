package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
)

// maxListed is the maximum number of service types, and of zones, in a list.
const maxListed = 1000

// servicePrefix and zonePrefix are the prefixes of sort keys in the partition of the
// settings.
const servicePrefix, zonePrefix = "SERVICE#", "ZONE#"

// Services reads the tenant's service types, oldest first, at most maxListed,
// including those that are not active.
//
// Access pattern: T#t#SETTINGS, SERVICE#…, strongly consistent.
func Services(ctx context.Context, t table.Tenant) ([]Service, error) {
	return ServiceKind.List(ctx, t.Handle, Key(t).PK, allOf(servicePrefix))
}

// Zones reads the tenant's zones, oldest first, at most maxListed.
//
// Access pattern: T#t#SETTINGS, ZONE#…, strongly consistent.
func Zones(ctx context.Context, t table.Tenant) ([]Zone, error) {
	return ZoneKind.List(ctx, t.Handle, Key(t).PK, allOf(zonePrefix))
}

// allOf returns the query for all items with a prefix, at most maxListed.
func allOf(prefix string) table.Query {
	return table.Query{Prefix: prefix, Limit: maxListed, Consistent: true, Fill: true}
}

// Prices has the data from which the prices of rides are computed: a tenant's service types
// and its settings document.
type Prices struct {
	Services []Service
	Document Document
}

// Priced reads the tenant's service types, oldest first, at most maxListed, and
// its settings document.
//
// Access pattern: T#t#SETTINGS, SERVICE#… to SETTINGS, strongly consistent.
func Priced(ctx context.Context, t table.Tenant) (out Prices, err error) {
	page, err := t.Query(ctx, Key(t).PK, table.Query{From: servicePrefix, To: zonePrefix, Limit: maxListed,
		Consistent: true, Fill: true})
	if err != nil {
		return out, fmt.Errorf("settings: %w", err)
	}
	out.Document = Default
	for _, it := range page.Items {
		if it.Key == Key(t) {
			if out.Document, err = Kind.FromItem(it); err != nil {
				return out, err
			}
			continue
		}
		s, err := ServiceKind.FromItem(it)
		if err != nil {
			return out, err
		}
		out.Services = append(out.Services, s)
	}
	return out, nil
}

// AddService adds a service type. It generates the ID if it is empty.
func AddService(ctx context.Context, t table.Tenant, by audit.By, s Service) (Service, error) {
	limits, err := readLimits(ctx, t)
	if err != nil {
		return Service{}, err
	}
	if err := s.prepare(by, limits); err != nil {
		return Service{}, err
	}
	return s, audit.Create(ctx, t, by, "service.add", s.ID, ServiceKind.Item(t, "", s), s.Managed())
}

// readLimits reads the limits of a tenant's amounts.
func readLimits(ctx context.Context, t table.Tenant) (Limits, error) {
	flags, err := t.Get(ctx, authz.FlagsKey(t, 0))
	return LimitsOf(flags), err
}

// prepare generates the ID of a new service type if it is empty, and normalizes it.
// Errors: a 400.
func (s *Service) prepare(by audit.By, l Limits) error {
	if s.ID == "" {
		s.ID = ids.New(ids.Service, by.At)
	}
	if err := s.normalize(l); err != nil {
		return err
	}
	if s.isFree() {
		return errFree
	}
	return nil
}

// ServiceChange returns a change of a service type, with its checks and audit entry, which
// the caller runs. l bounds the prices.
func ServiceChange(
	t table.Tenant, by audit.By, id string, l Limits, edit func(*Service) error,
) audit.Change[Service] {
	return audit.Change[Service]{Tenant: t, By: by, What: "service.set", Subject: id,
		Key: ServiceKey(t, id), Kind: &ServiceKind, Edit: edit,
		Check: func(was Service, now *Service) error {
			err := changed(now.normalize(l), was.Managed(), now.Managed())
			if err == nil && now.isFree() && !was.isFree() {
				err = errFree
			}
			return err
		},
		Shown: func(s Service) any { return s.Managed() }}
}

// SetService reads the service type with the id, lets edit change it, and stores it. It
// returns fault.NotFound if there is none.
func SetService(
	ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*Service) error,
) (Service, error) {
	if !ids.Valid(ids.Service, id) {
		return Service{}, fault.NotFound()
	}
	limits, err := readLimits(ctx, t)
	if err != nil {
		return Service{}, err
	}
	return ServiceChange(t, by, id, limits, edit).Run(ctx)
}

// AddZone adds a zone. It generates the ID if it is empty.
func AddZone(ctx context.Context, t table.Tenant, by audit.By, z Zone) (Zone, error) {
	if err := z.prepare(by); err != nil {
		return Zone{}, err
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		if err := addZone(tx, t, by, z); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return Zone{}, fmt.Errorf("zone.add: %w", err)
	}
	return z, nil
}

// addZone adds a zone, on which prepare was called, and its cover to the transaction.
func addZone(tx *table.Tx, t table.Tenant, by audit.By, z Zone) error {
	audit.Add(tx, t, by, "zone.add", z.ID, ZoneKind.Item(t, "", z), z)
	return writeCover(tx, t, Zone{}, z)
}

// prepare generates the ID of a new zone if it is empty, and normalizes it.
func (z *Zone) prepare(by audit.By) error {
	if z.ID == "" {
		z.ID = ids.New(ids.Zone, by.At)
	}
	return z.normalize()
}

// ZoneChange returns a change of a zone, which also changes the zone's cover. The caller
// runs it.
func ZoneChange(t table.Tenant, by audit.By, id string, edit func(*Zone) error) audit.Change[Zone] {
	return audit.Change[Zone]{Tenant: t, By: by, What: "zone.set", Subject: id,
		Key: ZoneKey(t, id), Kind: &ZoneKind, Edit: edit,
		Check: func(_ Zone, now *Zone) error { return now.normalize() },
		Also:  func(_ context.Context, tx *table.Tx, was, now Zone) error { return writeCover(tx, t, was, now) }}
}

// SetZone changes a zone. It returns fault.NotFound if there is none.
func SetZone(ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*Zone) error) (Zone, error) {
	if !ids.Valid(ids.Zone, id) {
		return Zone{}, fault.NotFound()
	}
	return ZoneChange(t, by, id, edit).Run(ctx)
}

// Read reads the tenant's settings document.
func Read(ctx context.Context, t table.Tenant) (Document, error) {
	return Kind.Get(ctx, t.Get, Key(t))
}

// over returns the document to store in place of the one in the text stored. It keeps the
// members that this build does not know, also those within groups such as dispatch.
// Item.Preserve would keep only members at the top.
func (d Document) over(stored string) any {
	text, err := json.Marshal(d)
	if err != nil {
		return d // the error shows when the item is encoded
	}
	old, okOld := treeOf(stored)
	now, okNow := treeOf(string(text))
	if !okOld || !okNow {
		return d
	}
	return merge(old, now)
}

// treeOf decodes a JSON object; numbers stay exact.
func treeOf(text string) (tree map[string]any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&tree)
	return tree, err == nil && tree != nil
}

// merge copies the members of now into old and returns old. If both have an object of the
// same name, it merges the two objects member by member.
func merge(old, now map[string]any) map[string]any {
	for name, value := range now {
		was, isGroup := old[name].(map[string]any)
		if group, ok := value.(map[string]any); ok && isGroup {
			value = merge(was, group)
		}
		old[name] = value
	}
	return old
}

// normalize rounds the amounts of the settings and checks all members. Errors: a 400 with
// every fault.
func (d *Document) normalize(l Limits) error {
	var wrong fault.Faults
	l.amount(&wrong, "pricing.cancellationFee", &d.Pricing.CancellationFee)
	l.amount(&wrong, "pricing.waitingPerMinute", &d.Pricing.WaitingPerMinute)
	l.amount(&wrong, "pricing.roundFareToMultiple", &d.Pricing.RoundFareToMultiple)
	if d.Pricing.NoShowFee != nil {
		l.amount(&wrong, "pricing.noShowFee", d.Pricing.NoShowFee)
	}
	x := d.Dispatch.SearchRadiusKm.Decimal()
	wrong.Unless(!x.IsNegative() && !x.GreaterThan(money.Max), "dispatch.searchRadiusKm",
		"expected a number of 0 or more, at most %s", money.Max)
	x = d.Pricing.TaxRate.Decimal()
	wrong.Unless(!x.IsNegative() && !x.GreaterThan(decimal.NewFromInt(1)), "pricing.taxRate",
		"expected a share between 0 and 1")
	wrong.Unless(d.Pricing.FreeWaitingMinutes >= 0, "pricing.freeWaitingMinutes", "expected a number of 0 or more")
	d.Dispatch.check(&wrong)
	d.Routing.check(&wrong)
	d.Map.check(&wrong)
	return wrong.Err()
}

// check adds what is wrong with the dispatch settings to wrong.
func (d Dispatch) check(wrong *fault.Faults) {
	wrong.Unless(d.OfferTimeoutSeconds >= 0, "dispatch.offerTimeoutSeconds", "expected a number of 0 or more")
	wrong.Unless(d.ServiceArea == AnyArea || d.ServiceArea == StrictArea, "dispatch.serviceArea", "expected off or strict")
	wrong.Unless(d.DriverLicence == AnyLicence || d.DriverLicence == ValidLicence, "dispatch.driverLicence",
		"expected any or valid")
	wrong.Unless(d.DriverStatus == FreeStatus || d.DriverStatus == StrictStatus, "dispatch.driverStatus",
		"expected free or strict")
	wrong.Unless(d.Mode == Manual || d.Mode == Open || d.Mode == Offers, "dispatch.mode",
		"expected manual, open or offers")
	for _, bound := range []struct {
		name           string
		n, least, most int
	}{{"waveSize", d.WaveSize, 1, 20}, {"maxWaves", d.MaxWaves, 1, 50},
		{"scheduledLeadMinutes", d.ScheduledLead, 0, 1440}, {"earlyArrivalMinutes", d.EarlyArrival, 0, 86_400}} {
		wrong.Unless(bound.least <= bound.n && bound.n <= bound.most, "dispatch."+bound.name,
			"expected a number from %d to %d", bound.least, bound.most)
	}
}

// check adds what is wrong with the routing settings to wrong.
func (r Routing) check(wrong *fault.Faults) {
	if r.URL != nil {
		message := branding.CheckURL(*r.URL)
		wrong.Unless(message == "", "routing.url", "%s", message)
	}
	wrong.Unless(r.Engine == OSRM || r.Engine == Valhalla, "routing.engine", "expected osrm or valhalla")
	for _, bound := range []struct {
		name        string
		n           money.Amount
		least, most int64
	}{{"routing.detourFactor", r.DetourFactor, 1, 10}, {"routing.averageSpeedKmh", r.AverageSpeed, 1, 200}} {
		x := bound.n.Decimal()
		wrong.Unless(!x.LessThan(decimal.NewFromInt(bound.least)) && !x.GreaterThan(decimal.NewFromInt(bound.most)),
			bound.name, "expected a number from %d to %d", bound.least, bound.most)
	}
}

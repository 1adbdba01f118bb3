package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/person"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// robots is the number of robots, which are simulated drivers, in the sandbox.
const robots = 40

// who names the loader in the audit log.
const who = "svc:demo"

// loader loads the demo as of one moment.
type loader struct {
	db   *table.DB
	now  time.Time
	by   audit.By
	hash string // hash of Password, for every person
}

// Declares that the items of type demo (see marker) have no personal data.
var _ = table.Kind[any]{Type: "demo", Personal: "nothing"}

// Load loads the demo into the table once; a marker records that it is loaded.
// The next call completes an interrupted load. loaded is false if there was
// nothing to do: the marker exists, or another tenant already has the slug of
// a demo tenant.
func Load(ctx context.Context, db *table.DB, now time.Time) (loaded bool, err error) {
	l := &loader{db: db, now: now.UTC().Truncate(time.Millisecond), by: audit.By{Who: who, At: now}}
	for _, p := range demo.Tenants {
		found, err := tenant.Store{DB: db}.BySlug(ctx, p.Tenant.Slug)
		switch {
		case errors.Is(err, fault.NotFound()):
		case err != nil:
			return false, fmt.Errorf("demo data: %w", err)
		case found.ID != p.Tenant.ID:
			return false, nil
		}
	}
	first := db.Tenant(demo.Tenants[0].Tenant.ID)
	if it, err := first.Get(ctx, marker(first)); err != nil || it.Found() {
		return false, errors.Join(err, l.addSandbox(ctx, first))
	}
	l.hash = password.Hash(Password)
	for _, p := range demo.Tenants {
		if err := l.tenant(ctx, p); err != nil {
			return false, fmt.Errorf("demo data of %s: %w", p.Tenant.Slug, err)
		}
	}
	if err := l.operators(ctx); err != nil {
		return false, fmt.Errorf("demo data: %w", err)
	}
	if err := l.feedback(ctx); err != nil {
		return false, fmt.Errorf("demo data: %w", err)
	}
	if err := errors.Join(l.exports(ctx, first), l.privacy(ctx, first)); err != nil {
		return false, fmt.Errorf("demo data: %w", err)
	}
	if err := first.Load(ctx, table.Item{Key: sandboxMarker(first), Type: "demo"},
		table.Item{Key: marker(first), Type: "demo"}); err != nil {
		return false, fmt.Errorf("demo data: %w", err)
	}
	return true, nil
}

// marker is the key of the item that records that the demo was loaded.
func marker(t table.Tenant) table.Key { return t.Key("DEMO", "DEMO") }

// sandboxMarker is the key of the item that records that the sandbox was loaded. The
// sandbox may have been deleted since.
func sandboxMarker(t table.Tenant) table.Key { return t.Key("DEMO", "SANDBOX") }

// addSandbox adds the sandbox to a demo that was loaded by a build without a sandbox. first
// is the tenant that has the markers.
func (l *loader) addSandbox(ctx context.Context, first table.Tenant) error {
	if it, err := first.Get(ctx, sandboxMarker(first)); err != nil || it.Found() {
		return err
	}
	toy := demo.bySlug("sandbox")
	t := l.db.Tenant(toy.Tenant.ID)
	roster, err := t.Get(ctx, sandbox.Key(t))
	if err == nil && !roster.Found() {
		l.hash = password.Hash(Password)
		if err = l.tenant(ctx, toy); err == nil {
			err = l.operators(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("demo data of %s: %w", toy.Tenant.Slug, err)
	}
	return first.Load(ctx, table.Item{Key: sandboxMarker(first), Type: "demo"})
}

// once returns err, but nil for an item that exists because an interrupted load wrote it.
func once(err error) error {
	for _, there := range []error{table.ErrCondition, tenant.ErrSlugTaken, login.ErrTaken, person.ErrTaken,
		person.ErrMember} {
		if errors.Is(err, there) {
			return nil
		}
	}
	return err
}

// tenant writes the tenant p with its branding, settings, services, zones and people, and
// then its trips and deliveries. A sandbox gets robots instead.
func (l *loader) tenant(ctx context.Context, p demoTenant) error {
	if _, err := (tenant.Store{DB: l.db}).CreateAs(ctx, l.by, p.Tenant); once(err) != nil {
		return err
	}
	t := l.db.Tenant(p.Tenant.ID)
	look, err := branding.ParsePatch(p.Branding)
	if err != nil {
		return err
	}
	commit := func(ctx context.Context, tx *table.Tx, _ branding.Branding) error { return tx.Commit(ctx) }
	if _, err := branding.Change(ctx, t, l.by, look, commit); err != nil {
		return err
	}
	if _, err := settings.Set(ctx, t, l.by, func(d *settings.Document) error {
		*d = settings.Document(p.Settings)
		return nil
	}); err != nil {
		return err
	}
	for _, s := range p.Services {
		if _, err := settings.AddService(ctx, t, l.by, settings.Service(s)); once(err) != nil {
			return err
		}
	}
	for _, z := range p.Zones {
		if _, err := settings.AddZone(ctx, t, l.by, z); once(err) != nil {
			return err
		}
	}
	if err := l.people(ctx, t, p); err != nil {
		return err
	}
	if err := tenant.KeepCurrency(ctx, t); err != nil {
		return err
	}
	if p.Tenant.Sandbox {
		return sandbox.Fill(ctx, l.db, l.by, p.Tenant, robots, p.Spots[0].Lat, p.Spots[0].Lng)
	}
	if err := l.trips(ctx, t, p); err != nil {
		return err
	}
	return l.delivery(ctx, t, p)
}

// seen is the age of a driver's last reported position, by the driver's status.
var seen = map[string]time.Duration{driver.Online: 20 * time.Second, driver.Busy: 5 * time.Second}

// people writes the tenant's drivers and riders.
func (l *loader) people(ctx context.Context, t table.Tenant, p demoTenant) error {
	for i, r := range p.Drivers {
		joined := audit.By{Who: who, At: l.now.AddDate(0, 0, -90+i)}
		r.LocationUpdatedAt = timestamp.Ptr(l.now.Add(-seen[r.Status]))
		if _, err := driver.Create(ctx, t, joined, r, l.hash); once(err) != nil {
			return err
		}
		number, until := "4711", "2031-04-30"
		licence := fleet.DriverDocument{ID: id(ids.Document, p.Tenant.Slug, i+1),
			DriverDocumentEdit: fleet.DriverDocumentEdit{Kind: "DRIVING_LICENCE", NumberLast4: &number, ExpiresOn: &until}}
		if _, err := fleet.AddDocument(ctx, t, joined, r.ID, licence); once(err) != nil {
			return err
		}
	}
	for i, r := range p.Riders {
		joined := audit.By{Who: who, At: l.now.AddDate(0, 0, -90+len(p.Drivers)+7*i)}
		if _, err := customer.Store.Create(ctx, t, joined, r, l.hash); once(err) != nil {
			return err
		}
	}
	return nil
}

// operators writes the operators with their memberships.
func (l *loader) operators(ctx context.Context) error {
	store := person.Store{DB: l.db}
	for _, one := range People() {
		if one.Audience != authz.Dashboard {
			continue
		}
		p := person.Person{ID: one.ID, Email: one.Email, FirstName: one.First, LastName: one.Last}
		if _, err := store.Create(ctx, l.by, p, l.hash); once(err) != nil {
			return err
		}
		for _, d := range demo.Tenants {
			if one.Tenant != d.Tenant.Slug && (one.Tenant != "" || d.Tenant.Sandbox) {
				continue
			}
			role := "owner"
			if one.Tenant == "" {
				role = "support"
			}
			if _, err := store.Join(ctx, l.db.Tenant(d.Tenant.ID), l.by, one.ID, role,
				authz.Permissions()); once(err) != nil {
				return err
			}
		}
	}
	return nil
}

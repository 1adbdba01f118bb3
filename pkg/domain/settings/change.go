package settings

import (
	"context"
	"errors"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Change changes the settings of a tenant, in one transaction with an audit entry. The
// feature flags are stored in the tenant's record, and everything else in the settings
// document.
type Change struct {
	Tenant table.Tenant
	By     audit.By
	Edit   func(*Settings) error // changes the settings that were read
	Read   audit.Reader          // nil means Tenant.Get
	Local  bool                  // the service runs on a laptop
	// Require checks the versions of the settings document and of the tenant's record that
	// were read, for If-Match. It may be nil.
	Require func(document, tenant int64) error
	// Commit commits the transaction; nil means tx.Commit. It gets the versions that
	// the transaction stores.
	Commit func(ctx context.Context, tx *table.Tx, now Settings, document, tenant int64) error
}

// Run makes the change and returns the settings. Errors: a 400 with every fault.
func (c Change) Run(ctx context.Context) (Settings, error) {
	read := c.Read
	if read == nil {
		read = c.Tenant.Get
	}
	var company, document table.Item
	return audit.Change[Settings]{Tenant: c.Tenant, By: c.By, What: "settings.set", Subject: c.Tenant.ID(),
		Key: Key(c.Tenant), Edit: c.Edit,
		Read: func(ctx context.Context, key table.Key) (_ table.Item, err error) {
			if company, err = read(ctx, tenant.Key(c.Tenant)); err == nil {
				document, err = read(ctx, key)
			}
			return document, err
		},
		FromItem: func(it table.Item) (Settings, error) {
			t, err := tenant.Kind.FromItem(company)
			if err != nil && !errors.Is(err, fault.NotFound()) {
				return Settings{}, err
			}
			d, err := Kind.FromItem(it)
			return Settings{t.TaxiEnabled, t.DeliveryEnabled, d}, err
		},
		Require: func(table.Item) error {
			if c.Require == nil {
				return nil
			}
			return c.Require(document.Version, company.Version)
		},
		Check: func(was Settings, now *Settings) error { return now.check(was, company, c.Local) },
		Item: func(stored table.Item, now Settings) table.Item {
			it := Kind.Item(c.Tenant, "", now.Document)
			it.Doc = now.over(stored.Raw())
			return it
		},
		Also: func(_ context.Context, tx *table.Tx, was, now Settings) error {
			flags := now.flags(was)
			if was.TaxiEnabled != now.TaxiEnabled || was.DeliveryEnabled != now.DeliveryEnabled {
				flags[authz.Taxi], flags[authz.Delivery] = now.TaxiEnabled, now.DeliveryEnabled
				if err := tenant.SetFeatures(tx, c.Tenant, company, now.TaxiEnabled, now.DeliveryEnabled); err != nil {
					return err
				}
			}
			tenant.SetFlags(tx, c.Tenant, flags)
			return nil
		},
		Commit: func(ctx context.Context, tx *table.Tx, was, now Settings) error {
			if c.Commit == nil {
				return tx.Commit(ctx)
			}
			version := company.Version
			if was.TaxiEnabled != now.TaxiEnabled || was.DeliveryEnabled != now.DeliveryEnabled {
				version++
			}
			return c.Commit(ctx, tx, now, document.Version+1, version)
		}}.Run(ctx)
}

// check returns what is wrong with the changed settings s, except in members that are the
// same in was, the settings before. company is the item of the tenant's record. local is
// true in svc dev.
func (s *Settings) check(was Settings, company table.Item, local bool) error {
	n, err := tenant.Kind.FromItem(company)
	if err != nil && !errors.Is(err, fault.NotFound()) {
		return err
	}
	if err = changed(s.normalize(Limits{n.Currency, n.MaxFare}), was, *s); err != nil {
		return err
	}
	return s.checkHosts(was.Document, local)
}

// flags returns, by name, those settings that the tenant's flags store too and that differ
// from was, the settings before.
func (s Settings) flags(was Settings) map[string]any {
	flags := map[string]any{}
	if was.Dispatch.DriverStatus != s.Dispatch.DriverStatus {
		flags[tenant.DriverStatus] = s.Dispatch.DriverStatus
	}
	if was.Dispatch.DriverLicence != s.Dispatch.DriverLicence {
		flags[tenant.DriverLicence] = s.Dispatch.DriverLicence
	}
	if was.Dispatch.EarlyArrival != s.Dispatch.EarlyArrival {
		flags[tenant.EarlyMinutes] = s.Dispatch.EarlyArrival
	}
	return flags
}

// Set changes the tenant's settings document, for a command of the platform's operator.
func Set(ctx context.Context, t table.Tenant, by audit.By, edit func(*Document) error) (Document, error) {
	s, err := Change{Tenant: t, By: by, Local: true, Edit: func(s *Settings) error { return edit(&s.Document) }}.Run(ctx)
	return s.Document, err
}

package tenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Store reads and changes tenants.
type Store struct{ DB *table.DB }

// ErrSlugTaken and ErrDomainTaken report that another tenant has the slug or the
// domain. Create may return either. Change may return only ErrDomainTaken, because
// a slug never changes.
var (
	ErrSlugTaken   = fault.InvalidState("Another tenant has this slug.")
	ErrDomainTaken = fault.InvalidState("Another tenant has this domain.")
)

// Kinds are the kinds of platform data in which the store keeps slugs and
// domains.
var Kinds = []string{"SLUG", "DOMAIN"}

// platform returns the handle for slugs and domains.
func (s Store) platform() table.Platform { return s.DB.Platform(Kinds...) }

// Key returns the key of the tenant's record.
func Key(t table.Tenant) table.Key { return t.Key("TENANT", "TENANT") }

// Kind stores the tenant's record.
var Kind = table.Kind[Tenant]{Type: "tenant", Personal: "nothing",
	Row: func(t table.Tenant, _ string, _ Tenant) table.Item { return table.Item{Key: Key(t), Version: 1} }}

// Create adds a tenant. It generates ID and CreatedAt, and fills in Currency
// (USD), Timezone (UTC) and shards (1) if absent. It returns ErrSlugTaken or
// ErrDomainTaken if another tenant has the slug or domain.
func (s Store) Create(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	n.ID, n.CreatedAt, n.ReadShardsAt = ids.New(ids.Tenant, by.At), timestamp.Format(by.At), ""
	return s.create(ctx, by, n)
}

// CreateAs adds a tenant as Create does, but with the ID that n has. It is for data with
// fixed ids.
func (s Store) CreateAs(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	if !ids.Valid(ids.Tenant, n.ID) {
		return Tenant{}, fmt.Errorf("expected a tenant's id (%s_ and a ULID), not %q", ids.Tenant, n.ID)
	}
	n.CreatedAt, n.ReadShardsAt = timestamp.Format(by.At), ""
	return s.create(ctx, by, n)
}

var _ = table.Kind[any]{Type: "slug", Personal: "nothing", Once: "names its owner for good"}
var _ = table.Kind[any]{Type: "flags", Personal: "nothing", Once: "only updated"}

// create adds a tenant that has its ID already.
func (s Store) create(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	if n.Currency == "" {
		n.Currency = "USD"
	}
	if n.Timezone == "" {
		n.Timezone = "UTC"
	}
	n.ReadShards, n.WriteShards = cmp.Or(n.ReadShards, 1), cmp.Or(n.WriteShards, 1)
	n.MaxOpenTrips = cmp.Or(n.MaxOpenTrips, NewOpenTrips)
	if err := n.normalize(Tenant{}); err != nil {
		return Tenant{}, err
	}
	t, p := s.DB.Tenant(n.ID), s.platform()
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write().Covers(p.Handle)
		tx.Create(Kind.Item(t, "", n))
		tx.Create(table.Item{Key: slugKey(p, n.Slug), Type: "slug", Attrs: map[string]any{"tenant": n.ID},
			G: [4]string{p.Partition("SLUG")}, R: n.Slug}).Else(ErrSlugTaken)
		if n.CustomDomain != "" {
			claim(tx, p, n)
		}
		live := flags(n)
		live[authz.ZonesCovered] = true // a new tenant has no zone that lacks its cover
		for i := range authz.Copies {
			tx.Put(table.Item{Key: authz.FlagsKey(t, i), Type: "flags", Attrs: live})
		}
		audit.Append(tx, t, by, "tenant.create", n.ID, nil, n)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Tenant{}, fmt.Errorf("create tenant: %w", err)
	}
	return n, nil
}

// Change edits a tenant's record. One transaction writes the record, all copies
// of the tenant's flags, the domain and an audit entry. edit may run more than
// once. Errors: fault.NotFound if there is no tenant; ErrDeleting; ErrDomainTaken;
// ErrPriced if the currency would change but the tenant has amounts in it;
// fault.InvalidState if the write shards are raised too early (SettleShards).
func (s Store) Change(ctx context.Context, id string, by audit.By, edit func(*Tenant) error) (Tenant, error) {
	t := s.DB.Tenant(id)
	return audit.Change[Tenant]{Tenant: t, By: by, What: "tenant.set", Subject: id,
		Key: Key(t), Kind: &Kind, Edit: edit,
		Check: func(was Tenant, now *Tenant) error {
			if err := now.normalize(was); err != nil {
				return err
			}
			if now.ReadShards != was.ReadShards {
				now.ReadShardsAt = timestamp.Format(by.At)
			}
			return now.follows(was, by.At)
		},
		Also: func(_ context.Context, tx *table.Tx, was, now Tenant) error {
			s.follow(tx, t, was, now)
			if now.Retain != was.Retain {
				ApplyRetention(tx, s.DB, t, by.At, "changed")
			}
			return nil
		}}.Run(ctx)
}

// follow adds to the transaction the data that must agree with the tenant's record when it
// changes from was to now: the domain and all copies of the tenant's flags.
func (s Store) follow(tx *table.Tx, t table.Tenant, was, now Tenant) {
	p := s.platform()
	tx.Covers(p.Handle)
	if now.CustomDomain != was.CustomDomain {
		if was.CustomDomain != "" {
			release(tx, p, was)
		}
		if now.CustomDomain != "" {
			claim(tx, p, now)
		}
	}
	for i := range authz.Copies {
		op := tx.Update(authz.FlagsKey(t, i), table.Change{Set: flags(now)})
		if now.Currency != was.Currency {
			op.If("attribute_not_exists(" + priced + ")").Else(ErrPriced)
		}
	}
}

// ByID reads a tenant. It returns fault.NotFound if there is none.
func (s Store) ByID(ctx context.Context, id string) (Tenant, error) {
	if !ids.Valid(ids.Tenant, id) {
		return Tenant{}, fault.NotFound()
	}
	t := s.DB.Tenant(id)
	return Kind.Get(ctx, t.Get, Key(t))
}

// BySlug reads the tenant of a slug in any letter case. It returns
// fault.NotFound if there is none.
func (s Store) BySlug(ctx context.Context, slug string) (Tenant, error) {
	if slug = strings.ToLower(slug); !slugs.MatchString(slug) {
		return Tenant{}, fault.NotFound()
	}
	it, err := s.platform().Get(ctx, slugKey(s.platform(), slug))
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant: %w", err)
	}
	if !it.Found() {
		return Tenant{}, fault.NotFound()
	}
	return s.ByID(ctx, it.Text("tenant"))
}

// IsDomain reports whether the host is or was the custom domain of a tenant.
func (s Store) IsDomain(ctx context.Context, host string) (bool, error) {
	it, err := s.platform().Get(ctx, domainKey(s.platform(), host))
	if err != nil {
		return false, fmt.Errorf("domain: %w", err)
	}
	return it.Found(), nil
}

// listReads is how many tenants List reads in parallel. Reading 10,000 tenants one after
// the other would take most of the time of a background run.
const listReads = 16

// List reads all tenants, ordered by slug.
//
// Access pattern: by-g1 SLUG#, a thousand per page, then one get per tenant.
func (s Store) List(ctx context.Context) ([]Tenant, error) {
	var out []Tenant
	p := s.platform()
	for items, err := range p.Pages(ctx, p.Partition("SLUG"), table.Query{Index: 1, Limit: table.Examined}) {
		if err != nil {
			return nil, fmt.Errorf("list tenants: %w", err)
		}
		found := make([]Tenant, len(items))
		group, ctx := panics.WithContext(ctx)
		group.SetLimit(listReads)
		for i, it := range items {
			group.Go(func() (err error) {
				if found[i], err = s.ByID(ctx, it.Text("tenant")); errors.Is(err, fault.NotFound()) {
					return nil // the tenant was deleted, but is still in the index
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(found, func(n Tenant) bool { return n.ID == "" })...)
	}
	return out, nil
}

// WriteShards reads the number of shards that the tenant's writes use, for
// changes outside a request.
func WriteShards(ctx context.Context, t table.Tenant) (int, error) {
	it, err := Flags(ctx, t)
	if err != nil {
		return 0, err
	}
	return max(1, int(it.Int("writeShards"))), nil
}

// ReadShards reads the number of shards that the tenant's lists merge.
func ReadShards(ctx context.Context, t table.Tenant) (int, error) {
	it, err := Flags(ctx, t)
	if err != nil {
		return 0, err
	}
	return max(1, int(it.Int("readShards"))), nil
}

// slugKey and domainKey return the keys of the items that say which tenant has a slug or a
// custom domain.
func slugKey(p table.Platform, slug string) table.Key   { return p.Key("SLUG", slug, "SLUG") }
func domainKey(p table.Platform, host string) table.Key { return p.Key("DOMAIN", host, "DOMAIN") }

var _ = table.Kind[any]{Type: "domain", Personal: "nothing", Once: "names its owner; deleted with the name"}

// claim gives the tenant its custom domain. The transaction fails with ErrDomainTaken if
// another tenant has it.
func claim(tx *table.Tx, p table.Platform, n Tenant) {
	tx.Put(table.Item{Key: domainKey(p, n.CustomDomain), Type: "domain", Attrs: map[string]any{"tenant": n.ID}}).
		If("attribute_not_exists(tenant)").Else(ErrDomainTaken)
}

// release frees the tenant's domain for any tenant. The item stays without an owner,
// because the domain's DNS may still lead to this service (IsDomain).
func release(tx *table.Tx, p table.Platform, n Tenant) {
	tx.Put(table.Item{Key: domainKey(p, n.CustomDomain), Type: "domain"})
}

// flags returns the attributes of a copy of the tenant's flags, which the checks of every
// request read.
func flags(n Tenant) map[string]any {
	return map[string]any{"disabled": n.Disabled, authz.Taxi: n.TaxiEnabled, authz.Delivery: n.DeliveryEnabled,
		"currency": n.Currency, "readShards": n.ReadShards, "writeShards": n.WriteShards, "name": n.Name, "slug": n.Slug,
		"maxFare": string(n.MaxFare), "maxPosting": string(n.MaxPosting), "walletFloor": string(n.WalletFloor),
		"maxOpenTrips": n.MaxOpenTrips, authz.AgentActions: n.AgentActions, SignUpFlag: n.RiderSignUp,
		deleting: marked(n.DeletingAt != ""), sandbox: marked(n.Sandbox)}
}

// sandbox is the flag of a tenant for tests, in which no rides or people are real.
const sandbox = "sandbox"

// IsSandbox reports, from a copy of the tenant's flags, whether the tenant is a sandbox, a
// tenant for tests.
func IsSandbox(flags table.Item) bool { return flags.Flag(sandbox) }

// SetFeatures sets the taxi and delivery features in a tenant's record, as part of
// another change's transaction. The caller must set the flags too (SetFlags). read is the
// item of the record. The transaction fails with table.ErrConflict if the record has
// changed since it was read. Errors: ErrDeleting.
func SetFeatures(tx *table.Tx, t table.Tenant, read table.Item, taxi, delivery bool) error {
	n, err := Kind.FromItem(read)
	if err != nil {
		return err
	}
	if n.DeletingAt != "" {
		return ErrDeleting
	}
	n.TaxiEnabled, n.DeliveryEnabled = taxi, delivery
	audit.Put(tx, read, Kind.Item(t, "", n))
	return nil
}

// SetFlags sets the given flags in all copies of the tenant's flags.
func SetFlags(tx *table.Tx, t table.Tenant, flags map[string]any) {
	if len(flags) == 0 {
		return
	}
	for i := range authz.Copies {
		tx.Update(authz.FlagsKey(t, i), table.Change{Set: flags})
	}
}

// DriverStatus is the flag with the setting dispatch.driverStatus. It is a flag because
// each request to accept a trip needs it, and reads the flags anyway.
const DriverStatus = "driverStatus"

// EarlyMinutes is the flag with the setting dispatch.earlyArrivalMinutes, which each
// arrival and start needs. Without the flag, the value is DefaultEarlyMinutes.
const EarlyMinutes = "earlyArrivalMinutes"

// DefaultEarlyMinutes is how many minutes before the booked time of a ride its driver may
// arrive, by default.
const DefaultEarlyMinutes = 120

// EarlyArrival returns, from a copy of the tenant's flags, how long before its booked time a
// ride may begin.
func EarlyArrival(flags table.Item) time.Duration {
	minutes := int64(DefaultEarlyMinutes)
	if flags.Has(EarlyMinutes) {
		minutes = flags.Int(EarlyMinutes)
	}
	return time.Duration(minutes) * time.Minute
}

// DriverLicence is the flag with the tenant's setting dispatch.driverLicence.
const DriverLicence = "driverLicence"

// NeedsLicence reports, from a copy of the flags, whether a driver without a valid licence
// cannot go online.
func NeedsLicence(flags table.Item) bool { return flags.Text(DriverLicence) == "valid" }

// Strict reports, from a copy of the flags, whether the tenant's dispatch.driverStatus is
// strict: trips then change the status of their drivers.
func Strict(flags table.Item) bool { return flags.Text(DriverStatus) == "strict" }

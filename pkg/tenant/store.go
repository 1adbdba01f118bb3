package tenant

import (
	"cmp"
	"context"
	"fmt"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Store reads and changes tenants.
type Store struct{ DB *table.DB }

// The faults of a slug or domain that another tenant has.
var (
	ErrSlugTaken   = fault.InvalidState("Another tenant has this slug.")
	ErrDomainTaken = fault.InvalidState("Another tenant has this domain.")
)

// Kinds are the platform data that the store touches.
var Kinds = []string{"SLUG", "DOMAIN"}

func (s Store) platform() table.Platform { return s.DB.Platform(Kinds...) }

// Key is the key of the tenant's record.
func Key(t table.Tenant) table.Key { return t.Key("TENANT", "TENANT") }

// Of reads a record of its item; fault.NotFound when there is none.
func Of(it table.Item) (Tenant, error) {
	if !it.Found() {
		return Tenant{}, fault.NotFound()
	}
	var out Tenant
	return out, it.Decode(&out)
}

// Create adds a tenant. ID and CreatedAt are made, absent Currency (USD),
// Timezone (UTC) and shards (1) filled in. ErrSlugTaken and ErrDomainTaken when
// another tenant has one of them.
func (s Store) Create(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	n.ID, n.CreatedAt, n.ReadShardsAt = ids.New(ids.Tenant, by.At), timestamp.Format(by.At), ""
	return s.create(ctx, by, n)
}

// CreateAs is Create with a given ID, for data whose ids are fixed.
func (s Store) CreateAs(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	if !ids.Valid(ids.Tenant, n.ID) {
		return Tenant{}, fmt.Errorf("not a tenant's id: %q", n.ID)
	}
	n.CreatedAt, n.ReadShardsAt = timestamp.Format(by.At), ""
	return s.create(ctx, by, n)
}

func (s Store) create(ctx context.Context, by audit.By, n Tenant) (Tenant, error) {
	if n.Currency == "" {
		n.Currency = "USD"
	}
	if n.Timezone == "" {
		n.Timezone = "UTC"
	}
	n.ReadShards, n.WriteShards = cmp.Or(n.ReadShards, 1), cmp.Or(n.WriteShards, 1)
	if err := n.normal(); err != nil {
		return Tenant{}, err
	}
	t, p := s.DB.Tenant(n.ID), s.platform()
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write().Covers(p.Handle)
		tx.Create(record(t, n))
		tx.Create(table.Item{Key: slugKey(p, n.Slug), Type: "slug", Attrs: map[string]any{"tenant": n.ID},
			G: [4]string{p.Partition("SLUG")}, R: n.Slug}).Else(ErrSlugTaken)
		if n.CustomDomain != "" {
			claim(tx, p, n)
		}
		for i := range authz.Copies {
			tx.Put(table.Item{Key: authz.FlagsKey(t, i), Type: "flags", Attrs: flags(n)})
		}
		audit.Append(tx, t, by, "tenant.create", n.ID, nil, n)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Tenant{}, fmt.Errorf("create tenant: %w", err)
	}
	return n, nil
}

// Change runs change on the tenant's record and writes what came of it: the
// record, all copies of the live flags, the domain and an audit entry, in one
// transaction. It may run change more than once. A change that changes nothing
// writes nothing. An error of change is given back as it is. ErrPriced when the
// currency would change and the tenant has amounts in the one it has.
func (s Store) Change(ctx context.Context, id string, by audit.By, change func(*Tenant) error) (Tenant, error) {
	t, p := s.DB.Tenant(id), s.platform()
	var now Tenant
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, Key(t))
		if err != nil {
			return err
		}
		was, err := Of(it)
		if err != nil {
			return err
		}
		now = was
		if err := change(&now); err != nil {
			return err
		}
		if err := now.normal(); err != nil {
			return err
		}
		if now == was {
			return nil
		}
		if err := now.follows(was, by.At); err != nil {
			return err
		}
		if now.ReadShards != was.ReadShards {
			now.ReadShardsAt = timestamp.Format(by.At)
		}
		tx := t.Write().Covers(p.Handle)
		item := record(t, now)
		item.Version = it.Version
		tx.Replace(item).Else(table.ErrConflict)
		if now.CustomDomain != was.CustomDomain {
			if was.CustomDomain != "" {
				tx.Delete(domainKey(p, was.CustomDomain))
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
		audit.Append(tx, t, by, "tenant.set", id, was, now)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Tenant{}, fmt.Errorf("change tenant: %w", err)
	}
	return now, nil
}

// ByID reads a tenant; fault.NotFound when there is none.
func (s Store) ByID(ctx context.Context, id string) (Tenant, error) {
	if !ids.Valid(ids.Tenant, id) {
		return Tenant{}, fault.NotFound()
	}
	t := s.DB.Tenant(id)
	it, err := t.Get(ctx, Key(t))
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant: %w", err)
	}
	return Of(it)
}

// BySlug reads the tenant of a slug; fault.NotFound when there is none.
func (s Store) BySlug(ctx context.Context, slug string) (Tenant, error) {
	if !slugs.MatchString(slug) {
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

// List reads all tenants by slug.
//
// Access pattern: by-g1 SLUG#, a thousand a page.
func (s Store) List(ctx context.Context) ([]Tenant, error) {
	var out []Tenant
	for after := ""; ; {
		page, err := s.platform().Query(ctx, s.platform().Partition("SLUG"), table.Query{Index: 1, After: after, Limit: table.Examined})
		if err != nil {
			return nil, fmt.Errorf("list tenants: %w", err)
		}
		for _, it := range page.Items {
			one, err := s.ByID(ctx, it.Text("tenant"))
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		if after = page.Last; !page.More {
			return out, nil
		}
	}
}

// WriteShards reads how many shards the tenant's writes pick from, for changes
// made outside a request.
func WriteShards(ctx context.Context, t table.Tenant) (int, error) {
	it, err := Flags(ctx, t)
	if err != nil {
		return 0, err
	}
	return max(1, int(it.Int("writeShards"))), nil
}

// ReadShards reads how many shards the tenant's lists merge.
func ReadShards(ctx context.Context, t table.Tenant) (int, error) {
	it, err := Flags(ctx, t)
	if err != nil {
		return 0, err
	}
	return max(1, int(it.Int("readShards"))), nil
}

func slugKey(p table.Platform, slug string) table.Key   { return p.Key("SLUG", "SLUG", slug) }
func domainKey(p table.Platform, host string) table.Key { return p.Key("DOMAIN", "DOMAIN", host) }

func claim(tx *table.Tx, p table.Platform, n Tenant) {
	tx.Create(table.Item{Key: domainKey(p, n.CustomDomain), Type: "domain", Attrs: map[string]any{"tenant": n.ID}}).Else(ErrDomainTaken)
}

func record(t table.Tenant, n Tenant) table.Item {
	return table.Item{Key: Key(t), Type: "tenant", Version: 1, Doc: n}
}

// flags is what every request reads of the tenant.
func flags(n Tenant) map[string]any {
	return map[string]any{"disabled": n.Disabled, authz.Taxi: n.TaxiEnabled, authz.Delivery: n.DeliveryEnabled, "currency": n.Currency,
		"readShards": n.ReadShards, "writeShards": n.WriteShards, "name": n.Name, "slug": n.Slug}
}

package person

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// ErrMember reports that the person already has a membership in the tenant.
var ErrMember = fault.InvalidState("The person is a member of this tenant already.")

// Join adds a membership of the person in the tenant. Errors: a 400 for a faulty
// role or an unknown permission, fault.NotFound if there is no such person,
// ErrMember if there is a membership, fault.InvalidState if the person has
// MaxTenants memberships.
func (s Store) Join(
	ctx context.Context, t table.Tenant, by audit.By, id, role string, permissions []string,
) (Membership, error) {
	permissions, err := authz.ParsePermissions("permission", permissions)
	if err != nil {
		return Membership{}, err
	}
	if role = strings.TrimSpace(role); !plaintext.IsLine(role, 100) {
		return Membership{}, fault.Field("role", "expected %s", plaintext.Rule(100))
	}
	m := Membership{TenantID: t.ID(), PersonID: id, Role: role, Permissions: permissions,
		CreatedAt: timestamp.Format(by.At)}
	err = s.change(ctx, id, func(_ context.Context, p *Person, tx *table.Tx) (Membership, error) {
		err := p.join(tx, t, &m)
		audit.Append(tx, t, by, "member.add", id, nil, m)
		return m, err
	})
	if err != nil {
		return Membership{}, fmt.Errorf("add member: %w", err)
	}
	return m, nil
}

// join adds a new membership of the person to the transaction that writes the record. The
// errors are those of Join.
func (p *Person) join(tx *table.Tx, t table.Tenant, m *Membership) error {
	switch {
	case slices.Contains(p.Tenants, t.ID()):
		return ErrMember
	case len(p.Tenants) >= MaxTenants:
		return fault.InvalidState("A person has at most %d memberships.", MaxTenants)
	}
	p.Tenants = append(p.Tenants, t.ID())
	m.Disabled = p.Disabled
	tx.Covers(t.Handle).Create(MemberKind.Item(t, "", *m)).Else(table.ErrConflict)
	return nil
}

// Leave removes the person's membership in the tenant. The person's tokens
// there become invalid at once, and stay invalid if the person joins again. The
// error is fault.NotFound if the person is not a member.
func (s Store) Leave(ctx context.Context, t table.Tenant, by audit.By, id string) error {
	return s.change(ctx, id, func(ctx context.Context, p *Person, tx *table.Tx) (Membership, error) {
		it, m, err := s.readMembership(ctx, t, id)
		if err == nil {
			err = s.guard(ctx, tx.Covers(t.Handle), it, m, Membership{})
		}
		p.Tenants = slices.DeleteFunc(p.Tenants, func(tenant string) bool { return tenant == t.ID() })
		tx.Covers(t.Handle).Delete(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		audit.Append(tx, t, by, "member.remove", id, m, nil)
		return m, err
	})
}

// Grant adds permissions to the membership. Errors: a 400 for an unknown
// permission, fault.NotFound if there is no membership.
func (s Store) Grant(
	ctx context.Context, t table.Tenant, by audit.By, id string, permissions ...string,
) (Membership, error) {
	permissions, err := authz.ParsePermissions("permission", permissions)
	if err != nil {
		return Membership{}, err
	}
	return s.alter(ctx, t, by, "member.grant", id, func(m *Membership) error {
		m.Permissions, _ = authz.ParsePermissions("permission", append(m.Permissions, permissions...))
		return nil
	})
}

// Revoke removes permissions from the membership. Every existing token loses
// them at once. Errors: as Grant.
func (s Store) Revoke(
	ctx context.Context, t table.Tenant, by audit.By, id string, permissions ...string,
) (Membership, error) {
	permissions, err := authz.ParsePermissions("permission", permissions)
	if err != nil {
		return Membership{}, err
	}
	return s.alter(ctx, t, by, "member.revoke", id, func(m *Membership) error {
		m.Permissions = slices.DeleteFunc(slices.Clone(m.Permissions),
			func(p string) bool { return slices.Contains(permissions, p) })
		return nil
	})
}

// Disable sets whether the membership is disabled in this tenant only. The tokens of a
// membership that it disables end for good. Errors: those of Edit.
func (s Store) Disable(ctx context.Context, t table.Tenant, by audit.By, id string, disabled bool) (Membership, error) {
	_, m, err := s.Edit(ctx, t, by, "member.disable", id, func(m *Membership) error { return m.Bar(disabled) })
	return m, err
}

// Bar sets whether the tenant disables the membership. The error is fault.InvalidState if
// the person is disabled everywhere.
func (m *Membership) Bar(disabled bool) error {
	if m.Disabled && !m.Barred && !disabled {
		return errEverywhere
	}
	m.Barred = disabled
	return nil
}

var errEverywhere = fault.InvalidState("The person is disabled everywhere.")

// Edit changes a membership: role, permissions and Barred. what is the name of the change in
// the audit log. It returns the person too. Errors: fault.NotFound if there is no membership,
// fault.InvalidState if Edit should enable the membership of a person who is disabled
// everywhere.
func (s Store) Edit(
	ctx context.Context, t table.Tenant, by audit.By, what, id string, edit func(*Membership) error,
) (p Person, now Membership, err error) {
	if !ids.Valid(ids.Person, id) {
		return p, now, fault.NotFound()
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, was, err := s.readMembership(ctx, t, id)
		if err != nil {
			return err
		}
		var record table.Item
		if record, p, err = s.readPerson(ctx, id); err != nil {
			return err
		}
		now = was
		now.Permissions = slices.Clone(was.Permissions)
		if err := edit(&now); err != nil {
			return err
		}
		if p.Disabled && was.Barred && !now.Barred {
			return errEverywhere
		}
		now.Disabled = now.Barred || p.Disabled
		tx := t.Write()
		if err := s.guard(ctx, tx, it, was, now); err != nil || reflect.DeepEqual(was, now) {
			return err
		}
		audit.Put(tx, it, altered(t, by, it, now))
		tx.Covers(s.platform().Handle).Check(record.Key).If("'version' = ?", record.Version).Else(table.ErrConflict)
		audit.Append(tx, t, by, what, id, was, now)
		return s.commit(ctx, tx, p, now)
	})
	if err != nil {
		return p, Membership{}, fmt.Errorf("%s: %w", what, err)
	}
	return p, now, nil
}

// readMembership reads the person's membership in the tenant, and its item. It
// returns fault.NotFound if there is none.
func (s Store) readMembership(ctx context.Context, t table.Tenant, id string) (table.Item, Membership, error) {
	it, err := s.read(ctx, t.Handle, authz.ActorKey(t, authz.Dashboard, id))
	if err != nil {
		return table.Item{}, Membership{}, fmt.Errorf("membership: %w", err)
	}
	m, err := MemberKind.FromItem(it)
	return it, m, err
}

// Memberships reads all memberships of the person, oldest first, including the
// disabled ones.
//
// Access pattern: the person, then one batch get of T#t#PERSON#id.
func (s Store) Memberships(ctx context.Context, id string) ([]Membership, error) {
	p, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(p.Tenants) == 0 {
		return nil, nil
	}
	handles, keys := table.Handle{}, []table.Key{}
	for _, tenant := range p.Tenants {
		t := s.DB.Tenant(tenant)
		handles, keys = table.Join(handles, t.Handle), append(keys, authz.ActorKey(t, authz.Dashboard, id))
	}
	items, err := handles.Batch(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("memberships: %w", err)
	}
	out := make([]Membership, 0, len(items))
	for _, it := range items {
		m, err := MemberKind.FromItem(it)
		if errors.Is(err, fault.NotFound()) {
			continue // removed between the two reads
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Members reads one page of a tenant's memberships, ordered by person id.
//
// Access pattern: by-g1 T#t#MEMBERS.
func (s Store) Members(
	ctx context.Context, t table.Tenant, after string, limit int,
) (members []Membership, next string, err error) {
	return listed(ctx, t, &MemberKind, after, limit)
}

// listed reads the items of a kind in one page of MembersPartition.
func listed[T any](
	ctx context.Context, t table.Tenant, kind *table.Kind[T], after string, limit int,
) (found []T, next string, err error) {
	page, err := t.Query(ctx, MembersPartition(t), table.Query{Index: 1, After: after, Limit: limit,
		Where: []table.Condition{{Name: "type", Value: kind.Type}}})
	if err != nil {
		return nil, "", fmt.Errorf("members: %w", err)
	}
	if page.More {
		next = page.Last
	}
	found, err = table.DecodeAll(page.Items, kind.FromItem)
	return found, next, err
}

// alter changes a membership and adds an audit entry.
func (s Store) alter(
	ctx context.Context, t table.Tenant, by audit.By, what, id string, edit func(*Membership) error,
) (Membership, error) {
	if !ids.Valid(ids.Person, id) {
		return Membership{}, fault.NotFound()
	}
	return audit.Change[Membership]{Tenant: t, By: by, What: what, Subject: id, Edit: edit,
		Key: authz.ActorKey(t, authz.Dashboard, id), Kind: &MemberKind,
		Item: func(read table.Item, now Membership) table.Item { return altered(t, by, read, now) }}.Run(ctx)
}

// altered returns the stored form of a changed membership. It keeps since, so
// that the member's tokens stay valid, unless the change disables the membership.
func altered(t table.Tenant, by audit.By, was table.Item, m Membership) table.Item {
	it := MemberKind.Item(t, "", m)
	it.Attrs["since"] = cmp.Or(was.Text("since"), m.CreatedAt)
	if m.Disabled && !was.Flag("disabled") {
		it.Attrs["since"] = timestamp.Format(by.At)
	}
	return it
}

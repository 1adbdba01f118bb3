package person

import (
	"context"
	"fmt"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/login"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Store reads and changes people and memberships.
type Store struct{ DB *table.DB }

// Kinds are the platform data that the store touches.
var Kinds = []string{"PERSON", "EMAIL"}

// ErrTaken is a mail address that another person has.
var ErrTaken = fault.InvalidState("Another person has this mail address.")

func (s Store) platform() table.Platform { return s.DB.Platform(Kinds...) }

// Key is the key of a person's record; p covers PERSON.
func Key(p table.Platform, id string) table.Key { return p.Key("PERSON", "PERSON", id) }

// EmailKey is the key of a person's sign-in row; p covers EMAIL. The address
// is folded.
func EmailKey(p table.Platform, address string) table.Key {
	return p.Key("EMAIL", "EMAIL", email.Fold(address))
}

// MembersPartition is the partition of by-g1 that holds a tenant's memberships
// by person id.
func MembersPartition(t table.Tenant) string { return t.Partition("MEMBERS") }

// Create adds a person without memberships; ID (unless given), Tenants and
// CreatedAt are made. Hash is the password's, "" for none yet. ErrTaken when
// another person has the address.
func (s Store) Create(ctx context.Context, by audit.By, n Person, hash string) (Person, error) {
	if n.ID == "" {
		n.ID = ids.New(ids.Person, by.At)
	}
	n.CreatedAt, n.Tenants = timestamp.Format(by.At), []string{}
	if err := n.normal(); err != nil {
		return Person{}, err
	}
	p := s.platform()
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := p.Write()
		tx.Create(record(p, n))
		login.Put(tx, EmailKey(p, n.Email), "email", login.Login{Actor: n.ID, Hash: hash, Since: n.CreatedAt}, ErrTaken)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Person{}, fmt.Errorf("create person: %w", err)
	}
	return n, nil
}

// ByID reads a person; fault.NotFound when there is none.
func (s Store) ByID(ctx context.Context, id string) (Person, error) {
	if !ids.Valid(ids.Person, id) {
		return Person{}, fault.NotFound()
	}
	it, err := s.platform().Get(ctx, Key(s.platform(), id))
	if err != nil {
		return Person{}, fmt.Errorf("person: %w", err)
	}
	return Of(it)
}

// Login reads the sign-in row of a mail address; fault.NotFound when there is
// none.
func (s Store) Login(ctx context.Context, address string) (login.Login, error) {
	if !email.Valid(email.Fold(address)) {
		return login.Login{}, fault.NotFound()
	}
	it, err := s.platform().Get(ctx, EmailKey(s.platform(), address))
	if err != nil {
		return login.Login{}, fmt.Errorf("login: %w", err)
	}
	if !it.Found() {
		return login.Login{}, fault.NotFound()
	}
	return login.Of(it), nil
}

// ByEmail reads the person of a mail address; fault.NotFound when there is none.
func (s Store) ByEmail(ctx context.Context, address string) (Person, error) {
	l, err := s.Login(ctx, address)
	if err != nil {
		return Person{}, err
	}
	return s.ByID(ctx, l.Actor)
}

// SetPassword sets the hash of the person's password in the caller's
// transaction, ends her tokens in all of her tenants, and leaves an audit entry
// in each: two operations a membership and one more. The transaction fails with
// table.ErrConflict when a membership has ended since p was read.
func (s Store) SetPassword(tx *table.Tx, by audit.By, p Person, hash string) {
	login.SetPassword(tx.Covers(s.platform().Handle), EmailKey(s.platform(), p.Email), p.ID, hash, by)
	for _, id := range p.Tenants {
		t := s.DB.Tenant(id)
		login.EndTokens(tx.Covers(t.Handle), t, authz.Dashboard, p.ID, by)
		audit.Append(tx, t, by, "person.password", p.ID, nil, nil)
	}
}

// DisableEverywhere sets whether the person may act at all: her sign-in and all
// of her memberships, in one transaction. A membership that its tenant has
// disabled stays so.
func (s Store) DisableEverywhere(ctx context.Context, by audit.By, id string, disabled bool) error {
	return s.change(ctx, id, func(ctx context.Context, p *Person, tx *table.Tx) error {
		was := p.Disabled
		p.Disabled = disabled
		login.Disable(tx, EmailKey(s.platform(), p.Email), id, disabled)
		for _, tenant := range p.Tenants {
			t := s.DB.Tenant(tenant)
			it, err := t.Get(ctx, authz.ActorKey(t, authz.Dashboard, id))
			if err != nil {
				return fmt.Errorf("membership: %w", err)
			}
			m, err := MembershipOf(it)
			if err != nil {
				return err
			}
			m.Disabled = disabled || m.Barred
			tx.Replace(altered(t, it, m)).Else(table.ErrConflict)
			audit.Append(tx, t, by, "person.disable", id, map[string]bool{"disabled": was}, map[string]bool{"disabled": disabled})
		}
		return nil
	})
}

// change runs fn on the person's record and commits it with what fn adds to
// the transaction, which covers the person's tenants.
func (s Store) change(ctx context.Context, id string, fn func(context.Context, *Person, *table.Tx) error) error {
	if !ids.Valid(ids.Person, id) {
		return fault.NotFound()
	}
	p := s.platform()
	return table.Retry(ctx, func(ctx context.Context) error {
		it, err := p.Get(ctx, Key(p, id))
		if err != nil {
			return fmt.Errorf("person: %w", err)
		}
		one, err := Of(it)
		if err != nil {
			return err
		}
		tx := p.Write()
		for _, tenant := range one.Tenants {
			tx.Covers(s.DB.Tenant(tenant).Handle)
		}
		if err := fn(ctx, &one, tx); err != nil {
			return err
		}
		next := record(p, one)
		next.Version = it.Version
		tx.Replace(next).Else(table.ErrConflict)
		return tx.Commit(ctx)
	})
}

func record(p table.Platform, n Person) table.Item {
	return table.Item{Key: Key(p, n.ID), Type: "person", Version: 1, Attrs: map[string]any{"disabled": n.Disabled}, Doc: n}
}

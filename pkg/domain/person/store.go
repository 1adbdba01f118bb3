package person

import (
	"context"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Store reads and changes people and memberships. The platform's operator may make every
// change.
type Store struct {
	DB *table.DB
	// By limits the changes of Edit and Leave to what a member may make; nil does not.
	By *Changer
}

// Changer is a member who changes a membership.
type Changer struct {
	// Read reads an item of the tenant or a person for each attempt.
	Read audit.Reader
	// Guard decides whether the change may be made, and adds to the transaction that this
	// still holds. read is the item of the membership that was read. now is zero if the
	// membership ends.
	Guard func(ctx context.Context, tx *table.Tx, read table.Item, was, now Membership) error
	// Commit commits the transaction. m is the membership after the change, or the one that ends.
	Commit func(ctx context.Context, tx *table.Tx, p Person, m Membership) error
}

// read reads an item with the handle or, for a member's change, with By.Read.
func (s Store) read(ctx context.Context, h table.Handle, key table.Key) (table.Item, error) {
	if s.By != nil {
		return s.By.Read(ctx, key)
	}
	return h.Get(ctx, key)
}

// guard is Changer.Guard. The platform's operator needs none.
func (s Store) guard(ctx context.Context, tx *table.Tx, read table.Item, was, now Membership) error {
	if s.By == nil {
		return nil
	}
	return s.By.Guard(ctx, tx, read, was, now)
}

// commit is Changer.Commit, or commits the transaction itself.
func (s Store) commit(ctx context.Context, tx *table.Tx, p Person, m Membership) error {
	if s.By == nil {
		return tx.Commit(ctx)
	}
	return s.By.Commit(ctx, tx, p, m)
}

// Kinds are the kinds of platform data that the store uses.
var Kinds = []string{"PERSON", "EMAIL"}

// ErrTaken reports that another person has the mail address.
var ErrTaken = fault.InvalidState("Another person has this mail address.")

// platform returns the handle for the platform data that the store uses.
func (s Store) platform() table.Platform { return s.DB.Platform(Kinds...) }

// Key returns the key of a person's record. p must be a handle for the kind
// PERSON.
func Key(p table.Platform, id string) table.Key { return p.Key("PERSON", id, "PERSON") }

// EmailKey returns the key of a person's sign-in item, which has the password hash. p
// must be a handle for the kind EMAIL. EmailKey folds the address.
func EmailKey(p table.Platform, address string) table.Key {
	return p.Key("EMAIL", email.Fold(address), "EMAIL")
}

// MembersPartition returns the partition of by-g1 with a tenant's memberships,
// ordered by person id.
func MembersPartition(t table.Tenant) string { return t.Partition("MEMBERS") }

var _ = table.Kind[any]{Type: "email", Personal: "nothing"}

// Create adds a person without memberships. It generates ID if it is empty, and
// sets Tenants and CreatedAt. hash is the password hash, "" if no password is
// set yet. It returns ErrTaken if another person has the mail address.
func (s Store) Create(ctx context.Context, by audit.By, n Person, hash string) (Person, error) {
	if n.ID == "" {
		n.ID = ids.New(ids.Person, by.At)
	}
	n.CreatedAt, n.Tenants = timestamp.Format(by.At), []string{}
	if err := n.normalize(); err != nil {
		return Person{}, err
	}
	if message := email.Fault(n.Email); message != "" {
		return Person{}, fault.Field("email", "%s", message)
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

// ByID reads a person. It returns fault.NotFound if there is none.
func (s Store) ByID(ctx context.Context, id string) (Person, error) {
	if !ids.Valid(ids.Person, id) {
		return Person{}, fault.NotFound()
	}
	it, err := s.platform().Get(ctx, Key(s.platform(), id))
	if err != nil {
		return Person{}, fmt.Errorf("person: %w", err)
	}
	return FromItem(it)
}

// Key returns the key of a person's record.
func (s Store) Key(id string) table.Key { return Key(s.platform(), id) }

// Item reads the item of a person, which may be absent.
func (s Store) Item(ctx context.Context, id string) (table.Item, error) {
	if !ids.Valid(ids.Person, id) {
		return table.Item{}, nil
	}
	return s.platform().Get(ctx, s.Key(id))
}

// ByIDs reads people. It leaves out those who do not exist.
func (s Store) ByIDs(ctx context.Context, all []string) (map[string]Person, error) {
	keys := make([]table.Key, len(all))
	for i, id := range all {
		keys[i] = s.Key(id)
	}
	items, err := s.platform().BatchAll(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	out := map[string]Person{}
	for _, it := range items {
		if it.Found() {
			one, err := FromItem(it)
			if err != nil {
				return nil, err
			}
			out[one.ID] = one
		}
	}
	return out, nil
}

// Login reads the sign-in item of a mail address. It returns fault.NotFound if there is
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
	return login.FromItem(it), nil
}

// ByEmail reads the person of a mail address. It returns fault.NotFound if
// there is none.
func (s Store) ByEmail(ctx context.Context, address string) (Person, error) {
	l, err := s.Login(ctx, address)
	if err != nil {
		return Person{}, err
	}
	return s.ByID(ctx, l.Actor)
}

// SetPassword sets the person's password hash in the caller's transaction. It
// also invalidates the person's tokens in all of their tenants and adds an
// audit entry in each tenant. It adds two operations per membership plus one.
// since is Login.Since as the caller read it. If Login.Since has changed after
// that, the transaction fails with fault.NotFound. If a membership ended after p
// was read, the transaction fails with table.ErrConflict.
func (s Store) SetPassword(tx *table.Tx, by audit.By, p Person, since, hash string) {
	login.SetPassword(tx.Covers(s.platform().Handle), EmailKey(s.platform(), p.Email), p.ID, since, hash, by)
	for _, id := range p.Tenants {
		t := s.DB.Tenant(id)
		login.EndTokens(tx.Covers(t.Handle), t, authz.Dashboard, p.ID, by)
		audit.Append(tx, t, by, "person.password", p.ID, nil, nil)
	}
}

// EndGrants ends the person's sessions and one-time links, and every token,
// consent and grant of the membership in the tenant. The password and the
// membership stay. Errors: fault.NotFound if there is no person; a 503 if there
// is no membership.
func (s Store) EndGrants(ctx context.Context, t table.Tenant, by audit.By, id string) error {
	one, err := s.ByID(ctx, id)
	if err != nil {
		return err
	}
	p := s.platform()
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := p.Write()
		login.EndSessions(tx, EmailKey(p, one.Email), id, by)
		login.EndTokens(tx.Covers(t.Handle), t, authz.Dashboard, id, by)
		return tx.Commit(ctx)
	})
}

// DisableEverywhere disables or enables the person: the sign-in and all memberships, in
// one transaction. A membership that its tenant has disabled stays disabled. The tokens of a
// membership that it disables end for good.
func (s Store) DisableEverywhere(ctx context.Context, by audit.By, id string, disabled bool) error {
	return s.change(ctx, id, func(ctx context.Context, p *Person, tx *table.Tx) (none Membership, err error) {
		was := p.Disabled
		p.Disabled = disabled
		login.Disable(tx, EmailKey(s.platform(), p.Email), id, disabled)
		for _, tenant := range p.Tenants {
			t := s.DB.Tenant(tenant)
			it, m, err := s.readMembership(ctx, t, id)
			if err != nil {
				return none, err
			}
			m.Disabled = disabled || m.Barred
			audit.Put(tx, it, altered(t, by, it, m))
			audit.Append(tx, t, by, "person.disable", id, map[string]bool{"disabled": was},
				map[string]bool{"disabled": disabled})
		}
		return none, nil
	})
}

// change runs fn on the person's record and commits the record with what fn
// adds to the transaction. The transaction may write data of the person's
// tenants. fn may run more than once. It returns the membership that changes, if one does.
func (s Store) change(
	ctx context.Context, id string, fn func(context.Context, *Person, *table.Tx) (Membership, error),
) error {
	if !ids.Valid(ids.Person, id) {
		return fault.NotFound()
	}
	p := s.platform()
	return table.Retry(ctx, func(ctx context.Context) error {
		it, one, err := s.readPerson(ctx, id)
		if err != nil {
			return err
		}
		tx := p.Write()
		for _, tenant := range one.Tenants {
			tx.Covers(s.DB.Tenant(tenant).Handle)
		}
		m, err := fn(ctx, &one, tx)
		if err != nil {
			return err
		}
		audit.Put(tx, it, record(p, one))
		return s.commit(ctx, tx, one, m)
	})
}

// readPerson reads a person, and its item. It returns fault.NotFound if there is none.
func (s Store) readPerson(ctx context.Context, id string) (table.Item, Person, error) {
	p := s.platform()
	it, err := s.read(ctx, p.Handle, Key(p, id))
	if err != nil {
		return table.Item{}, Person{}, fmt.Errorf("person: %w", err)
	}
	one, err := FromItem(it)
	return it, one, err
}

var _ = table.Kind[any]{Type: "person", Personal: "nothing"}

// record returns the item of a person's record.
func record(p table.Platform, n Person) table.Item {
	return table.Item{Key: Key(p, n.ID), Type: "person", Version: 1, Attrs: map[string]any{"disabled": n.Disabled}, Doc: n}
}

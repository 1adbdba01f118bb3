// Package account owns what riders and drivers share: each has a record and a
// sign-in row with the same mail address. One transaction changes the record and
// the row. The package must not know more of a record than Fields.
package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
)

// Kind describes one of the two kinds of account. R is the type of the
// account's record.
type Kind[R any] struct {
	*table.Kind[R] // stores records; its Type is also the name in the audit log

	Audience authz.Audience
	IDs      string // kind of the account's identifiers, such as ids.Customer
	Fields   func(*R) Fields
	Check    func(*R) error // normalizes a record for storage and validates it
}

// Fields point to the fields that records of both kinds have.
type Fields struct {
	ID, Email, CreatedAt *string
	TotalTrips           *int64
	Disabled             *bool
	ErasedAt             **string // when the person was erased; nil otherwise
	Phone                **string
	Members              *external.Members
}

// Key returns the key of a record.
func (k Kind[R]) Key(t table.Tenant, id string) table.Key { return authz.ActorKey(t, k.Audience, id) }

// External returns the kind of record for identifiers of other systems.
func (k Kind[R]) External() external.Kind { return external.Kind{Name: string(k.Audience), Key: k.Key} }

// Create adds an account: the record, its sign-in row and an audit entry. It
// fills in ID and CreatedAt if they are empty. hash is the password hash, "" if
// no password is set yet. It returns login.ErrTaken if another account of this
// kind in the tenant has the mail address.
func (k Kind[R]) Create(ctx context.Context, t table.Tenant, by audit.By, r R, hash string) (R, error) {
	var none R
	if err := k.Prepare(&r, by); err != nil {
		return none, err
	}
	shards, err := tenant.WriteShards(ctx, t)
	if err != nil {
		return none, err
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		k.Add(tx, t, by, r, hash, shards)
		if err := k.Claim(ctx, tx, t, r); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return none, fmt.Errorf("create %s: %w", k.Type, err)
	}
	return r, nil
}

// Prepare fills in ID and CreatedAt of a new record if they are empty, and
// validates it.
func (k Kind[R]) Prepare(r *R, by audit.By) error {
	f := k.Fields(r)
	if *f.ID == "" {
		*f.ID = ids.New(k.IDs, by.At)
	}
	if *f.CreatedAt == "" {
		*f.CreatedAt = timestamp.Format(by.At)
	}
	if err := f.typed("", nil); err != nil {
		return err
	}
	return k.Check(r)
}

// typed checks a mail address and a phone that are not what they were. An older build has
// stored some that nobody may type now.
func (f Fields) typed(address string, number *string) error {
	var wrong fault.Faults
	if typed := *f.Email; typed != address && strings.TrimSpace(typed) != "" {
		message := email.Fault(typed)
		wrong.Unless(message == "", "email", "%s", message)
	}
	if typed := *f.Phone; typed != nil && strings.TrimSpace(*typed) != "" && (number == nil || *typed != *number) {
		wrong.Unless(!phone.Several(*typed), "phone", "expected one phone number; this looks like several")
	}
	return wrong.Err()
}

// Add adds a prepared account to the transaction, as Create does.
func (k Kind[R]) Add(tx *table.Tx, t table.Tenant, by audit.By, r R, hash string, writeShards int) {
	f := k.Fields(&r)
	audit.Add(tx, t, by, k.Type+".add", *f.ID, k.NewItem(t, r, writeShards), r)
	if *f.Email != "" { // without an address nobody signs in
		login.Create(tx, t, k.Audience, *f.Email, *f.ID, hash, *f.Disabled, by)
	}
}

// Claim adds to the transaction of a new account what claims its identifier in another
// system.
func (k Kind[R]) Claim(ctx context.Context, tx *table.Tx, t table.Tenant, r R) error {
	f := k.Fields(&r)
	return k.External().Move(ctx, tx, t, *f.ID, "", f.Members.ExternalID)
}

// ByID reads a record. It returns fault.NotFound if this tenant has none.
func (k Kind[R]) ByID(ctx context.Context, t table.Tenant, id string) (R, error) {
	var none R
	if !ids.Valid(k.IDs, id) {
		return none, fault.NotFound()
	}
	return k.Get(ctx, t.Get, k.Key(t, id))
}

// Find reads the record of a mail address or an id. It returns fault.NotFound if
// there is none.
func (k Kind[R]) Find(ctx context.Context, t table.Tenant, name string) (R, error) {
	if ids.Valid(k.IDs, name) {
		return k.ByID(ctx, t, name)
	}
	l, err := login.Find(ctx, t, k.Audience, name)
	if err != nil {
		var none R
		return none, err
	}
	return k.ByID(ctx, t, l.Actor)
}

// Change edits a record. It returns fault.NotFound if this tenant has none. A
// new mail address moves the sign-in row; Change returns login.ErrTaken if
// another account of this kind in the tenant has that address. While Disabled is
// set, the account cannot sign in and its tokens are invalid. Change ignores
// edits of ID, CreatedAt and TotalTrips. edit may run more than once.
func (k Kind[R]) Change(ctx context.Context, t table.Tenant, by audit.By, id string, edit func(*R) error) (R, error) {
	if !ids.Valid(k.IDs, id) {
		var none R
		return none, fault.NotFound()
	}
	return k.Changing(t, by, id, edit).Run(ctx)
}

// Changing returns Change's work as a value that the caller runs. id must be valid.
func (k Kind[R]) Changing(t table.Tenant, by audit.By, id string, edit func(*R) error) audit.Change[R] {
	return audit.Change[R]{Tenant: t, By: by, What: k.Type + ".edit", Subject: id, Key: k.Key(t, id), Edit: edit,
		Kind: k.Kind,
		Item: func(read table.Item, now R) table.Item { return k.Rewritten(t, read, now) },
		Check: func(was R, now *R) error {
			from, to := k.Fields(&was), k.Fields(now)
			if *from.ErasedAt != nil {
				return ErrErased
			}
			*to.ErasedAt = nil
			*to.ID, *to.CreatedAt, *to.TotalTrips = *from.ID, *from.CreatedAt, *from.TotalTrips
			if strings.TrimSpace(*to.Email) == "" && *from.Email != "" {
				return fault.Field("email", "expected a mail address, because the account has one to sign in with")
			}
			if err := to.typed(*from.Email, *from.Phone); err != nil {
				return err
			}
			return k.Check(now)
		},
		Also: func(ctx context.Context, tx *table.Tx, was, now R) error {
			from, to := k.Fields(&was).Members, k.Fields(&now).Members
			if err := k.External().Move(ctx, tx, t, id, from.ExternalID, to.ExternalID); err != nil {
				return err
			}
			return login.Follow(ctx, tx, t, k.Audience, id, k.state(was), k.state(now))
		},
		Conflict: func(ctx context.Context, was, now R) error {
			if k.state(now).Disabled && !k.state(was).Disabled {
				return k.seize(ctx, t, by, id, k.state(was).Address)
			}
			return nil
		}}
}

func (k Kind[R]) state(r R) login.State {
	f := k.Fields(&r)
	return login.State{Address: *f.Email, Disabled: *f.Disabled}
}

// seize disables the account whatever the version of its record. Without it, a
// driver who keeps changing status could block every attempt to disable the
// account. One transaction writes the record, the sign-in row and an audit entry.
// In its next attempt, Change writes only what else the edit changes. After a
// conflict, seize returns nil, because Change tries again anyway.
func (k Kind[R]) seize(ctx context.Context, t table.Tenant, by audit.By, id, address string) error {
	tx := t.Write()
	tx.Update(k.Key(t, id), table.Change{Set: map[string]any{"disabled": true}, Add: map[string]any{"version": 1}}).
		If("attribute_exists(pk)").Else(table.ErrConflict)
	if address != "" {
		login.Disable(tx, login.Key(t, k.Audience, address), id, true)
	}
	audit.Append(tx, t, by, k.Type+".edit", id, map[string]bool{"disabled": false}, map[string]bool{"disabled": true})
	if err := tx.Commit(ctx); !errors.Is(err, table.ErrConflict) {
		return err
	}
	return nil
}

// NewItem returns the stored form of a new record, with Version 1.
func (k Kind[R]) NewItem(t table.Tenant, r R, writeShards int) table.Item {
	return k.Sharded(t, r, *k.Fields(&r).ID, writeShards)
}

// ErrErased is why nothing more is stored of a person.
var ErrErased = fault.InvalidState("This person was erased. The account cannot be used again; add a new one.")

// Erased reports whether the item is the record of a person who was erased. Names
// cannot imitate the member, because JSON escapes their quotes.
func Erased(it table.Item) bool { return strings.Contains(it.Raw(), erasedMember) }

const erasedMember = `"erasedAt":"`

// NotErased limits an operation on the record of a person to one who is not erased.
func NotErased(op *table.Op) *table.Op {
	return op.If("attribute_exists(pk) AND NOT contains('doc', ?)", erasedMember)
}

// Blank returns the stored form of an erased person's record. Unlike Rewritten, it
// keeps nothing that this build does not know, because that may tell of the person.
func (k Kind[R]) Blank(t table.Tenant, read table.Item, r R) table.Item {
	it := k.Rewritten(t, read, r)
	it.Preserve = table.Unknown{}
	return it
}

// Rewritten returns the stored form of a changed record. It keeps the version,
// the shard, the attribute since and unknown data of the item that was read.
// Because since does not change, the account's tokens stay valid, unless the
// account is disabled.
func (k Kind[R]) Rewritten(t table.Tenant, read table.Item, r R) table.Item {
	it := k.Item(t, read.Shard(), r)
	it.Version, it.Preserve = read.Version, read.Unknown()
	if since := read.Text("since"); since != "" {
		it.Attrs["since"] = since
	}
	return it
}

package login

import (
	"context"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Login is the data of an account that sign-in needs.
type Login struct {
	Actor    string // usr_…, cus_… or drv_…
	Hash     string // argon2id, PHC; "" if no password is set yet
	Since    string // when a password was set or EndSessions ran; "" for never; older sessions are invalid
	Disabled bool
	Leaving  bool // the person has asked to be erased, and has not signed in since
}

// ErrTaken reports that another account of the same tenant and audience has the
// mail address.
var ErrTaken = fault.InvalidState("Another account has this mail address.")

// Key returns the key of an account's sign-in row. It folds the address.
func Key(t table.Tenant, audience authz.Audience, address string) table.Key {
	return t.Key("LOGIN", string(audience), email.Fold(address), "LOGIN")
}

// Find reads the account of a mail address. It returns fault.NotFound if there
// is none.
func Find(ctx context.Context, t table.Tenant, audience authz.Audience, address string) (Login, error) {
	if !email.Valid(email.Fold(address)) {
		return Login{}, fault.NotFound()
	}
	it, err := t.Get(ctx, Key(t, audience, address))
	if err != nil {
		return Login{}, fmt.Errorf("login: %w", err)
	}
	if !it.Found() {
		return Login{}, fault.NotFound()
	}
	return FromItem(it), nil
}

// FromItem decodes a sign-in row. It also accepts an operator's EMAIL item.
func FromItem(it table.Item) Login {
	return Login{Actor: it.Text("actor"), Hash: it.Text("password"), Since: it.Text("passwordAt"),
		Disabled: it.Flag("disabled"), Leaving: it.Flag(leaving)}
}

var _ = table.Kind[any]{Type: "login", Personal: "e-mail address, password hash", Erasure: "deletes"}

// Create adds a new account's sign-in row to the transaction. If the row exists,
// the transaction fails with ErrTaken. hash is "" if no password is set yet.
func Create(
	tx *table.Tx, t table.Tenant, audience authz.Audience, address, actor, hash string, disabled bool, by audit.By,
) {
	Put(tx, Key(t, audience, address), "login",
		Login{Actor: actor, Hash: hash, Since: timestamp.Format(by.At), Disabled: disabled}, ErrTaken)
}

// Put adds the creation of a sign-in row to the transaction. kind is the type of
// its item. If a row with that key exists, the transaction fails with errTaken.
func Put(tx *table.Tx, key table.Key, kind string, l Login, errTaken error) {
	attrs := map[string]any{"actor": l.Actor, "disabled": l.Disabled}
	if l.Leaving {
		attrs[leaving] = true
	}
	if l.Hash != "" {
		attrs["password"], attrs["passwordAt"] = l.Hash, l.Since
	}
	tx.Create(table.Item{Key: key, Type: kind, Attrs: attrs}).Else(errTaken)
}

// leaving is the attribute of the account of a person who asked to be erased.
const leaving = "leaving"

// Leave marks, in the caller's transaction, that the person has asked to be erased.
// If the account no longer belongs to the actor, the transaction fails with
// table.ErrConflict.
func Leave(tx *table.Tx, key table.Key, actor string) {
	tx.Update(key, table.Change{Set: map[string]any{leaving: true}}).If("'actor' = ?", actor).Else(table.ErrConflict)
}

// Stay removes the mark that Leave set, because the person has signed in again.
func Stay(ctx context.Context, t table.Tenant, key table.Key, actor string) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Update(key, table.Change{Remove: []string{leaving}}).If("'actor' = ?", actor).Else(table.ErrConflict)
		return tx.Commit(ctx)
	})
}

// Move changes an account's mail address in the transaction that changes its
// record. l is the account as it was read. If the row at from has changed its
// password or actor since then, the transaction fails with table.ErrConflict,
// because the new row must contain the current password. If another account has
// the address to, it fails with ErrTaken. If both addresses have the same key,
// Move does nothing.
func Move(tx *table.Tx, t table.Tenant, audience authz.Audience, l Login, from, to string) {
	if Key(t, audience, from) == Key(t, audience, to) {
		return
	}
	gone := tx.Delete(Key(t, audience, from)).If("'actor' = ?", l.Actor).Else(table.ErrConflict)
	if l.Hash == "" {
		gone.If("attribute_not_exists('password')")
	} else {
		gone.If("'password' = ?", l.Hash)
	}
	Put(tx, Key(t, audience, to), "login", l, ErrTaken)
}

// State is the part of an account's record that the sign-in row duplicates.
type State struct {
	Address  string
	Disabled bool
}

// Follow applies a change of the account's record to the sign-in row, in the
// same transaction. It adds at most one operation per row. An account without an
// address has no row, and gets one with its first address. If an account that had
// an address has no row, Follow returns fault.NotFound.
func Follow(
	ctx context.Context, tx *table.Tx, t table.Tenant, audience authz.Audience, actor string, was, now State,
) error {
	from := Key(t, audience, was.Address)
	if from == Key(t, audience, now.Address) {
		if was.Disabled != now.Disabled && was.Address != "" {
			Disable(tx, from, actor, now.Disabled)
		}
		return nil
	}
	if was.Address == "" {
		Put(tx, Key(t, audience, now.Address), "login", Login{Actor: actor, Disabled: now.Disabled}, ErrTaken)
		return nil
	}
	l, err := Find(ctx, t, audience, was.Address)
	if err != nil {
		return err
	}
	l.Disabled = now.Disabled
	Move(tx, t, audience, l, was.Address, now.Address)
	return nil
}

// Disable sets whether the account is disabled for sign-in, in the caller's
// transaction. If the account no longer belongs to the actor, the transaction
// fails with table.ErrConflict.
func Disable(tx *table.Tx, key table.Key, actor string, disabled bool) {
	tx.Update(key, table.Change{Set: map[string]any{"disabled": disabled}}).
		If("'actor' = ?", actor).Else(table.ErrConflict)
}

// EndTokens invalidates every token of the actor in the tenant, in the caller's
// transaction. It sets the attribute since of the actor's record. A token's audit
// record has the value of this attribute at the token's issue. The token is
// invalid when the actor's record has another value. If there is no such actor,
// the transaction fails with table.ErrConflict.
func EndTokens(tx *table.Tx, t table.Tenant, audience authz.Audience, actor string, by audit.By) {
	tx.Update(authz.ActorKey(t, audience, actor),
		table.Change{Set: map[string]any{"since": timestamp.Format(by.At)}, Add: map[string]any{"version": 1}}).
		If("attribute_exists(pk)").Else(table.ErrConflict)
}

// EndSessions ends every session of the account under key (Key, or
// person.EmailKey) and invalidates its one-time links and known browsers, in
// the caller's transaction. It does not change the password. If the account no
// longer belongs to the actor, the transaction fails with fault.NotFound.
func EndSessions(tx *table.Tx, key table.Key, actor string, by audit.By) {
	tx.Update(key, table.Change{Set: map[string]any{"passwordAt": timestamp.Format(by.At)}}).
		If("'actor' = ?", actor).Else(fault.NotFound())
}

// SetPassword sets the password hash of the account under key (Key, or
// person.EmailKey) in the caller's transaction. since is Login.Since as it was
// read. If the stored value is another one, or the account no longer belongs to
// the actor, the transaction fails with fault.NotFound.
func SetPassword(tx *table.Tx, key table.Key, actor, since, hash string, by audit.By) {
	set := tx.Update(key, table.Change{Set: map[string]any{"password": hash, "passwordAt": timestamp.Format(by.At)}}).
		If("'actor' = ?", actor).Else(fault.NotFound())
	if since == "" {
		set.If("attribute_not_exists('passwordAt')")
	} else {
		set.If("'passwordAt' = ?", since)
	}
}

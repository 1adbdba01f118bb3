package login

import (
	"context"
	"fmt"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Login is what signing in needs to know of an account.
type Login struct {
	Actor    string // usr_…, cus_… or drv_…
	Hash     string // argon2id, PHC; "" where no password was set yet
	Since    string // when the password was last set: sessions that began before are over; "" for never
	Disabled bool
}

// ErrTaken is a mail address that another account of the tenant and audience has.
var ErrTaken = fault.InvalidState("Another account has this mail address.")

// Key is the row of an account. The address is folded.
func Key(t table.Tenant, audience authz.Audience, address string) table.Key {
	return t.Key("LOGIN", "LOGIN", string(audience), email.Fold(address))
}

// Find reads the account of a mail address; fault.NotFound when there is none.
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
	return Of(it), nil
}

// Of reads a row, an operator's EMAIL row included.
func Of(it table.Item) Login {
	return Login{Actor: it.Text("actor"), Hash: it.Text("password"), Since: it.Text("passwordAt"), Disabled: it.Flag("disabled")}
}

// Create adds the row of a new account to the transaction, which fails with
// ErrTaken when there is one. Hash may be "".
func Create(tx *table.Tx, t table.Tenant, audience authz.Audience, address, actor, hash string, by audit.By) {
	Put(tx, Key(t, audience, address), "login", Login{Actor: actor, Hash: hash, Since: timestamp.Format(by.At)}, ErrTaken)
}

// Account is a rider's or driver's account as it is made.
type Account struct {
	Audience authz.Audience
	Address  string
	Actor    string
	Hash     string // of the password; "" for none yet
}

// Add writes a new account in one transaction: the actor's record, the sign-in
// row and an entry of the audit log that shows the record. ErrTaken when
// another has the address.
func (a Account) Add(ctx context.Context, t table.Tenant, by audit.By, record table.Item, what string, shown any) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Create(record)
		Create(tx, t, a.Audience, a.Address, a.Actor, a.Hash, by)
		audit.Append(tx, t, by, what, a.Actor, nil, shown)
		return tx.Commit(ctx)
	})
}

// Put adds a row on the condition that none has its key, else the transaction
// fails with taken.
func Put(tx *table.Tx, key table.Key, kind string, l Login, taken error) {
	attrs := map[string]any{"actor": l.Actor, "disabled": l.Disabled}
	if l.Hash != "" {
		attrs["password"], attrs["passwordAt"] = l.Hash, l.Since
	}
	tx.Create(table.Item{Key: key, Type: kind, Attrs: attrs}).Else(taken)
}

// Move gives an account another mail address, in the transaction that changes
// its record. A password that was set since was was read is table.ErrConflict:
// what is moved must be what is there.
func Move(tx *table.Tx, t table.Tenant, audience authz.Audience, was Login, from, to string) {
	if Key(t, audience, from) == Key(t, audience, to) {
		return
	}
	gone := tx.Delete(Key(t, audience, from)).If("'actor' = ?", was.Actor).Else(table.ErrConflict)
	if was.Hash == "" {
		gone.If("attribute_not_exists('password')")
	} else {
		gone.If("'password' = ?", was.Hash)
	}
	Put(tx, Key(t, audience, to), "login", was, ErrTaken)
}

// State is what an account's record says of its sign-in.
type State struct {
	Address  string
	Disabled bool
}

// Follow keeps the sign-in row in step with the account's record, in the
// transaction that changes that. One operation at most touches a row.
func Follow(ctx context.Context, tx *table.Tx, t table.Tenant, audience authz.Audience, actor string, was, now State) error {
	from := Key(t, audience, was.Address)
	if from == Key(t, audience, now.Address) {
		if was.Disabled != now.Disabled {
			Disable(tx, from, actor, now.Disabled)
		}
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

// Disable sets whether the account may sign in, in the caller's transaction.
func Disable(tx *table.Tx, key table.Key, actor string, disabled bool) {
	tx.Update(key, table.Change{Set: map[string]any{"disabled": disabled}}).If("'actor' = ?", actor).Else(table.ErrConflict)
}

// EndTokens ends every token of the actor in the tenant, in the caller's
// transaction: a token carries the since of its actor's record, and is dead when
// that has another.
func EndTokens(tx *table.Tx, t table.Tenant, audience authz.Audience, actor string, by audit.By) {
	tx.Update(authz.ActorKey(t, audience, actor), table.Change{Set: map[string]any{"since": timestamp.Format(by.At)}, Add: map[string]any{"version": 1}}).
		If("attribute_exists(pk)").Else(table.ErrConflict)
}

// SetPassword sets the password's hash of the account under key (Key, or a
// person's), in the caller's transaction, which fails with fault.NotFound when
// the account is not the actor's any more.
func SetPassword(tx *table.Tx, key table.Key, actor, hash string, by audit.By) {
	tx.Update(key, table.Change{Set: map[string]any{"password": hash, "passwordAt": timestamp.Format(by.At)}}).
		If("'actor' = ?", actor).Else(fault.NotFound())
}

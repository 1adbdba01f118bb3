package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"svc/pkg/data/table"
)

// Reader reads an item with a strongly consistent read.
type Reader = func(context.Context, table.Key) (table.Item, error)

// Change reads an item, edits its value, and writes it back with an audit log
// entry. One transaction writes the item and the entry, on the condition that
// the item's version is unchanged. After a conflict, Run starts again, so the
// functions of a Change may run more than once. If the value is equal after
// Edit and Check, Run writes nothing.
type Change[T any] struct {
	Tenant        table.Tenant
	By            By
	What, Subject string // of the log entry

	Key table.Key
	// Kind says how the value is stored. In is the argument in of Kind.Row; "" means the
	// shard of the item that was read.
	Kind *table.Kind[T]
	In   string
	// FromItem and Item, unless nil, replace the functions of Kind.
	FromItem func(table.Item) (T, error)             // gets an Item that is not Found if none is stored
	Item     func(read table.Item, now T) table.Item // the form to store; Run sets its Version if an item was read
	Edit     func(*T) error
	Check    func(was T, now *T) error // validates the edited value and prepares it for storage; may be nil
	Shown    func(T) any               // what the log entry shows; nil shows the value itself

	// Differing returns what the log entry shows of the values before and after.
	// It is for large values, to show only what differs. If it is nil, Shown
	// applies.
	Differing func(was, now T) (before, after any)

	// Also adds further operations to the transaction; it may be nil.
	Also func(ctx context.Context, tx *table.Tx, was, now T) error
	// Read reads the item for each attempt; nil means Tenant.Get.
	Read Reader
	// Require checks what an attempt has read; it may be nil.
	Require func(read table.Item) error
	// Conflict runs after a transaction that met a conflict; it may be nil.
	Conflict func(ctx context.Context, was, now T) error
	// Commit commits the transaction; nil means tx.Commit.
	Commit func(ctx context.Context, tx *table.Tx, was, now T) error
}

// Run makes the change and returns the new value, or the unchanged one. It wraps
// every error with What. After repeated conflicts the error is
// fault.Unavailable.
func (c Change[T]) Run(ctx context.Context) (T, error) {
	var now T
	read := c.Read
	if read == nil {
		read = c.Tenant.Get
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx, c.Key)
		if err != nil {
			return err
		}
		was, err := c.Value(it)
		if err != nil {
			return err
		}
		if now, err = c.Value(it); err != nil { // decode twice: the two values must share no memory
			return err
		}
		if c.Require != nil {
			if err := c.Require(it); err != nil {
				return err
			}
		}
		if err := c.edit(was, &now); err != nil || reflect.DeepEqual(was, now) {
			return err
		}
		return c.write(ctx, it, was, now)
	})
	if err != nil {
		return now, fmt.Errorf("%s: %w", c.What, err)
	}
	return now, nil
}

// Value returns the value of an item.
func (c Change[T]) Value(it table.Item) (T, error) {
	if c.FromItem != nil {
		return c.FromItem(it)
	}
	return c.Kind.FromItem(it)
}

// next returns the form to store.
func (c Change[T]) next(read table.Item, now T) table.Item {
	if c.Item != nil {
		return c.Item(read, now)
	}
	return c.Kind.Item(c.Tenant, cmp.Or(c.In, read.Shard()), now)
}

// edit applies Edit and Check to now.
func (c Change[T]) edit(was T, now *T) error {
	if err := c.Edit(now); err != nil || c.Check == nil {
		return err
	}
	return c.Check(was, now)
}

// write commits the transaction of the change. read is the item as it was read.
func (c Change[T]) write(ctx context.Context, read table.Item, was, now T) error {
	next := c.next(read, now)
	if next.Key != c.Key {
		return fmt.Errorf("the item to store has another key than the item that was read")
	}
	tx := c.Tenant.Write()
	if err := c.add(ctx, tx, read, next, was, now); err != nil {
		return err
	}
	commit := c.Commit
	if commit == nil {
		commit = func(ctx context.Context, tx *table.Tx, _, _ T) error { return tx.Commit(ctx) }
	}
	err := commit(ctx, tx, was, now)
	if errors.Is(err, table.ErrConflict) && c.Conflict != nil {
		err = errors.Join(err, c.Conflict(ctx, was, now))
	}
	return err
}

// add adds the operations of the change to the transaction.
func (c Change[T]) add(ctx context.Context, tx *table.Tx, read, next table.Item, was, now T) error {
	Put(tx, read, next)
	if c.Also != nil {
		if err := c.Also(ctx, tx, was, now); err != nil {
			return err
		}
	}
	before, after := c.loggedValues(was, now)
	Append(tx, c.Tenant, c.By, c.What, c.Subject, before, after)
	return nil
}

// Join adds the change of an item that was read to the caller's transaction. It adds
// nothing, and returns false, if the value is equal after Edit and Check.
func (c Change[T]) Join(ctx context.Context, tx *table.Tx, read table.Item) (changed bool, err error) {
	was, err := c.Value(read)
	if err != nil {
		return false, err
	}
	now, err := c.Value(read) // decoded twice: the two values must share no memory
	if err == nil {
		err = c.edit(was, &now)
	}
	if err != nil || reflect.DeepEqual(was, now) {
		return false, err
	}
	return true, c.add(ctx, tx, read, c.next(read, now), was, now)
}

// loggedValues returns what the log entry shows of the value before and after the change.
func (c Change[T]) loggedValues(was, now T) (before, after any) {
	switch {
	case c.Differing != nil:
		return c.Differing(was, now)
	case c.Shown != nil:
		return c.Shown(was), c.Shown(now)
	}
	return was, now
}

// Put replaces the item that was read, or creates it if it was absent. It keeps
// the data of the item that this build does not know. The transaction fails
// with table.ErrConflict if the item has changed since it was read.
func Put(tx *table.Tx, read, next table.Item) {
	if !read.Found() {
		tx.Create(next).Else(table.ErrConflict)
		return
	}
	next.Version, next.Preserve = read.Version, read.Unknown()
	tx.Replace(next).Else(table.ErrConflict)
}

// Add adds a new item and its audit log entry to the transaction. If the key is in
// use, the transaction fails with table.ErrCondition.
func Add(tx *table.Tx, t table.Tenant, by By, what, subject string, it table.Item, shown any) {
	tx.Create(it)
	Append(tx, t, by, what, subject, nil, shown)
}

// Create writes a new item and its audit log entry. If the key is in use, it
// returns table.ErrCondition.
func Create(ctx context.Context, t table.Tenant, by By, what, subject string, it table.Item, shown any) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		Add(tx, t, by, what, subject, it, shown)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

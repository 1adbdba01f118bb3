package api

import (
	"context"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Edit makes a change of one item for the caller, who may require a version of it
// (Versioned), and returns what the response shows.
func Edit[T, Out any](ctx context.Context, c *Caller, change audit.Change[T], show func(T) Out) (*Out, error) {
	return EditState(ctx, c, change, show, nil)
}

// EditState is Edit for an item that other requests change all the time. state
// returns what the ETag names in place of the item's version. For a driver or customer that
// is what an operator edits: each trip changes the item, so a tag of its version would fail
// for everybody who needs a minute to fill in a form.
func EditState[T, Out any](
	ctx context.Context, c *Caller, change audit.Change[T], show func(T) Out, state func(T) any,
) (*Out, error) {
	change.Read = c.Reader()
	named := func(of T, version int64) any {
		if state != nil {
			return state(of)
		}
		return version
	}
	var version int64
	change.Require = func(read table.Item) error {
		version = read.Version
		if !c.x.row.matches() {
			return nil
		}
		was, err := change.Value(read)
		if err != nil {
			return err
		}
		return c.Match(named(was, version))
	}
	change.Commit = func(ctx context.Context, tx *table.Tx, _, now T) error {
		if c.x.row.Versioned {
			c.Tagged(named(now, version+1))
		}
		out := show(now)
		return c.Commit(ctx, tx, &out)
	}
	now, err := change.Run(ctx)
	if err != nil {
		return nil, InBody(err)
	}
	out := show(now)
	return &out, nil
}

// Stored returns a value that Caller.Item reads. If the row is Versioned, the response's
// ETag names the item's version.
func Stored[T any](ctx context.Context, c *Caller, kind *table.Kind[T], key table.Key) (T, error) {
	it, err := c.Item(ctx, key)
	if err != nil {
		var none T
		return none, err
	}
	if c.x.row.Versioned {
		c.Tagged(it.Version)
	}
	return kind.FromItem(it)
}

// Make commits a transaction that creates something. add runs in each attempt.
// answer is what the handler returns.
func Make[Out any](ctx context.Context, c *Caller, answer *Out, add func(*table.Tx) error) (*Out, error) {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := c.Tenant.Write()
		if err := add(tx); err != nil {
			return err
		}
		return c.Commit(ctx, tx, answer)
	})
	if err != nil {
		return nil, InBody(err)
	}
	return answer, nil
}

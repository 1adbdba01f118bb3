package api

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Caller is who calls, and the handles through which alone a handler reaches
// data: the tenant's own, and the platform's shared roadmap.
type Caller struct {
	Actor    signing.Access
	Audience authz.Audience
	Tenant   table.Tenant
	Platform table.Platform // feedback posts and their listing rows
	Now      time.Time      // of the request, to the millisecond

	x    *exchange
	live *reading
}

// Live waits for the checks' read and gives what is live now.
func (c *Caller) Live(ctx context.Context) (authz.State, error) {
	items, err := c.live.wait(ctx)
	if err != nil {
		return authz.State{}, err
	}
	return authz.StateOf(items), nil
}

// Item gives one of the items that the row needs, as it came with the checks;
// any other key of the tenant is read now. Both are strongly consistent. An
// absent item is a zero Item.
func (c *Caller) Item(ctx context.Context, key table.Key) (table.Item, error) {
	items, err := c.live.wait(ctx)
	if err != nil {
		return table.Item{}, err
	}
	for _, it := range items {
		if it.Key == key {
			return it, nil
		}
	}
	return c.Tenant.Get(ctx, key)
}

// ReadShards gives how many shards the tenant's lists are read from.
func (c *Caller) ReadShards(ctx context.Context) (int, error) {
	if n, ok := c.x.server.shards.get(c.Tenant.ID(), c.Now); ok {
		return n, nil
	}
	state, err := c.Live(ctx)
	return state.ReadShards, err
}

// WriteShards gives over how many shards the tenant's items are spread when
// they are written.
func (c *Caller) WriteShards(ctx context.Context) (int, error) {
	state, err := c.Live(ctx)
	return state.WriteShards, err
}

// NewID gives a fresh identifier of the kind.
func (c *Caller) NewID(kind string) string { return ids.New(kind, c.Now) }

// Commit commits the transaction that makes the caller's change, together with
// the record that lets the request be repeated safely. Every handler that
// changes something ends in it; answer is what the handler will give back.
func (c *Caller) Commit(ctx context.Context, tx *table.Tx, answer any) error {
	if c.x.key == "" {
		return tx.Commit(ctx)
	}
	body, err := encode(answer)
	if err != nil {
		return fmt.Errorf("answer to keep: %w", err)
	}
	c.x.keep(tx, c.x.row.Status, body)
	return tx.Commit(ctx)
}

// reading is the checks' read under way.
type reading struct {
	done  chan struct{}
	items []table.Item
	err   error
}

func (r *reading) wait(ctx context.Context) ([]table.Item, error) {
	select {
	case <-r.done:
		return r.items, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

package projection

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
)

// Function updates the data that the projection derives, from the table's stream.
type Function struct {
	DB *table.DB
	Step
}

// itemsPerStep is the maximum number of a tenant's items in one step. It is large
// enough to write a counter once for several items, and small enough that two
// steps seldom conflict.
const itemsPerStep = 8

// Process processes a batch of the table's stream and returns the changes that failed. It
// uses only the keys and types from the batch, and reads the current items.
func (f Function) Process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	var order []string
	tenants := map[string][]stream.Change{}
	for _, c := range stream.Changes(event) {
		if !slices.Contains(Types, c.Type()) {
			continue
		}
		owner := ownerOf(f.DB, c.Key)
		if _, known := tenants[owner]; !known {
			order = append(order, owner)
		}
		tenants[owner] = append(tenants[owner], c)
	}
	held := time.Now().Add(holdWait)
	// One tenant's items run one after the other, because they share counters.
	failed := make([][]stream.Failure, len(order))
	var wait sync.WaitGroup
	for i, owner := range order {
		wait.Go(func() {
			groups := slices.Collect(slices.Chunk(tenants[owner], itemsPerStep))
			failed[i] = stream.Each(ctx, groups, 1, func(ctx context.Context, changes []stream.Change) error {
				return f.step(ctx, changes, held)
			})
		})
	}
	wait.Wait()
	return slices.Concat(failed...)
}

// ownerOf returns the tenant's id. For platform data it returns the first part
// of the partition key, as in "POST".
func ownerOf(db *table.DB, key table.Key) string {
	t, _ := stream.TenantOf(db, key)
	return t.ID()
}

// step counts the changed items of one owner (ownerOf). While a check holds the counters
// (hold.go), step waits, at most until the given time.
func (f Function) step(ctx context.Context, changes []stream.Change, until time.Time) error {
	keys := make([]table.Key, len(changes))
	for i, c := range changes {
		keys[i] = c.Key
	}
	if t, ok := stream.TenantOf(f.DB, keys[0]); ok {
		s := f.Step
		s.heeds = true
		return unheld(ctx, until, func() error {
			_, err := s.Tenant(ctx, t, keys)
			return err
		})
	}
	if !strings.HasPrefix(keys[0].PK, "POST#") {
		return nil // of the platform data, only posts are counted
	}
	_, err := f.Platform(ctx, f.DB.Platform("POST", "POSTS"), keys)
	return err
}

// Redo counts the current state of the item with the key. It does nothing for
// an item that is up to date or of a type that is not counted.
func (f Function) Redo(ctx context.Context, key table.Key) error {
	h := f.DB.Platform("POST", "POSTS").Handle
	if t, ok := stream.TenantOf(f.DB, key); ok {
		h = t.Handle
	} else if !strings.HasPrefix(key.PK, "POST#") {
		return nil
	}
	it, err := h.Get(ctx, key)
	if err != nil || (it.Found() && !slices.Contains(Types, it.Type)) {
		return err
	}
	return f.step(ctx, []stream.Change{{Key: key}}, time.Now().Add(holdWait))
}

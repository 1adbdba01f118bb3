package projection

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/stream"
	"svc/pkg/table"
)

// Function keeps the projections up with the table's stream.
type Function struct {
	DB *table.DB
	Step
}

// together is how many items of a tenant go into one step: enough for their
// counters to be written once for several, few enough that two steps seldom meet.
const together = 8

// Handle takes a batch. It looks only at which items the batch names, and
// reads them as they are now. The error is always nil: what failed is in the
// answer, by sequence number.
func (f Function) Handle(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
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
	// One tenant's items follow each other: they meet in its counters.
	failed := make([][]stream.Change, len(order))
	var wait sync.WaitGroup
	for i, owner := range order {
		wait.Go(func() {
			groups := slices.Collect(slices.Chunk(tenants[owner], together))
			failed[i] = stream.Each(ctx, groups, 1, f.step)
		})
	}
	wait.Wait()
	return stream.Answer(slices.Concat(failed...)), nil
}

// ownerOf is the tenant's id, or "" for the platform.
func ownerOf(db *table.DB, key table.Key) string {
	t, _ := stream.TenantOf(db, key)
	return t.ID()
}

// step runs over changes of one owner.
func (f Function) step(ctx context.Context, changes []stream.Change) error {
	keys := make([]table.Key, len(changes))
	for i, c := range changes {
		keys[i] = c.Key
	}
	if t, ok := stream.TenantOf(f.DB, keys[0]); ok {
		_, err := f.Tenant(ctx, t, keys)
		return err
	}
	if !strings.HasPrefix(keys[0].PK, "POST#") {
		return nil // nobody's: nothing that is counted
	}
	_, err := f.Platform(ctx, f.DB.Platform("POST", "POSTS"), keys)
	return err
}

package projection

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
)

// Addresses limits how many addresses a rider has saved: when a new one is stored, it
// expires those beyond the limit. So a request that saves an address need not read the
// others.
type Addresses struct {
	DB  *table.DB
	Now func() time.Time
}

// Process trims the saved addresses of each rider who has a new one in the batch, and
// returns the changes that failed.
func (a Addresses) Process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	seen, groups := map[string]bool{}, [][]stream.Change(nil)
	for _, c := range stream.Changes(event) {
		if c.New.Found() && !c.Old.Found() && c.New.Type == "address" && !seen[c.Key.PK] {
			seen[c.Key.PK] = true
			groups = append(groups, []stream.Change{c})
		}
	}
	return stream.Each(ctx, groups, 1, func(ctx context.Context, changes []stream.Change) error {
		t, ok := stream.TenantOf(a.DB, changes[0].Key)
		if !ok {
			return nil
		}
		return address.Trim(ctx, t, changes[0].Key.PK, a.Now())
	})
}

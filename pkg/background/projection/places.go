package projection

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
)

// Places maintains the list of drivers by location: it adds a driver who comes online
// and removes one who goes offline or is disabled.
type Places struct {
	DB  *table.DB
	Now func() time.Time
}

// Process updates the list for each driver in the batch whose status changed, and returns
// the changes that failed. Other drivers cost no request.
func (p Places) Process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	var groups [][]stream.Change
	for _, c := range stream.Changes(event) {
		if c.New.Type == "driver" && (c.New.Text("status") != c.Old.Text("status") ||
			c.New.Flag("disabled") != c.Old.Flag("disabled")) {
			groups = append(groups, []stream.Change{c})
		}
	}
	return stream.Each(ctx, groups, 1, func(ctx context.Context, changes []stream.Change) error {
		t, ok := stream.TenantOf(p.DB, changes[0].Key)
		if !ok {
			return nil
		}
		r, err := driver.FromItem(changes[0].New)
		if err != nil {
			return nil //nolint:nilerr // the counting logs data that cannot be read
		}
		return location.Relist(ctx, t, r.ID, p.Now())
	})
}

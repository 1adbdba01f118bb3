package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/access/authz"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// Zones maintains the cover of each zone: entries for the cells of the map that the zone
// touches (docs/design.md). Older builds change a zone without its cover, or store it
// without one.
type Zones struct{ DB *table.DB }

// Process updates the cover of each zone in a batch, and returns the changes that failed.
// A cover that is right is read but not written.
func (z Zones) Process(ctx context.Context, event events.DynamoDBEvent) []stream.Failure {
	var groups [][]stream.Change
	for _, c := range stream.Changes(event) {
		if c.Type() == "zone" {
			groups = append(groups, []stream.Change{c})
		}
	}
	return stream.Each(ctx, groups, 1, func(ctx context.Context, changes []stream.Change) error {
		key := changes[0].Key
		t, ok := stream.TenantOf(z.DB, key)
		_, id, found := strings.Cut(key.SK, "#")
		if !ok || !found {
			return nil
		}
		return settings.CoverZone(ctx, t, id)
	})
}

// Sweep writes the missing covers of zones, in tenants that an older build made. If it
// runs out of time, the next sweep goes on. A tenant that fails does not stop the others.
func (z Zones) Sweep(ctx context.Context) error {
	tenants, err := tenant.Store{DB: z.DB}.List(ctx)
	if err != nil {
		return fmt.Errorf("covers of zones: %w", err)
	}
	var errs []error
	for _, n := range tenants {
		if ctx.Err() != nil {
			break
		}
		t := z.DB.Tenant(n.ID)
		flags, err := tenant.Flags(ctx, t)
		if err == nil && flags.Found() && !flags.Flag(authz.ZonesCovered) && !tenant.Gone(flags) {
			slog.InfoContext(ctx, "zones of an older build get their covers", "tenant", n.ID)
			err = settings.CoverZones(ctx, t)
		}
		if err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", n.ID, err))
		}
	}
	return errors.Join(errs...)
}

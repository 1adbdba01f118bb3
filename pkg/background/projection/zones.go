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

// Zones keeps the covers of zones that an older build changes, or has stored without.
type Zones struct{ DB *table.DB }

// Process brings the cover of each zone of a batch up to date, and returns the changes
// that failed. A cover that is right is only read.
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

// Sweep covers the zones of tenants that an older build made. It leaves to the next sweep
// what it has no time for. A tenant that fails does not stop the others.
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

package dispatch

import (
	"context"
	"log/slog"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// The bounds of one Advance: the number of trips, how many it advances at the same
// time, and the steps of one trip.
const mostAdvanced, advancedAtOnce, stepsAhead = 200, 8, 100

// Advance makes the dispatch steps of a sandbox's trips that become due within the
// duration ahead, as if that time had passed: a scheduled trip becomes pending, and a
// wave of offers ends. The records get the real time. A step that fails is logged; its
// due task makes the step later. Trips for which skip returns true are left alone.
func (w Worker) Advance(ctx context.Context, t table.Tenant, ahead time.Duration, skip func(trip.Trip) bool) error {
	flags, err := t.Get(ctx, authz.FlagsKey(t, 0))
	if err != nil || !tenant.IsSandbox(flags) || tenant.Gone(flags) {
		return err
	}
	waiting, err := trip.InStatus(ctx, t, max(1, int(flags.Int("readShards"))), mostAdvanced, trip.Scheduled,
		trip.Searching, trip.CollectingOffers)
	if err != nil {
		return err
	}
	group := panics.NewGroup()
	group.SetLimit(advancedAtOnce)
	for _, it := range waiting {
		group.Go(func() error {
			one, err := trip.FromItem(it)
			if err == nil && !skip(one) {
				err = w.advance(ctx, t, one.ID, ahead)
			}
			if err != nil {
				slog.WarnContext(ctx, "a trip of a sandbox was not advanced", "tenant", t.ID(), "item", it.SK, "error", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// advance makes the dispatch steps of one trip of a sandbox that become due within the
// duration left.
func (w Worker) advance(ctx context.Context, t table.Tenant, id string, left time.Duration) error {
	for range stepsAhead {
		ends := true
		err := w.attempt(ctx, t, id, func(v *view) error {
			at, ok := v.dueAt()
			if ends = !ok || at.Sub(v.now) > left; ends {
				return nil
			}
			v.ahead = max(0, at.Sub(v.now))
			if err := v.step(ctx); err != nil {
				return err
			}
			left -= v.ahead
			return nil
		})
		if err != nil || ends {
			return err
		}
	}
	return nil
}

// dueAt returns when the trip's next step is due; ok is false if none is.
func (v *view) dueAt() (at time.Time, ok bool) {
	var err error
	switch {
	case v.trip.ScheduledFor != nil && (v.trip.Status == trip.Scheduled || v.early()):
		return v.now.Add(v.wait), true
	case (v.trip.Status == trip.Searching || v.trip.Status == trip.CollectingOffers) && v.settings.Mode == settings.Offers:
		at, err = timestamp.Parse(v.search.Until)
	default:
		return at, false
	}
	return at, err == nil
}

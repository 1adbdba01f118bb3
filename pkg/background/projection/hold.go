package projection

import (
	"context"
	"errors"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// A hold stops the counting of a tenant's items while a correcting check reads the
// counters. When the hold ends, the stream's reader counts what came meanwhile. The check
// also compares versions, so its result does not depend on the hold: if a hold ends early,
// or a step began before it, the check looks once more.
//
// A hold is stored in the tenant's flags, which every step reads anyway. A check replaces
// the hold of another check and does not wait for it.
const (
	holdFlag   = "countsHeldUntil"      // Unix milliseconds
	holdLife   = 10 * time.Second       // a hold that is not renewed ends after this time
	holdRenew  = 3 * time.Second        // between two renewals of a hold
	holdSettle = 100 * time.Millisecond // a step that began before the hold ends in this time
	holdWait   = 20 * time.Second       // a batch of the stream waits so long, then fails and comes again
	holdPoll   = 50 * time.Millisecond  // between two attempts of a step while the counters are held
)

// errHeld means that a check holds the tenant's counters: nothing may be counted now.
var errHeld = errors.New("the counters are held by svc rebuild")

// held reports whether the flags say that a check holds the tenant's counters now. An end
// further away than any hold lasts comes from a wrong clock and is ignored.
func held(flags table.Item, now time.Time) bool {
	left := time.UnixMilli(flags.Int(holdFlag)).Sub(now)
	return left > 0 && left < 6*holdLife
}

// holding calls do while nothing else may count for the tenant (a hold), and renews the
// hold until do returns.
func (c *Check) holding(ctx context.Context, t table.Tenant, do func() error) error {
	if err := c.hold(ctx, t, c.Now().Add(holdLife).UnixMilli()); err != nil {
		return err
	}
	over := make(chan struct{})
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		tick := time.NewTicker(holdRenew)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_ = c.hold(ctx, t, c.Now().Add(holdLife).UnixMilli())
			}
		}
	}()
	err := c.Pause(ctx, holdSettle)
	if err == nil {
		err = do()
	}
	close(over)
	<-renewed
	return errors.Join(err, c.hold(context.WithoutCancel(ctx), t, nil))
}

// hold sets the end of the hold to until, or removes the hold if until is nil. It
// changes nothing and returns nil after conflicts with changes of the flags, and if the
// tenant has no flags because it is deleted.
func (c *Check) hold(ctx context.Context, t table.Tenant, until any) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		for i := range authz.Copies {
			tx.Update(authz.FlagsKey(t, i), table.Change{Set: map[string]any{holdFlag: until}}).If("attribute_exists(pk)")
		}
		return tx.Commit(ctx)
	})
	if table.Overtaken(err) {
		return nil
	}
	return err
}

// unheld calls step again while it returns errHeld, until the given time.
func unheld(ctx context.Context, until time.Time, step func() error) error {
	for {
		err := step()
		if !errors.Is(err, errHeld) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(holdPoll):
		}
	}
}

package projection

import (
	"context"
	"errors"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// A hold lets the counters of a tenant rest while a correcting check reads them. The
// stream's reader counts nothing of the tenant until the hold ends, and then counts all
// of it. No result depends on a hold: the check compares versions. So a hold that ends
// early, or a step that began before it, costs the check another look.
//
// A hold is a flag, which every step reads anyway. A run replaces the hold of another
// one, and waits for none.
const (
	holdFlag   = "countsHeldUntil" // Unix milliseconds
	holdLife   = 10 * time.Second  // of a killed run, unless it renews the hold
	holdRenew  = 3 * time.Second
	holdSettle = 100 * time.Millisecond // in which a step that began before the hold ends
	holdWait   = 20 * time.Second       // that a batch of the stream waits; afterwards it fails and comes again
	holdPoll   = 50 * time.Millisecond
)

// errHeld means that the counters of the tenant are held.
var errHeld = errors.New("the counters are held by svc rebuild")

// held reports whether a hold stands. A later end than any hold has comes from a wrong
// clock, and is none.
func held(flags table.Item, now time.Time) bool {
	left := time.UnixMilli(flags.Int(holdFlag)).Sub(now)
	return left > 0 && left < 6*holdLife
}

// holding calls do while it holds the counters of the tenant.
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

// hold sets or removes the hold. It leaves it as it is after conflicts with changes of
// the flags, and if the tenant has none, because it is deleted.
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

// unheld calls step until no hold stands, or the time has come.
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

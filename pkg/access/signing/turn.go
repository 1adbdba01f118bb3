package signing

import (
	"context"

	"svc/pkg/base/fault"
)

// turn is a lock that is held during a request to the table or the key service. A
// caller stops waiting for the lock when its own context ends. A process may
// serve many requests, and the slow read of one must not delay the others beyond
// their deadlines.
type turn chan struct{}

// newTurn returns a free lock.
func newTurn() turn { return make(turn, 1) }

// take waits for the lock. If the context ends first, take returns
// fault.Unavailable. If take returns nil, the caller must call end.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.Unavailable(context.Cause(ctx))
	}
}

// end releases the lock.
func (t turn) end() { <-t }

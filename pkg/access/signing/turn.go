package signing

import (
	"context"

	"svc/pkg/base/fault"
)

// turn is a lock for the time of a request to the table or the key service. A
// caller waits for the lock only until the caller's own context ends: a process
// may serve many requests, and the slow read of one must not delay the others
// beyond their deadlines.
type turn chan struct{}

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

func (t turn) end() { <-t }

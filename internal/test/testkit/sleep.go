package testkit

import (
	"context"
	"time"
)

// Patience is how long a test waits for something before it fails. It is long, because on a busy
// machine everything may take many times as long.
const Patience = 10 * time.Minute

// Sleep waits for the duration, but returns at once when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

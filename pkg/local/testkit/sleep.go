package testkit

import (
	"context"
	"time"
)

// Sleep waits for the duration, but returns at once when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

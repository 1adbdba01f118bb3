package throttle_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/throttle"
	"svc/pkg/base/fault"
)

// TestDelaysAfterTheClockWasSetBack: a use waits for its delay, and never for as
// long as the clock was wrong. Clocks that differ as usual change nothing, and
// after one use the delays hold as before.
func TestDelaysAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 22, 0, 0, 0, time.UTC)
	limits := throttle.New(testkit.Table(t), func() time.Time { return now }, nil, slog.New(slog.DiscardHandler))
	c := throttle.Counter{Kind: "test", Key: "ana", Limit: 2, Window: 24 * time.Hour, Delays: true}
	count := func(what string, most time.Duration) {
		t.Helper()
		err := limits.Count(t.Context(), c)
		var refused *fault.Error
		switch {
		case most == 0 && err != nil:
			t.Errorf("%s: %v", what, err)
		case most > 0 && (!errors.As(err, &refused) || refused.RetryAfter > most):
			t.Errorf("%s: %v, want a refusal for at most %v: %+v", what, err, most, refused)
		}
	}
	count("the first use", 0)
	count("the second use", 0)
	count("beyond the limit", time.Minute)
	now = now.Add(-2 * time.Minute)
	count("at a clock that is late", 3*time.Minute)
	now = now.Add(-10 * time.Hour)
	count("after the clock was set back", 0)
	count("the next use", 2*time.Minute)
	now = now.Add(2 * time.Minute)
	count("after its delay", 0)
}

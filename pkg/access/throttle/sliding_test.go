package throttle_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/throttle"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// TestSlidingLimit: whenever the uses come, no period of an hour has more than the limit,
// also across the edge of a clock hour. A caller who waits as long as the refusal says is
// never refused again, and waits an hour and a minute at most.
func TestSlidingLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 7} {
		slides(t, limit)
	}
}

func slides(t *testing.T, limit int) {
	t.Helper()
	now := time.Date(2026, 6, 1, 22, 59, 58, 0, time.UTC)
	limits := throttle.New(testkit.Table(t), func() time.Time { return now }, nil, slog.New(slog.DiscardHandler))
	c := throttle.Counter{Kind: "test", Key: "metro", Limit: limit, Window: time.Hour, Sliding: true}
	rnd := rand.New(rand.NewPCG(1, 2))
	var allowed []time.Time
	waited := false
	for step := range 400 {
		err := limits.Count(t.Context(), c)
		var refused *fault.Error
		switch {
		case err == nil:
			allowed = append(allowed, now)
			waited = false
		case !errors.As(err, &refused) || refused.RetryAfter > 61*time.Minute || waited:
			t.Fatalf("at %v: %v, waited %v", now, err, waited)
		case step%2 == 0:
			now, waited = now.Add(refused.RetryAfter), true
			continue
		}
		if step > 20 { // until then as fast as possible, over the edge of the hour
			now = now.Add(time.Duration(rnd.IntN(900)) * time.Second)
		} else {
			now = now.Add(time.Second)
		}
	}
	for i := range allowed {
		if i >= c.Limit && allowed[i].Sub(allowed[i-c.Limit]) < c.Window {
			t.Errorf("%d uses from %v until %v", c.Limit+1, allowed[i-c.Limit], allowed[i])
		}
	}
	if len(allowed) < 50 {
		t.Errorf("only %d uses were allowed", len(allowed))
	}
}

// TestSlidingLimitAtTheSameTime: of uses at the same time, alone and in the transaction of
// what they bound, as many succeed as the limit says, also in the hour after others.
func TestSlidingLimitAtTheSameTime(t *testing.T) {
	t.Parallel()
	db, now := testkit.Table(t), time.Date(2026, 6, 1, 22, 50, 0, 0, time.UTC)
	limits := throttle.New(db, func() time.Time { return now }, nil, slog.New(slog.DiscardHandler))
	c := throttle.Counter{Kind: "test", Key: "metro", Limit: 9, Window: time.Hour, Sliding: true}
	for _, want := range []int{9, 0, 9} {
		var group sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for i := range 24 {
			group.Go(func() {
				use := func() error { return limits.Count(t.Context(), c) }
				if i%2 == 0 {
					use = func() error {
						return table.Retry(t.Context(), func(ctx context.Context) error {
							tx := db.Platform("LINK").Write()
							if err := limits.Add(ctx, tx, c); err != nil {
								return err
							}
							return tx.Commit(ctx)
						})
					}
				}
				err := use()
				mu.Lock()
				defer mu.Unlock()
				if _, refused := throttle.Refused(err); err == nil {
					done++
				} else if !refused {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if done != want {
			t.Errorf("at %v: %d uses, want %d", now, done, want)
		}
		now = now.Add(35 * time.Minute)
	}
}

// TestSlidingLimitBesideAnOlderBuild: an older build counts clock hours, in the same item.
// Both count each other's uses.
func TestSlidingLimitBesideAnOlderBuild(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 22, 50, 0, 0, time.UTC)
	limits := throttle.New(testkit.Table(t), func() time.Time { return now }, nil, slog.New(slog.DiscardHandler))
	newer := throttle.Counter{Kind: "test", Key: "metro", Limit: 4, Window: time.Hour, Sliding: true}
	older := newer
	older.Sliding = false
	use := func(counters ...throttle.Counter) (out []bool) {
		t.Helper()
		for _, c := range counters {
			err := limits.Count(t.Context(), c)
			if _, refused := throttle.Refused(err); err != nil && !refused {
				t.Fatal(err)
			}
			out = append(out, err == nil)
		}
		return out
	}
	if got := use(older, newer, older, newer, newer, older); !slices.Equal(got, []bool{true, true, true, true, false,
		false}) {
		t.Errorf("in the first hour: %v", got)
	}
	now = now.Add(20 * time.Minute)
	if got := use(newer); got[0] {
		t.Error("the uses of the hour before do not count")
	}
	now = now.Add(50 * time.Minute) // the older build's uses may have been at the end of the hour before
	if got := use(newer, newer, newer); !slices.Equal(got, []bool{true, true, true}) {
		t.Errorf("after an hour and ten minutes: %v", got)
	}
	limits.Forgive(t.Context(), newer)
	if got := use(newer, newer); !slices.Equal(got, []bool{true, true}) {
		t.Errorf("after one was forgiven: %v", got)
	}
}

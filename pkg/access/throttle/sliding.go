package throttle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"svc/pkg/data/table"
)

// A sliding counter counts the uses of each part of its window too. In a part, the uses of
// this window count, and those of the window before from the same part on. These are all
// uses since a whole window ago, and some that are up to a part older. So in no period as
// long as the window are there more uses than the limit, and a use counts for a window
// and a part at most. The window before no longer changes, so it is read before the one
// conditional write. Items of older builds have no parts: their uses count until the end
// of the next window.

// parts is into how many parts a window is divided.
const parts = 60

func partName(part int) string { return "n" + strconv.Itoa(part) }

// partAt returns the part of the window in which a time is.
func partAt(c Counter, at time.Time) int {
	at = at.UTC()
	return int(at.Sub(at.Truncate(c.Window)) / (c.Window / parts))
}

// look reads this window and the one before it of each sliding counter, and sets was: the
// uses of the window before that still count. The error is a 429 if a counter has reached
// its limit.
func (t *Throttle) look(ctx context.Context, counters []Counter) error {
	var keys []table.Key
	start := func(c Counter) time.Time { return t.now().UTC().Truncate(c.Window) }
	for _, c := range counters {
		if c.Sliding && c.Enabled() {
			keys = append(keys, t.key(c, start(c).Add(-c.Window)), t.key(c, start(c)))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	items, err := t.p.Batch(ctx, keys...)
	if err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	for i := range counters {
		c := &counters[i]
		if !c.Sliding || !c.Enabled() {
			continue
		}
		before, now := items[0], items[1]
		items = items[2:]
		part := partAt(*c, t.now())
		if c.was = since(before, part); c.was+int(now.Int("n")) >= c.Limit {
			return t.Refusal(c.free(before, now, start(*c), part))
		}
	}
	return nil
}

// since returns the uses of a window from a part on.
func since(it table.Item, first int) int {
	n := int(it.Int("n"))
	for part := range first {
		n -= int(it.Int(partName(part)))
	}
	return max(0, n)
}

// free returns when one more use is allowed, if there is no other until then. The window
// of now began at start.
func (c Counter) free(before, now table.Item, start time.Time, part int) time.Time {
	width, used := c.Window/parts, int(now.Int("n"))
	for p := part + 1; p < parts; p++ {
		if since(before, p)+used < c.Limit {
			return start.Add(time.Duration(p) * width)
		}
	}
	for p := range parts {
		if since(now, p) < c.Limit {
			return start.Add(c.Window + time.Duration(p)*width)
		}
	}
	return start.Add(2 * c.Window)
}

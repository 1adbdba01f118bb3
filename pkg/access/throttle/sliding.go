package throttle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"svc/pkg/data/table"
)

// A sliding counter divides its window into parts, and also counts the uses in each part.
// At a time in part p of the current window, the limit applies to a sum: the uses of the
// current window, and those of the previous window in part p and later parts. The sum
// contains all uses of the last period as long as a window, and uses that are up to one
// part older. So no such period has more uses than the limit, and a use counts for at
// most a window and a part.
//
// The previous window no longer changes. So it is read first, and then one conditional
// write counts the use. Items of older builds have no parts: their uses count until the
// end of the next window.

// parts is the number of parts of a window.
const parts = 60

// partName returns the name of the attribute with the number of uses in a part.
func partName(part int) string { return "n" + strconv.Itoa(part) }

// partAt returns the number of the part, from 0, to which a time belongs.
func partAt(c Counter, at time.Time) int {
	at = at.UTC()
	return int(at.Sub(at.Truncate(c.Window)) / (c.Window / parts))
}

// look reads the current and the previous window of each sliding counter. In each counter
// it sets was, the number of uses of the previous window that still count. The error is a
// 429 if a counter has reached its limit.
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

// since returns how many uses the item of a window has in the part first and in later
// parts.
func since(it table.Item, first int) int {
	n := int(it.Int("n"))
	for part := range first {
		n -= int(it.Int(partName(part)))
	}
	return max(0, n)
}

// free returns when one more use will be allowed, if there is no other use until then.
// before and now are the items of the previous and the current window. start is when the
// current window began, and part is its current part.
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

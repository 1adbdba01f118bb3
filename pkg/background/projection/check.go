package projection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
)

// Difference is derived data that does not match the items.
type Difference struct {
	What string `json:"what"`
	Key  string `json:"key"`
	Want string `json:"want"`
	Have string `json:"have"`
}

// Check compares derived data with the items. With Correct it also corrects the
// derived data. Items may change meanwhile: a check without Correct reports a
// difference only if repeated reads find it, and each correction is a conditional
// write. Check reads the items page by page.
type Check struct {
	Step
	Correct bool
	// Found receives the differences, one at a time.
	Found func(Difference)
	// Compared, if not nil, receives how many counters, wallet names, posts or
	// rows were compared.
	Compared func(kind string, n int)
	// Wait, if not nil, replaces the waits between two looks at a difference.
	Wait func(context.Context, time.Duration) error

	// PostCounts maps each counter of a feedback post's item to the range key
	// prefix of the items that it counts.
	PostCounts map[string]string
	// PostRanks returns the partitions of the rank rows of a category, or of all
	// posts for "".
	PostRanks func(category string) []string

	mu sync.Mutex
}

var errMoving = errors.New("the counters or their items kept changing while the check read them; " +
	"run the check again when fewer items change")

const (
	lagLooks      = 14 // looks that let the projection catch up; about two seconds
	looks         = 80 // maximum number of looks; then the check fails with errMoving
	confirmations = 3
	checkParallel = 8
)

func (c *Check) found(what, key, want, have string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Found(Difference{what, key, want, have})
}

func (c *Check) compared(kind string, n int) {
	if c.Compared == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Compared(kind, n)
}

// unit is a group of counters and the items that they count.
type unit struct {
	// list returns the counters that exist or should exist.
	list func(context.Context) ([]counter.Ref, error)
	sum  func(context.Context, *tally) error
}

// tally is the recorded sum of a unit's items.
type tally struct {
	counted counter.Changes
	lagging map[table.Key]lag // items whose count is outdated
}

// lag is an item whose count is outdated, because the projection has not
// processed the item yet or never will.
type lag struct {
	version int64           // of the COUNTED item
	off     counter.Changes // changes of the counters that a step would make
	looks   int             // number of earlier looks that found the same COUNTED item outdated
}

// agree checks one unit. A counter must equal the sum of what was counted, if
// neither changed meanwhile. An item's count must be up to date, or become so
// soon.
func (c *Check) agree(ctx context.Context, t table.Tenant, u unit) error {
	var last, said string
	seen, confirmed := map[table.Key]lag{}, 0
	for look := range looks {
		if err := c.pause(ctx, look); err != nil {
			return err
		}
		now, sum, err := c.look(ctx, t, u)
		if err != nil {
			return err
		}
		if look == 0 {
			c.compared("counter", len(now))
		}
		seen = sum.since(seen)
		if len(seen) > 0 && look < lagLooks && !c.Correct {
			continue
		}
		stuck := c.stuck(seen)
		still, wrong := true, now.against(sum.counted)
		if len(wrong) == 0 && len(stuck) == 0 && (len(seen) == 0 || !c.Correct) {
			return nil
		}
		if len(wrong) > 0 {
			if now, still, err = again(ctx, t, now, sum, wrong); err != nil {
				return err
			}
		}
		if text := fmt.Sprint(wrong, len(stuck)); text != last {
			last, confirmed = text, 0
		}
		if !still {
			continue
		}
		if confirmed++; confirmed < confirmations && len(wrong) > 0 { // an index may lag behind the table
			continue
		}
		if said != last {
			said = last
			c.report(now, stuck, sum.counted)
		}
		if !c.Correct {
			return nil
		}
		if err := c.correct(ctx, t, slices.Collect(maps.Keys(seen)), now, wrong); err != nil {
			return err
		}
		confirmed = 0
	}
	return errMoving
}

// stuck returns the items that the projection has not processed within lagLooks
// looks.
func (c *Check) stuck(seen map[table.Key]lag) map[table.Key]lag {
	out := maps.Clone(seen)
	maps.DeleteFunc(out, func(_ table.Key, one lag) bool { return one.looks < lagLooks })
	return out
}

// look reads the unit's counters, and then what was counted of its items.
func (c *Check) look(ctx context.Context, t table.Tenant, u unit) (counters, tally, error) {
	sum := tally{counted: counter.Changes{}, lagging: map[table.Key]lag{}}
	refs, err := u.list(ctx)
	if err != nil {
		return nil, sum, err
	}
	now, err := readCounters(ctx, t, refs)
	if err != nil {
		return nil, sum, err
	}
	return now, sum, u.sum(ctx, &sum)
}

// again rereads the unit's counters, and reads the counters that exist only in
// the sum of its items. The second result reports whether no counter has
// changed.
func again(ctx context.Context, t table.Tenant, was counters, sum tally, wrong counter.Changes) (counters, bool,
	error) {
	refs := slices.Collect(maps.Keys(was))
	refs = slices.AppendSeq(slices.AppendSeq(refs, maps.Keys(sum.counted)), maps.Keys(wrong))
	now, err := readCounters(ctx, t, refs)
	return now, err == nil && now.same(was), err
}

// since returns the lagging items, each with the number of earlier looks for
// which it has lagged.
func (s tally) since(before map[table.Key]lag) map[table.Key]lag {
	out := map[table.Key]lag{}
	for key, now := range s.lagging {
		if was, ok := before[key]; ok && was.version == now.version {
			now.looks = was.looks + 1
		}
		out[key] = now
	}
	return out
}

func (c *Check) pause(ctx context.Context, look int) error {
	if look == 0 {
		return nil
	}
	d := min(time.Duration(look)*20*time.Millisecond, 300*time.Millisecond)
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// report reports the stuck items, and the counters that differ from the sum of
// the items.
func (c *Check) report(now counters, stuck map[table.Key]lag, counted counter.Changes) {
	want := counter.Changes{}
	want.AddAll(counted, 1)
	for key, one := range stuck {
		c.found("counted", key.PK, "what the item is now", "something else")
		want.AddAll(one.off, 1)
	}
	for ref, by := range now.against(want) {
		for name, off := range by {
			have := now[ref].sums[name]
			c.found("counter", ref.Partition+" "+ref.SK+" "+name, have.Sub(off).String(), have.String())
		}
	}
}

// correct adds the missing amount to shard 0 of each wrong counter, unless that
// shard has changed since it was read. Therefore two checks cannot both add the
// amount. Then correct runs the step over the lagging items.
func (c *Check) correct(ctx context.Context, t table.Tenant, lagging []table.Key, now counters,
	off counter.Changes) error {
	for ref, by := range off {
		tx, shard := t.Write(), now[ref].items[0]
		add := counter.Changes{}
		for name, n := range by {
			add.Add(ref, name, n.Neg())
		}
		op := add.Write(tx, t, 0)
		if shard.Version > 0 {
			op.If("'version' = ?", shard.Version)
		} else {
			op.If("attribute_not_exists('version')")
		}
		if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrConflict) {
			return err
		}
	}
	for chunk := range slices.Chunk(lagging, itemsPerRebuild) {
		if _, err := c.Step.Tenant(ctx, t, chunk); err != nil {
			return err
		}
	}
	return nil
}

// counters are stored counters.
type counters map[counter.Ref]stored

type stored struct {
	sums  counter.Sums
	items []table.Item // of the shards
}

func readCounters(ctx context.Context, t table.Tenant, refs []counter.Ref) (counters, error) {
	out := counters{}
	for _, ref := range refs {
		out[ref] = stored{sums: counter.Sums{}}
	}
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(out)), 100/counter.MaxShards) {
		var keys []table.Key
		for _, ref := range chunk {
			for n := range shardsOf(ref) {
				keys = append(keys, ref.Key(t, n))
			}
		}
		items, err := t.Batch(ctx, keys...)
		if err != nil {
			return nil, err
		}
		for _, ref := range chunk {
			one := stored{sums: counter.Sums{}, items: items[:shardsOf(ref)]}
			items = items[shardsOf(ref):]
			for _, it := range one.items {
				if err := counter.Of(it, one.sums); err != nil {
					return nil, err
				}
			}
			out[ref] = one
		}
	}
	return out, nil
}

func shardsOf(ref counter.Ref) int {
	if ref.Sharded {
		return counter.MaxShards
	}
	return 1
}

// against returns the excess of the counters; it is negative where they are
// too low.
func (c counters) against(want counter.Changes) counter.Changes {
	out := counter.Changes{}
	for ref, one := range c {
		for name, n := range one.sums {
			out.Add(ref, name, n)
		}
	}
	out.AddAll(want, -1)
	return out
}

// same reports whether no counter has changed and none has appeared.
func (c counters) same(was counters) bool {
	for ref, now := range c {
		before := was[ref]
		for i, it := range now.items {
			version := int64(0)
			if i < len(before.items) {
				version = before.items[i].Version
			} else if it.Found() {
				return false
			}
			if it.Version != version {
				return false
			}
		}
		off := counter.Changes{}
		off.AddAll(counter.Changes{ref: now.sums}, 1)
		off.AddAll(counter.Changes{ref: before.sums}, -1)
		if len(off) > 0 {
			return false
		}
	}
	return true
}

// add adds items to the tally: what was counted of each, and its current
// state. only selects the counters of the unit.
func (c *Check) add(ctx context.Context, t table.Tenant, keys []table.Key, only func(counter.Ref) bool,
	sum *tally) error {
	pieces, err := c.pieces(ctx, t.Handle, keys)
	if err != nil {
		return err
	}
	pick := func(changes counter.Changes) {
		maps.DeleteFunc(changes, func(ref counter.Ref, _ counter.Sums) bool { return !only(ref) })
	}
	for _, p := range pieces {
		was, err := p.was.changes()
		if err != nil {
			return err
		}
		pick(was)
		sum.counted.AddAll(was, 1)
		if same(p.was, p.next) && !p.was.Pending {
			continue
		}
		off, err := difference(p.was, p.next)
		if err != nil {
			return err
		}
		pick(off)
		sum.lagging[p.key] = lag{version: p.stored.Version, off: off}
	}
	return nil
}

// pieces reads what was counted of the items, and then the items.
func (c *Check) pieces(ctx context.Context, h table.Handle, keys []table.Key) ([]piece, error) {
	beside := make([]table.Key, len(keys))
	for i, key := range keys {
		beside[i] = CountedKey(key)
	}
	counted, err := h.Batch(ctx, beside...)
	if err != nil {
		return nil, err
	}
	items, err := h.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	out := make([]piece, len(keys))
	for i, key := range keys {
		p := piece{key: key, item: items[i], stored: counted[i]}
		if p.was, err = countedOf(counted[i]); err != nil {
			return nil, err
		}
		if p.next, err = c.count(items[i], p.was, timestamp.Format(c.Now())); err != nil {
			return nil, fmt.Errorf("%s %s: %w", key.PK, key.SK, err)
		}
		out[i] = p
	}
	return out, nil
}

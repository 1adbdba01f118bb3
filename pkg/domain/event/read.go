package event

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/panics"
	"svc/pkg/data/table"
)

// Query selects a page of the feed.
type Query struct {
	After    []int64 // last number read of each shard; a shard that it lacks is read from its beginning
	Shards   int     // the tenant's readShards
	Limit    int
	Types    []string // none for any
	Resource string   // "" for any
	Actor    string   // the rider or driver whose events these are; "" for all events
	Each     bool     // also return the position after each event
}

func (q Query) wants(e Event) bool {
	return (len(q.Types) == 0 || slices.Contains(q.Types, e.Type)) && (q.Resource == "" || e.Of(q.Resource)) &&
		(q.Actor == "" || e.Concerns(q.Actor))
}

// Page is a part of the feed.
type Page struct {
	Events []Event
	After  []int64 // positions from which the next page continues
	More   bool
	Each   [][]int64 // positions after each event, if the query asks for them
}

// ErrExpired is the 410 for a position whose next event is no longer in the feed.
var ErrExpired error = &fault.Error{Kind: fault.KindExpired, Message: "Events after this cursor have been deleted, " +
	"because they are older than 30 days. Continue with after=earliest, and read again the resources that you keep."}

// Read reads a page of the feed. With a filter it examines at most
// table.Examined events.
//
// Access pattern: T#t#EVENTS#shard from the number after the position,
// eventually consistent. The page of a shard ends with its head. The head says
// whether the shard has events that the page lacks.
func Read(ctx context.Context, t table.Tenant, q Query, now time.Time) (Page, error) {
	runs := make([]run, max(q.Shards, len(q.After), 1))
	group, gctx := panics.WithContext(ctx)
	for shard := range runs {
		group.Go(func() (err error) {
			after := int64(0)
			if shard < len(q.After) {
				after = q.After[shard]
			}
			runs[shard], err = q.shard(gctx, t, shard, after, now)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Page{}, err
	}
	return merge(runs, q.Limit, q.Each), nil
}

// run is what was read of a shard, without the events that the query does not
// want.
type run struct {
	events  []Event
	numbers []int64
	end     int64 // the last number that was examined
	more    bool
}

// shard reads the next events of a shard.
func (q Query) shard(ctx context.Context, t table.Tenant, shard int, after int64, now time.Time) (run, error) {
	size := q.Limit + 1
	if len(q.Types) > 0 || q.Resource != "" || q.Actor != "" {
		size = max(size, table.Examined/max(q.Shards, 1))
	}
	page := table.Query{From: digits(after + 1), Limit: min(size, table.Examined)}
	out, whole, err := q.page(ctx, t, shard, after, page, now)
	if err != nil || whole {
		return out, err
	}
	// A replica that lags may lack an event or have an old head.
	page.Consistent = true
	out, whole, err = q.page(ctx, t, shard, after, page, now)
	if err != nil || whole {
		return out, err
	}
	// A query may see a transaction in part. A get does not.
	next, err := t.Get(ctx, Key(t, shard, after+1))
	switch {
	case err != nil:
		return run{}, err
	case next.Live(now):
		return run{end: after, more: true}, nil
	}
	return run{}, ErrExpired
}

// page reads one page of a shard. whole is false if the event after the position
// should exist and does not, or if the position is beyond the head.
func (q Query) page(ctx context.Context, t table.Tenant, shard int, after int64, page table.Query,
	now time.Time) (out run, whole bool, err error) {
	read, err := t.Query(ctx, partition(t, shard), page)
	if err != nil {
		return run{}, false, err
	}
	out = run{end: after, more: read.More}
	for _, it := range read.Items {
		if it.SK == headSK {
			out.more = out.end < Last(it)
			return out, out.end > after || out.end == Last(it), nil
		}
		if numberOf(it.SK) != out.end+1 || !it.Live(now) {
			out.more = true
			return out, out.end > after, nil
		}
		e, err := table.DecodeDoc[Event](it)
		if err != nil {
			return run{}, false, err
		}
		if out.end++; q.wants(e) {
			out.events, out.numbers = append(out.events, e), append(out.numbers, out.end)
		}
	}
	return out, after == 0 || len(read.Items) > 0, nil
}

// merge merges the shards by time and keeps the order of each. It cuts the
// result at the limit.
func merge(runs []run, limit int, each bool) Page {
	out, used := Page{Events: []Event{}}, make([]int, len(runs))
	for len(out.Events) < limit {
		next := -1
		for i, r := range runs {
			if used[i] < len(r.events) && (next < 0 || r.events[used[i]].Timestamp < runs[next].events[used[next]].Timestamp) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		out.Events = append(out.Events, runs[next].events[used[next]])
		if used[next]++; each {
			out.Each = append(out.Each, positions(runs, used))
		}
	}
	for i, r := range runs {
		out.More = out.More || r.more || used[i] < len(r.events)
	}
	out.After = positions(runs, used)
	return out
}

// positions returns the positions after so many events of each run.
func positions(runs []run, used []int) []int64 {
	out := make([]int64, len(runs))
	for i, r := range runs {
		if out[i] = r.end; used[i] < len(r.events) {
			out[i] = r.numbers[used[i]] - 1
		}
	}
	return out
}

// Latest returns the positions after the newest events.
func Latest(ctx context.Context, t table.Tenant, shards int) ([]int64, error) {
	heads, err := t.BatchEventual(ctx, HeadKeys(t, all(shards))...)
	if err != nil {
		return nil, err
	}
	out := make([]int64, shards)
	for i, head := range heads {
		out[i] = Last(head)
	}
	return out, nil
}

func all(shards int) []int {
	out := make([]int, shards)
	for i := range out {
		out[i] = i
	}
	return out
}

// Earliest returns the positions before the oldest events that have not expired.
func Earliest(ctx context.Context, t table.Tenant, shards int, now time.Time) ([]int64, error) {
	out := make([]int64, shards)
	group, gctx := panics.WithContext(ctx)
	for shard := range out {
		group.Go(func() (err error) {
			out[shard], err = earliest(gctx, t, shard, now)
			return err
		})
	}
	return out, group.Wait()
}

// At returns the positions before the events that came into the feed at the time or
// later.
func At(ctx context.Context, t table.Tenant, shards int, at time.Time) ([]int64, error) {
	return Earliest(ctx, t, shards, at.Add(Kept-time.Nanosecond))
}

// earliest finds the first number of a shard that has not expired. The table
// deletes an expired event later, so it may have to search among expired events.
func earliest(ctx context.Context, t table.Tenant, shard int, now time.Time) (int64, error) {
	at := func(number int64) (table.Item, error) {
		page, err := t.Query(ctx, partition(t, shard), table.Query{From: digits(number), Limit: 1})
		if err != nil || len(page.Items) == 0 {
			return table.Item{}, err
		}
		return page.Items[0], nil
	}
	it, err := at(0)
	if err != nil || !it.Found() {
		return 0, err
	}
	if it.SK == headSK {
		return Last(it), nil
	}
	if it.Live(now) {
		return numberOf(it.SK) - 1, nil
	}
	head, err := t.Get(ctx, headKey(t, shard))
	if err != nil {
		return 0, err
	}
	low, first := numberOf(it.SK), Last(head)+1
	for high := first; high-low > 1; {
		middle := low + (high-low)/2
		switch it, err = at(middle); {
		case err != nil:
			return 0, err
		case it.SK == headSK || it.Live(now):
			high = middle
			if it.SK != headSK {
				first = numberOf(it.SK)
			}
		default:
			low = numberOf(it.SK)
		}
	}
	return first - 1, nil
}

// Between returns the events of a shard with numbers above after and up to last,
// and the last number that was read. It is for the tenant's own use: events that have
// expired are left out.
//
// Access pattern: T#t#EVENTS#shard from after+1 to last, strongly consistent.
func Between(ctx context.Context, t table.Tenant, shard int, after, last int64) (map[int64]Event, int64, error) {
	page, err := t.Query(ctx, partition(t, shard), table.Query{From: digits(after + 1), To: digits(last + 1),
		Limit: int(last - after), Consistent: true, Fill: true})
	out := map[int64]Event{}
	for _, it := range page.Items {
		e, err := table.DecodeDoc[Event](it)
		if err != nil {
			return nil, after, err
		}
		out[numberOf(it.SK)] = e
	}
	return out, last, err
}

// encode and decode convert positions to the text in a cursor. decode returns nil for a
// text that encode does not return.
func encode(positions []int64) string {
	parts := make([]string, len(positions))
	for i, n := range positions {
		parts[i] = strconv.FormatInt(n, 36)
	}
	return strings.Join(parts, ".")
}

func decode(text string) []int64 {
	var out []int64
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseInt(part, 36, 64)
		if err != nil || n < 0 || n >= mostNumber || part != strconv.FormatInt(n, 36) {
			return nil
		}
		out = append(out, n)
	}
	return slices.Clip(out)
}

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
	After    []int64 // last number read of each shard; a shard beyond its length is read from the beginning
	Shards   int     // the tenant's readShards
	Limit    int
	Types    []string // only events of these types; none means all types
	Resource string   // only events of this resource; "" for all
	Actor    string   // the rider or driver whose events these are; "" for all events
	Each     bool     // also return the position after each event
}

// wants reports whether the event passes the query's filters.
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
// eventually consistent. The last item of a shard's partition is its head. If the query
// reaches the head, the head's number says whether the query missed an event.
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

// run has the events that were read from one shard and that the query wants.
type run struct {
	events  []Event
	numbers []int64 // numbers of these events
	end     int64   // the last number that was examined
	more    bool    // the shard may have events after end
}

// shard reads the events of a shard with numbers above after, and returns those that the
// query wants. Errors: ErrExpired if the next event has expired.
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
	// The replica that was read may lag: it may lack an event or have an old head. Read again,
	// strongly consistent.
	page.Consistent = true
	out, whole, err = q.page(ctx, t, shard, after, page, now)
	if err != nil || whole {
		return out, err
	}
	// A query may see only a part of a transaction. So read the next event with a get, which
	// sees all of a transaction or nothing.
	next, err := t.Get(ctx, Key(t, shard, after+1))
	switch {
	case err != nil:
		return run{}, err
	case next.Live(now):
		return run{end: after, more: true}, nil
	}
	return run{}, ErrExpired
}

// page reads one page of a shard: events with numbers above after. whole is false if the
// page is not reliable, because the event with the number after+1 is missing although the
// shard has later ones, or because after is above the number of the shard's last event.
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

// merge merges the events of the shards by time, at most limit of them. The events of one
// shard stay in their order. If each is true, the page also has the positions after each
// event.
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

// positions returns the positions in the feed after the first used[i] events of run i.
func positions(runs []run, used []int) []int64 {
	out := make([]int64, len(runs))
	for i, r := range runs {
		if out[i] = r.end; used[i] < len(r.events) {
			out[i] = r.numbers[used[i]] - 1
		}
	}
	return out
}

// Latest returns the positions in the feed after the newest events, one for each shard,
// eventually consistent.
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

// all returns the numbers of the shards: 0, 1 and so on.
func all(shards int) []int {
	out := make([]int, shards)
	for i := range out {
		out[i] = i
	}
	return out
}

// Earliest returns the positions in the feed before the oldest events that have not
// expired, one for each shard.
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

// At returns the positions in the feed before the events that were appended at the time
// at or later. It searches by the events' expiry, which comes Kept after they are appended.
func At(ctx context.Context, t table.Tenant, shards int, at time.Time) ([]int64, error) {
	return Earliest(ctx, t, shards, at.Add(Kept-time.Nanosecond))
}

// earliest returns the number before the first event of a shard that has not expired.
// DynamoDB deletes events some time after they expire. So the first event in the table may
// be an expired one, and then earliest bisects the numbers.
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

// Between returns the events of a shard with numbers above after and up to last, by number.
// The second result is the number after which the next call continues: last. Events that
// have expired and are deleted are missing.
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

// encode returns the text of positions in a cursor: numbers in base 36, separated by dots.
func encode(positions []int64) string {
	parts := make([]string, len(positions))
	for i, n := range positions {
		parts[i] = strconv.FormatInt(n, 36)
	}
	return strings.Join(parts, ".")
}

// decode returns the positions of a text that encode has returned, and nil for any other
// text.
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

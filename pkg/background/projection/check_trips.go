package projection

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/report"
	"svc/pkg/domain/tenant"
)

// recent is the age up to which a period still counts as growing: a trip may be
// completed in it although the check has already read the trips of that time. It is
// longer than an index lags behind the table and than the clocks of two processes
// differ. Counters finer than a quarter of an hour are not compared for recent periods.
const recent = 10 * time.Minute

// trips checks the trip counters. It reads the trips once, in the order of their
// requests, and adds up what was counted of them for each quarter of an hour. A
// trip never counts as completed before its request. So the sums of a quarter
// are complete when the first trip after its end was read, and memory holds few
// quarters at a time.
type trips struct {
	*Check
	t       table.Tenant
	settled time.Time // periods that end after this time are recent
	lagging map[table.Key]int64
	stars   ratings // the ratings that were counted of the trips

	open  map[time.Time]*quarter // the quarters that are not checked yet, by start
	past  map[counter.Ref]bool   // the quarters checked so far
	days  counter.Changes        // what was counted of the trips, by day
	known map[counter.Ref]bool   // days that have a trip or a counter
}

// quarter is what must be in the counters of a quarter of an hour.
type quarter struct {
	want counter.Changes    // the sums in the quarter's counter and the finer ones
	keys map[table.Key]bool // the trips that count in the quarter
}

// reports checks the trip counters, from which reports are made. It adds to lagging the
// trips of which the projection has not counted the current state, and to stars the
// ratings that were counted.
func (c *Check) reports(ctx context.Context, t table.Tenant, lagging map[table.Key]int64, stars ratings) error {
	known, err := c.stored(ctx, t, report.Days, true)
	if err != nil {
		return err
	}
	w := &trips{c, t, c.Now().Add(-recent), lagging, stars, map[time.Time]*quarter{}, map[counter.Ref]bool{},
		counter.Changes{}, known}
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return err
	}
	q := table.Query{Index: 1, Limit: rebuildPage}
	partitions := make([]string, shards)
	for n := range partitions {
		partitions[n] = t.Partition("TRIPS", strconv.Itoa(n))
	}
	for {
		page, err := t.Merge(ctx, partitions, q)
		if err != nil {
			return err
		}
		if err := w.page(ctx, page.Items); err != nil {
			return err
		}
		if q.After = page.Last; !page.More {
			break
		}
	}
	if err := w.close(ctx, time.Time{}); err != nil {
		return err
	}
	return w.checkDays(ctx)
}

// page adds up what was counted of some trips, and checks the quarters of an hour that
// end before the last of them.
func (w *trips) page(ctx context.Context, items []table.Item) error {
	for chunk := range slices.Chunk(items, batchKeys) {
		pieces, err := w.read(ctx, w.t, chunk)
		if err != nil {
			return err
		}
		for _, p := range pieces {
			if err := w.add(p); err != nil {
				return err
			}
		}
		w.Read(len(pieces))
		last, err := timestamp.Parse(pieces[len(pieces)-1].next.RequestedAt)
		if err == nil {
			err = w.close(ctx, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds what was counted of a trip to the sums of its quarters and days. It also
// notes the trip's key in these quarters, and in those in which the trip must count
// now.
func (w *trips) add(p piece) error {
	was, err := p.was.counterAdditions()
	if err != nil {
		return err
	}
	w.stars.add(w.t, p.was, 1)
	refs := maps.Clone(was)
	if !p.counted() {
		w.lagging[p.key] = p.stored.Version
		next, err := p.next.counterAdditions()
		if err != nil {
			return err
		}
		maps.Copy(refs, next)
	}
	for ref := range refs {
		from, _, err := report.Span(ref)
		if err != nil {
			return err
		}
		if report.Level(ref) < report.Quarter {
			w.known[ref] = true
			w.days.AddAll(counter.Changes{ref: was[ref]}, 1)
			continue
		}
		at := from.Truncate(15 * time.Minute)
		q := w.open[at]
		if q == nil {
			q = &quarter{counter.Changes{}, map[table.Key]bool{}}
			w.open[at] = q
		}
		q.keys[p.key] = true
		q.want.AddAll(counter.Changes{ref: was[ref]}, 1)
	}
	return nil
}

// close checks and removes the open quarters of an hour that end at or before the given
// time; all of them for the zero time.
func (w *trips) close(ctx context.Context, at time.Time) error {
	for start, q := range w.open {
		if !at.IsZero() && start.Add(15*time.Minute).After(at) {
			continue
		}
		delete(w.open, start)
		if err := w.quarter(ctx, report.Periods(start)[report.Quarter], q); err != nil {
			return err
		}
	}
	return nil
}

// quarter checks the counters of one quarter of an hour against the trips in q. ref is the
// quarter's own counter. For a recent quarter, this one counter must instead be the sum of
// the counters of its parts.
func (w *trips) quarter(ctx context.Context, ref counter.Ref, q *quarter) error {
	w.past[ref] = true
	refs := map[counter.Ref]bool{ref: true}
	for ref := range q.want {
		refs[ref] = true
	}
	for ref := range refs {
		if _, to, err := report.Span(ref); err != nil || to.After(w.settled) {
			delete(refs, ref)
			delete(q.want, ref)
		}
	}
	if !refs[ref] {
		if err := w.parts(ctx, ref); err != nil {
			return err
		}
	}
	now, err := readCounters(ctx, w.t, slices.Collect(maps.Keys(refs)))
	if err != nil {
		return err
	}
	wrong := now.against(q.want)
	w.Count("counter", len(refs)-len(wrong))
	if len(wrong) == 0 {
		return nil
	}
	return w.recount(ctx, ref, slices.Collect(maps.Keys(wrong)), slices.Collect(maps.Keys(q.keys)))
}

// recount checks wrong counters of a quarter of an hour again, against the trips with the
// keys. If the quarter's own counter is wrong, it also checks the stored counters of
// shorter periods in the quarter.
func (w *trips) recount(ctx context.Context, quarter counter.Ref, wrong []counter.Ref, keys []table.Key) error {
	only := map[counter.Ref]bool{}
	for _, ref := range wrong {
		only[ref] = true
	}
	if only[quarter] {
		if err := w.finer(ctx, quarter, only); err != nil {
			return err
		}
	}
	return w.agree(ctx, w.t, quarter.Partition+" "+quarter.SK, func(context.Context) ([]counter.Ref,
		func(context.Context) (counter.Changes, error), error) {
		return slices.Collect(maps.Keys(only)), func(ctx context.Context) (counter.Changes, error) {
			return w.sumCounted(ctx, w.t, keys, only)
		}, nil
	})
}

// finer adds to into the stored counters for the parts of the period of ref, and for the
// parts of these. It omits recent ones.
func (w *trips) finer(ctx context.Context, ref counter.Ref, into map[counter.Ref]bool) error {
	children, err := w.children(ctx, ref)
	for child := range children {
		if err == nil {
			into[child] = true
			err = w.finer(ctx, child, into)
		}
	}
	return err
}

// children returns the stored counters that divide the period of a counter,
// except recent ones.
func (w *trips) children(ctx context.Context, ref counter.Ref) (map[counter.Ref]bool, error) {
	from, _, err := report.Span(ref)
	if err != nil {
		return nil, err
	}
	partition, sharded, ok := report.Children(from, report.Level(ref))
	if !ok {
		return nil, nil
	}
	out, err := w.stored(ctx, w.t, partition, sharded)
	maps.DeleteFunc(out, func(child counter.Ref, _ bool) bool {
		_, to, err := report.Span(child)
		return err != nil || to.After(w.settled)
	})
	return out, err
}

// checkDays checks the counters of the days. It looks at a day's quarters only
// if the day is recent or its counter is wrong.
func (w *trips) checkDays(ctx context.Context) error {
	now, err := readCounters(ctx, w.t, slices.Collect(maps.Keys(w.known)))
	if err != nil {
		return err
	}
	wrong := now.against(w.days)
	for day := range w.known {
		_, to, err := report.Span(day)
		if err != nil {
			return err
		}
		if wrong[day] == nil && !to.After(w.settled) {
			w.Count("counter", 1)
			continue
		}
		quarters, err := w.children(ctx, day)
		if err != nil {
			return err
		}
		for ref := range quarters {
			if !w.past[ref] {
				if err := w.recount(ctx, ref, []counter.Ref{ref}, nil); err != nil {
					return err
				}
			}
		}
		if err := w.parts(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// parts checks that the counter ref equals the sum of the stored counters for the parts
// of its period.
func (w *trips) parts(ctx context.Context, ref counter.Ref) error {
	from, _, err := report.Span(ref)
	if err != nil {
		return err
	}
	partition, sharded, _ := report.Children(from, report.Level(ref))
	return w.agree(ctx, w.t, ref.Partition+" "+ref.SK, func(ctx context.Context) ([]counter.Ref,
		func(context.Context) (counter.Changes, error), error) {
		parts, err := w.stored(ctx, w.t, partition, sharded)
		return []counter.Ref{ref}, func(ctx context.Context) (counter.Changes, error) {
			out := counter.Changes{}
			found, err := readCounters(ctx, w.t, slices.Collect(maps.Keys(parts)))
			for _, one := range found {
				out.AddAll(counter.Changes{ref: one.sums}, 1)
			}
			return out, err
		}, err
	})
}

// stored returns the counters that are stored in a partition, in all its shards.
func (c *Check) stored(ctx context.Context, t table.Tenant, partition string, sharded bool) (map[counter.Ref]bool,
	error) {
	out := map[counter.Ref]bool{}
	some := counter.Ref{Partition: partition, Sharded: sharded}
	for n := range shardsOf(some) {
		q := table.Query{Limit: rebuildPage, Consistent: true}
		for items, err := range t.Pages(ctx, some.PartitionOf(t, n), q) {
			if err != nil {
				return nil, err
			}
			for _, it := range items {
				out[counter.Ref{Partition: partition, SK: it.SK, Sharded: sharded}] = true
			}
		}
	}
	return out, nil
}

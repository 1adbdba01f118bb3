package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"svc/pkg/background/reconcile"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// Check compares a tenant's feed with the logs of its trips. It finds events that are
// missing, that came twice, and that no log has. It keeps an identifier of each event
// in memory.
type Check struct {
	*reconcile.Run
	Now func() time.Time
}

// told is what the feed has about one event. In lacks it describes an event that the feed
// lacks.
type told struct {
	times int    // how often the feed has the event
	trip  string // "" if the event is not about a trip
	kind  string
	at    string
}

// margin is how long before its expiry an event no longer counts as missing, because it
// may expire during the check.
const margin = 24 * time.Hour

// Tenant checks one tenant. It reads the feed before the logs, so the feed may lack
// events that the logs got meanwhile. Tenant looks for these again before it reports
// them.
func (c *Check) Tenant(ctx context.Context, t table.Tenant) error {
	seen, after := map[string]told{}, map[int]int64{}
	if err := c.read(ctx, t, after, seen); err != nil {
		return err
	}
	lacks := map[string]told{}
	err := tenant.EachShard(ctx, t, func(shard int) error {
		for items, err := range t.Pages(ctx, t.Partition("TRIPS", strconv.Itoa(shard)), table.Query{Index: 1, Limit: 100}) {
			if err == nil {
				err = c.compare(ctx, t, items, seen, lacks)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("checking events: %w", err)
	}
	err = c.Until(ctx, "the events", func(look int) (bool, error) {
		late := map[string]told{}
		if err := c.read(ctx, t, after, late); err != nil {
			return false, err
		}
		maps.DeleteFunc(lacks, func(id string, _ told) bool { return late[id].times > 0 })
		return len(lacks) == 0 || look == reconcile.Patience, nil
	})
	if err := ignoreDeleted(ctx, t, seen); err != nil {
		return fmt.Errorf("looking for deleted trips: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(lacks)) {
		c.Report("event", lacks[id].trip+" "+id, lacks[id].kind, "missing in the feed")
	}
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		switch one := seen[id]; {
		case one.times > 1:
			c.Report("event", one.trip+" "+id, one.kind+" once", fmt.Sprintf("%d times in the feed", one.times))
		case one.trip != "":
			c.Report("event", one.trip+" "+id, "nothing in the log", one.kind+" in the feed")
		}
	}
	return err
}

// read adds the events after the positions to seen, and advances the positions. after
// has the position of each shard. read reports numbers that have no event.
func (c *Check) read(ctx context.Context, t table.Tenant, after map[int]int64, seen map[string]told) error {
	last, err := event.Newest(ctx, t)
	if err != nil {
		return err
	}
	if len(after) == 0 {
		first, err := event.Earliest(ctx, t, len(last), c.Now())
		if err != nil {
			return err
		}
		for shard, n := range first {
			after[shard] = n
		}
	}
	for shard, end := range last {
		for after[shard] < end {
			to := min(end, after[shard]+perPage)
			page, _, err := event.Between(ctx, t, shard, after[shard], to)
			if err != nil {
				return err
			}
			for n := after[shard] + 1; n <= to; n++ {
				e, ok := page[n]
				if !ok {
					c.Report("event", fmt.Sprintf("number %d of shard %d", n, shard), "an event", "nothing")
					continue
				}
				key := e.ID
				if e.Type == settled {
					key = settledKey(e.Resource)
				}
				seen[key] = told{seen[key].times + 1, e.Data.TripID, e.Type, e.Timestamp}
			}
			c.Count("event", len(page))
			after[shard] = to
		}
	}
	return nil
}

// compare removes from seen the events that the trips' logs explain, and adds to lacks
// those that the feed lacks. It skips a trip of which the feed has nothing, because the
// trip is older than the feed.
func (c *Check) compare(ctx context.Context, t table.Tenant, items []table.Item, seen, lacks map[string]told) error {
	keys := make([]table.Key, len(items))
	for i, it := range items {
		keys[i] = event.EmittedKey(t, it.Key)
	}
	emitted, err := t.Batch(ctx, keys...)
	if err != nil {
		return err
	}
	c.Read(len(items))
	for i, it := range items {
		if !emitted[i].Found() {
			continue
		}
		was, err := table.DecodeDoc[event.Emitted](emitted[i])
		if err != nil {
			return err
		}
		tr, err := trip.FromItem(it)
		if err != nil {
			return err
		}
		c.trip(tr, was, seen, lacks)
	}
	return nil
}

// trip removes the events of one trip from seen, and adds to lacks those that the feed
// lacks. was says which events of the trip the feed has.
func (c *Check) trip(tr trip.Trip, was event.Emitted, seen, lacks map[string]told) {
	want := func(id, kind, at string) {
		when, err := timestamp.Parse(at)
		switch one := seen[id]; {
		case one.times == 1:
			delete(seen, id)
		case one.times == 0 && err == nil && c.Now().Sub(when) < event.Kept-margin:
			lacks[id] = told{trip: tr.ID, kind: kind}
		}
	}
	log := tr.Log()
	for _, e := range log {
		want(event.New("", tr.ID, e.ID, e.At, event.Data{}).ID, tripType(e), e.At)
	}
	if was.Done {
		want(settledKey(tr.ID), settled, log[len(log)-1].At)
	}
	if log[0].From != nil { // the log has dropped its first entries
		maps.DeleteFunc(seen, func(_ string, one told) bool { return one.trip == tr.ID && one.at < log[0].At })
	}
}

// ignoreDeleted removes the events of deleted trips from seen. Their logs were deleted
// with the trips, but the feed keeps its events.
func ignoreDeleted(ctx context.Context, t table.Tenant, seen map[string]told) error {
	trips := map[string]bool{} // by id: whether the trip was deleted
	for _, one := range seen {
		if one.trip != "" {
			trips[one.trip] = false
		}
	}
	var keys []table.Key
	ids := slices.Sorted(maps.Keys(trips))
	for _, id := range ids {
		keys = append(keys, trip.Key(t, id), event.EmittedKey(t, trip.Key(t, id)))
	}
	items, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		trips[id] = !items[2*i].Found() && items[2*i+1].Found()
	}
	maps.DeleteFunc(seen, func(_ string, one told) bool { return trips[one.trip] })
	return nil
}

// settledKey is the key in seen of a trip's settlement event, because the log does not
// have the event's identifier.
func settledKey(trip string) string { return settled + " of " + trip }

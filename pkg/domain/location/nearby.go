package location

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
)

// Candidate is a driver whom a search has found: one who is online and suits (Search.Suits).
// Kilometres is the driver's distance from the place of the search.
type Candidate struct {
	driver.Record
	Kilometres float64
}

// Search describes which drivers to look for.
type Search struct {
	Place      Place   // center of the search
	Kilometres float64 // radius of the search; farthest at most
	Most       int     // how many drivers to find
	Now        time.Time
	// Suits reports whether the driver may get the trip. It is called for drivers
	// who are online and enabled, nearest first within one step of the search.
	Suits func(context.Context, driver.Record) (bool, error)
}

// The bounds of a search.
const (
	firstCircle = 1.0 // kilometres; the next circles are four times as wide
	farthest    = 60  // kilometres
	mostEntries = 500 // entries of a list by place that are read from one span
	mostLooked  = 200 // drivers whose records are read for one circle
	atOnce      = 50  // drivers whose records are read in one request
)

// Nearby returns the nearest drivers who suit, nearest first. It searches a small
// circle first, and a wider one only if too few drivers are in it. With more than
// mostEntries drivers in one span, or mostLooked drivers who do not suit, it may
// miss drivers.
func Nearby(ctx context.Context, t table.Tenant, s Search) ([]Candidate, error) {
	s.Kilometres = min(s.Kilometres, farthest)
	for circle := min(firstCircle, s.Kilometres); ; circle = min(4*circle, s.Kilometres) {
		found, err := s.within(ctx, t, circle)
		if err != nil || len(found) >= s.Most || circle >= s.Kilometres {
			return found[:min(len(found), s.Most)], err
		}
	}
}

// within returns the drivers who suit inside of the circle around the place of the search,
// nearest first. kilometres is the radius of the circle. within stops when it has found
// s.Most drivers.
func (s Search) within(ctx context.Context, t table.Tenant, kilometres float64) ([]Candidate, error) {
	entries, err := Around(ctx, t, drivers, s.Place, kilometres)
	if err != nil {
		return nil, err
	}
	order, err := s.order(entries)
	if err != nil {
		return nil, err
	}
	var found []Candidate
	for some := range slices.Chunk(order[:min(len(order), mostLooked)], atOnce) {
		more, err := s.look(ctx, t, some, kilometres)
		if err != nil {
			return nil, err
		}
		if found = append(found, more...); len(found) >= s.Most {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return cmp.Compare(a.Kilometres, b.Kilometres) })
	return found, nil
}

// Around reads the entries of a list by place whose cells touch the circle around p with
// the radius kilometres. It reads at most mostEntries of each span, which is a part of the
// circle. A radius above farthest counts as farthest.
func Around(ctx context.Context, t table.Tenant, list string, p Place, kilometres float64) ([]table.Item, error) {
	spans := p.around(t, list, min(kilometres, farthest))
	pages := make([]table.Page, len(spans))
	group, ctx := panics.WithContext(ctx)
	group.SetLimit(mostRanges)
	for i, one := range spans {
		group.Go(func() (err error) {
			pages[i], err = t.Query(ctx, one.partition,
				table.Query{Index: byPlace, From: one.from, To: one.to, Limit: mostEntries})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []table.Item
	for _, page := range pages {
		out = append(out, page.Items...)
	}
	return out, nil
}

// order returns the ids of the drivers in the entries of the list by place. They are ordered
// by the distance from the place of the search at which they were when the entries were
// written.
func (s Search) order(entries []table.Item) ([]string, error) {
	type one struct {
		id string
		km float64
	}
	var all []one
	for _, it := range entries {
		l, err := table.DecodeDoc[listing](it)
		if err != nil {
			return nil, err
		}
		if _, id, ok := strings.Cut(it.R, "#"); ok && it.Live(s.Now) {
			all = append(all, one{id, s.Place.Kilometres(At(l.Was.Lat, l.Was.Lng))})
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.km, b.km) })
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.id
	}
	return out, nil
}

// look reads the records and positions of the drivers with the ids. It returns those who are
// online, whose position is fresh and at most kilometres away, and who suit.
func (s Search) look(ctx context.Context, t table.Tenant, ids []string, kilometres float64) ([]Candidate, error) {
	keys := make([]table.Key, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, driver.Key(t, id), driver.LocationKey(t, id))
	}
	items, err := t.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []Candidate
	for i := range ids {
		if !items[2*i].Found() {
			continue
		}
		r, err := driver.FromItem(items[2*i])
		if err != nil {
			return nil, err
		}
		l, ok, err := driver.LocationFromItem(items[2*i+1])
		if err != nil {
			return nil, err
		}
		if !ok || r.Disabled || r.Status != driver.Online || !IsFresh(l, s.Now) {
			continue
		}
		km := s.Place.Kilometres(At(l.Lat, l.Lng))
		if km > kilometres {
			continue
		}
		suits, err := s.Suits(ctx, r)
		if err != nil {
			return nil, err
		}
		if suits {
			out = append(out, Candidate{r, km})
		}
	}
	return out, nil
}

// IsFresh reports whether the position is so recent that it says where the driver is now.
func IsFresh(l driver.Location, now time.Time) bool {
	at, err := timestamp.Parse(l.RecordedAt)
	return err == nil && now.Sub(at) <= Fresh
}

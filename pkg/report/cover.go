package report

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/counter"
	"svc/pkg/trip"
)

// level is a length of periods in which trips are counted. Each level divides
// the one before it into about a hundred, so that a window's ragged edges take
// at most a hundred counters a level and side.
type level struct {
	name    string
	width   time.Duration
	parent  string // layout of the start of the period of the level before, which names the partition
	sharded bool   // where the trips of a busy tenant meet
}

const day = 24 * time.Hour

// Days have one partition; the finer periods one for each period they divide,
// which spreads them.
var levels = []level{
	{"day", day, "", true},
	{"quarter", 15 * time.Minute, "2006-01-02", true},
	{"ten", 10 * time.Second, "2006-01-02T15:04", true},
	{"tenth", 100 * time.Millisecond, "2006-01-02T15:04:05", false},
	{"ms", time.Millisecond, "2006-01-02T15:04:05.0", false},
}

// ref names the counter of the level's period that holds t, and its place
// within the partition.
func (l level) ref(k int, t time.Time) counter.Ref {
	if k == 0 {
		return counter.Ref{Partition: "REPORT#" + l.name, SK: t.Format("2006-01-02"), Sharded: l.sharded}
	}
	start := floor(t, levels[k-1].width)
	return counter.Ref{Partition: "REPORT#" + l.name + "#" + start.Format(l.parent), SK: fmt.Sprintf("%02d", t.Sub(start)/l.width), Sharded: l.sharded}
}

// floor gives the start of t's period. Periods divide days of UTC.
func floor(t time.Time, width time.Duration) time.Time {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.Add(t.Sub(midnight) / width * width)
}

func ceil(t time.Time, width time.Duration) time.Time {
	start := floor(t, width)
	if start.Equal(t) {
		return t
	}
	return start.Add(width)
}

// stretch is a row of counters of one partition that a report reads.
type stretch struct {
	ref      counter.Ref // of its first counter
	from, to string      // sort keys, to excluded; "" for no bound
	count    int         // of periods
}

// cover splits the window into the fewest stretches: whole days in the middle,
// finer periods towards both edges. from and to are whole milliseconds, UTC.
func cover(from, to time.Time) []stretch {
	var out []stretch
	for k := len(levels) - 1; k > 0; k-- {
		up, down := ceil(from, levels[k-1].width), floor(to, levels[k-1].width)
		if up.After(down) { // both edges lie within one period
			return append(out, one(k, from, to)...)
		}
		out = append(out, one(k, from, up)...)
		out = append(out, one(k, down, to)...)
		if from, to = up, down; !from.Before(to) {
			return out
		}
	}
	return append(out, one(0, from, to)...)
}

// one is the stretch of level k between two of its bounds, which lie in one
// partition; none where they are the same.
func one(k int, from, to time.Time) []stretch {
	if !from.Before(to) {
		return nil
	}
	l := levels[k]
	s := stretch{ref: l.ref(k, from), count: int(to.Sub(from) / l.width)}
	s.from = s.ref.SK
	if end := l.ref(k, to); end.Partition == s.ref.Partition {
		s.to = end.SK
	}
	return []stretch{s}
}

// Names of sums in a counter's item; short, for a report reads many.
const revenue = "r"

var names = map[trip.Status]string{
	trip.Pending: "p", trip.Searching: "s", trip.CollectingOffers: "o", trip.WaitingCustomer: "w", trip.Scheduled: "l",
	trip.Assigned: "a", trip.DriverArrived: "d", trip.InProgress: "i", trip.Completed: "c", trip.Cancelled: "x",
}

// Count gathers what a trip adds to the counters: one of its status, and its
// final fare once it is completed, under the time of its request.
func Count(changes counter.Changes, status trip.Status, requestedAt time.Time, fare *decimal.Decimal) {
	name, ok := names[status]
	if !ok {
		name = string(status)
	}
	at := requestedAt.UTC()
	for k, l := range levels {
		r := l.ref(k, at)
		changes.Add(r, name, decimal.NewFromInt(1))
		if fare != nil && status == trip.Completed {
			changes.Add(r, revenue, *fare)
		}
	}
}

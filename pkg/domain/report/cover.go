package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/data/counter"
	"svc/pkg/domain/trip"
)

// level is a period length for which trips are counted. Each level divides the
// period of the previous level into 90 to 100 parts. Therefore each end of a
// window needs at most a hundred counters per level.
type level struct {
	name    string
	width   time.Duration
	parent  string // time layout for the start of the previous level's period; the partition is named after it
	sharded bool   // true if a busy tenant writes many trips to the same counter
}

const day = 24 * time.Hour

// levels are the lengths of the counters' periods, from a day to a millisecond. Days have
// one partition. Each finer level has one partition per period of the previous level,
// which spreads the writes.
var levels = []level{
	{"day", day, "", true},
	{"quarter", 15 * time.Minute, "2006-01-02", true},
	{"ten", 10 * time.Second, "2006-01-02T15:04", true},
	{"tenth", 100 * time.Millisecond, "2006-01-02T15:04:05", false},
	{"ms", time.Millisecond, "2006-01-02T15:04:05.0", false},
}

// ref returns the counter of the level's period that contains t. k is the index
// of the level in levels.
func (l level) ref(k int, t time.Time) counter.Ref {
	if k == 0 {
		return counter.Ref{Partition: "REPORT#" + l.name, SK: t.Format("2006-01-02"), Sharded: l.sharded}
	}
	start := floor(t, levels[k-1].width)
	return counter.Ref{Partition: "REPORT#" + l.name + "#" + start.Format(l.parent),
		SK: fmt.Sprintf("%02d", t.Sub(start)/l.width), Sharded: l.sharded}
}

// floor returns the start of t's period. Periods are parts of UTC days.
func floor(t time.Time, width time.Duration) time.Time {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.Add(t.Sub(midnight) / width * width)
}

// ceil returns the start of the first period that does not begin before t.
func ceil(t time.Time, width time.Duration) time.Time {
	start := floor(t, width)
	if start.Equal(t) {
		return t
	}
	return start.Add(width)
}

// stretch is a range of counters in one partition that a report reads.
type stretch struct {
	ref      counter.Ref // the first counter
	from, to string      // sort keys of the counters, to exclusive; "" for unbounded
	count    int         // number of counters, one per period
}

// cover splits the window into the fewest stretches: days in the middle, finer
// periods towards both edges. from and to are in UTC and whole milliseconds.
func cover(from, to time.Time) []stretch {
	var out []stretch
	for k := len(levels) - 1; k > 0; k-- {
		up, down := ceil(from, levels[k-1].width), floor(to, levels[k-1].width)
		if up.After(down) { // from and to lie within one period of the previous level
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

// one returns the stretch of level k between two times, as a list of one. Both times are
// starts of periods of the level, within one period of the previous level. If they are
// equal, the list is empty.
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

// The names of the sums in a counter's item. They are short, because a report reads
// many items. A trip counts for its time of request in one sum per status. A completed
// trip counts for its time of completion in the number of trips and their revenue.
const (
	completed = "e"
	revenue   = "f"
	// olderRevenue is the revenue by time of request, as builds up to 2026-11
	// counted it. Summary.complete adds it to the revenue.
	olderRevenue = "r"
)

// names has the name of each status's sum in a counter's item.
var names = map[trip.Status]string{
	trip.Pending: "p", trip.Searching: "s", trip.CollectingOffers: "o", trip.WaitingCustomer: "w", trip.Scheduled: "l",
	trip.Assigned: "a", trip.DriverArrived: "d", trip.InProgress: "i", trip.Completed: "c", trip.Cancelled: "x",
}

// Requested adds a trip with the status to the changes of the counters for its time of
// request.
func Requested(changes counter.Changes, status trip.Status, at time.Time) {
	name, ok := names[status]
	if !ok {
		name = string(status)
	}
	add(changes, at, counter.Sums{name: decimal.NewFromInt(1)})
}

// Completed adds a completed trip and its final fare to the changes of the
// counters for its time of completion.
func Completed(changes counter.Changes, fare decimal.Decimal, at time.Time) {
	add(changes, at, counter.Sums{completed: decimal.NewFromInt(1), revenue: fare})
}

// OlderRevenue adds a final fare to the changes of the counters for the time of request.
// Builds up to 2026-11 counted it there. A rebuild uses it to remove what they counted.
func OlderRevenue(changes counter.Changes, fare decimal.Decimal, requestedAt time.Time) {
	add(changes, requestedAt, counter.Sums{olderRevenue: fare})
}

// add adds the sums to the changes of the counters, of all levels, whose periods contain
// the time.
func add(changes counter.Changes, at time.Time, sums counter.Sums) {
	for _, r := range Periods(at) {
		changes.AddAll(counter.Changes{r: sums}, 1)
	}
}

// Days is the partition of the day counters.
const Days = "REPORT#day"

// Quarter is the level of the counters of a quarter of an hour.
const Quarter = 1

// Periods returns the counters, one per level, whose periods contain a time.
func Periods(at time.Time) []counter.Ref {
	out := make([]counter.Ref, len(levels))
	for k, l := range levels {
		out[k] = l.ref(k, at.UTC())
	}
	return out
}

// Level returns the level of a trip counter, 0 for a day, and -1 for any other
// counter.
func Level(ref counter.Ref) int {
	rest, _ := strings.CutPrefix(ref.Partition, "REPORT#")
	name, _, _ := strings.Cut(rest, "#")
	return slices.IndexFunc(levels, func(l level) bool { return l.name == name })
}

// Children returns the partition of the next finer level whose counters divide
// one period of the given level: the period that begins at start. ok is false
// for the finest level.
func Children(start time.Time, level int) (partition string, sharded, ok bool) {
	if level+1 >= len(levels) {
		return "", false, false
	}
	ref := levels[level+1].ref(level+1, start)
	return ref.Partition, ref.Sharded, true
}

// Span returns the period of a trip counter; to is exclusive.
func Span(ref counter.Ref) (from, to time.Time, err error) {
	k := Level(ref)
	if k < 0 {
		return from, to, fmt.Errorf("%s counts no trips", ref.Partition)
	}
	if k == 0 {
		from, err = time.Parse("2006-01-02", ref.SK)
		return from, from.Add(day), err
	}
	from, err = time.Parse(levels[k].parent, strings.TrimPrefix(ref.Partition, "REPORT#"+levels[k].name+"#"))
	if err != nil {
		return from, to, err
	}
	n, err := strconv.Atoi(ref.SK)
	from = from.Add(time.Duration(n) * levels[k].width)
	return from, from.Add(levels[k].width), err
}

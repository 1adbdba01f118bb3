package seed

import (
	"slices"
	"time"
)

// clock distributes requests over time as in a city: most in the evening and
// on Fridays and Saturdays, few before dawn, more every month.
type clock struct {
	start  time.Time
	end    time.Time
	before []float64 // sum of the weights of all hours before hour i, and the total at the end
}

// Weights of the hours of a day, in UTC, and of the weekdays from Sunday on.
var (
	hours    = [24]float64{4, 3, 2, 1, 1, 2, 4, 8, 9, 6, 5, 6, 7, 6, 5, 6, 8, 10, 11, 10, 8, 7, 7, 6}
	weekdays = [7]float64{9, 8, 8, 9, 10, 13, 13}
)

// newClock returns a clock for the time from start to end.
func newClock(start, end time.Time) clock {
	c := clock{start: start, end: end, before: []float64{0}}
	sum, n := 0.0, int(end.Sub(start)/time.Hour)+1
	for i := range n {
		at := start.Add(time.Duration(i) * time.Hour)
		sum += hours[at.Hour()] * weekdays[at.Weekday()] * (1 + float64(i)/float64(n))
		c.before = append(c.before, sum)
	}
	return c
}

// at returns the time, to the millisecond, before which the share x (0 to 1) of all
// requests lies. It increases with x.
func (c clock) at(x float64) time.Time {
	want := x * c.before[len(c.before)-1]
	i, _ := slices.BinarySearch(c.before, want)
	i = min(max(i-1, 0), len(c.before)-2)
	within := (want - c.before[i]) / (c.before[i+1] - c.before[i])
	at := c.start.Add(time.Duration((float64(i) + within) * float64(time.Hour))).Truncate(time.Millisecond)
	if at.After(c.end) {
		return c.end
	}
	return at
}

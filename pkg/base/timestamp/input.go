package timestamp

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Input is a caller's date-time, or a date alone, which is a day in the time zone
// of the caller's company.
type Input struct {
	at     time.Time // the time; for a date alone, its midnight in UTC
	isDate bool
	zoned  bool // the time has an offset, or is marked as UTC
}

// input matches a caller's date-time (ISO 8601), in the basic and the extended
// form: a calendar, week or ordinal date, then a time down to the hour, minute or
// second, whose last part may have a fraction, then an offset. It also matches an
// offset that begins with a blank, which "+" means in a query, so that ParseInput can
// explain this error.
var input = regexp.MustCompile(`^(\d{4})-?(?:(\d\d)-?(\d\d)|[Ww](\d\d)-?(\d)|(\d{3}))` +
	`(?:([Tt])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?(?:[.,](\d+))?(?:[Zz]|([+\-− ])(\d\d)(?::?(\d\d))?)?)?$`)

// suffix matches what RFC 9557 adds to a time, such as [Europe/Paris][u-ca=gregory].
var suffix = regexp.MustCompile(`^(.+?)((?:\[!?[A-Za-z0-9_.:+/=-]+\])+)$`)

var errNoSuchTime = errors.New("there is no such date or time")

// ParseInput reads a caller's date-time: ISO 8601, in the years 1 to 9999 in
// UTC. A time without an offset is in UTC. Second 60 means the first second of
// the next minute, hour 24 the midnight that ends the day. A time zone in brackets
// after the offset (RFC 9557) is ignored, because the offset says which moment is
// meant. A part in brackets that is marked as critical ([!…]) is an error.
func ParseInput(s string) (Input, error) {
	if part := suffix.FindStringSubmatch(s); part != nil {
		if strings.Contains(part[2], "[!") {
			return Input{}, errors.New("expected a time without a critical part in brackets: leave [!…] out")
		}
		in, err := ParseInput(part[1])
		if err == nil && !in.zoned {
			err = errors.New("expected an offset before the time zone in brackets, such as 2026-01-31T08:00:00+01:00")
		}
		return in, err
	}
	part := input.FindStringSubmatch(s)
	if part == nil {
		return Input{}, errors.New("expected a date-time such as 2026-01-31T08:00:00Z, or a date such as 2026-01-31")
	}
	if part[12] == " " {
		return Input{}, errors.New("a blank stands where + was meant: write %2B in a query")
	}
	day, ok := dayOf(part[1:7])
	if !ok {
		return Input{}, errNoSuchTime
	}
	if part[7] == "" {
		return Input{at: day, isDate: true}, nil
	}
	clock, ok := clockOf(part[8:])
	if !ok {
		return Input{}, errNoSuchTime
	}
	at := day.Add(clock)
	if at.Year() < 1 || at.Year() > 9999 {
		return Input{}, errors.New("expected a time in the years 1 to 9999 in UTC")
	}
	return Input{at: at, zoned: part[12] != "" || strings.ContainsAny(s[len(s)-1:], "Zz")}, nil
}

// number returns the digits as a number, 0 for "".
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // cannot fail: the regular expression allows only a few digits
	return n
}

// dayOf returns the midnight in UTC of a date. part has the digits of year, month, day,
// week, weekday and day of the year; those that the date does not have are "". It
// reports false if there is no such day.
func dayOf(part []string) (time.Time, bool) {
	year, month, day, week, weekday, ordinal := number(part[0]), number(part[1]), number(part[2]), number(part[3]),
		number(part[4]), number(part[5])
	switch {
	case part[3] != "": // the week with 4 January is week 1
		fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		t := fourth.AddDate(0, 0, (week-1)*7+weekday-1-(int(fourth.Weekday())+6)%7)
		ofYear, ofWeek := t.ISOWeek()
		return t, weekday >= 1 && weekday <= 7 && ofYear == year && ofWeek == week && year > 0 && t.Year() > 0
	case part[5] != "":
		t := time.Date(year, 1, ordinal, 0, 0, 0, 0, time.UTC)
		return t, ordinal > 0 && t.Year() == year && year > 0
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, int(t.Month()) == month && t.Day() == day && year > 0
}

// clockOf returns a time of day as the time since midnight, converted to UTC. part has
// hour, minute, second, fraction, and the sign, hours and minutes of the offset; what is
// missing is "". It reports false if there is no such time.
func clockOf(part []string) (time.Duration, bool) {
	hour, minute, second, fraction := number(part[0]), number(part[1]), number(part[2]), part[3]
	unit := time.Second // the fraction is a part of this
	switch {
	case part[1] == "":
		unit = time.Hour
	case part[2] == "":
		unit = time.Minute
	}
	billionths := number((fraction + "000000000")[:9])
	offset := time.Duration(number(part[5]))*time.Hour + time.Duration(number(part[6]))*time.Minute
	if part[4] != "+" { // a minus is "-" or U+2212
		offset = -offset
	}
	valid := hour <= 24 && minute <= 59 && second <= 60 && number(part[5]) <= 23 && number(part[6]) <= 59 &&
		(hour < 24 || minute == 0 && second == 0 && strings.Trim(fraction, "0") == "")
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(billionths)*(unit/time.Second) - offset, valid
}

// IsDate reports whether the input is a date alone.
func (in Input) IsDate() bool { return in.isDate }

// Zoned returns the time of an input that has an offset or is marked as UTC. ok is
// false for any other input, because such an input means another time in each zone.
func (in Input) Zoned() (at time.Time, ok bool) { return in.at, in.zoned }

// From returns the input as an inclusive lower bound: a date alone is the
// beginning of its day in the zone.
func (in Input) From(zone *time.Location) time.Time {
	if !in.isDate {
		return in.at
	}
	return beginning(in.at, zone)
}

// To returns the input as an exclusive upper bound: a date alone is the end of its
// day in the zone.
func (in Input) To(zone *time.Location) time.Time {
	if !in.isDate {
		return in.at
	}
	return beginning(in.at.AddDate(0, 0, 1), zone)
}

// beginning returns the first moment of a day in a zone. If clocks are put forward at
// midnight, the day has no midnight and begins at the change. If they are put back, it
// may have two, and begins at the first.
func beginning(day time.Time, zone *time.Location) time.Time {
	t := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	start, end := t.ZoneBounds()
	if t.Day() != day.Day() {
		return end.UTC()
	}
	if !start.IsZero() {
		_, offset := start.Add(-1).Zone()
		if earlier := day.Add(-time.Duration(offset) * time.Second); earlier.Before(start) && earlier.Before(t) {
			t = earlier
		}
	}
	return t.UTC()
}

// In returns an input without an offset as a time in the zone. When clocks are put back,
// a local time occurs twice. In returns the first of the two, but the second if the first
// is before the time not. When clocks are put forward, some local times do not occur. In
// returns them as if the clock had not changed yet.
func (in Input) In(zone *time.Location, not time.Time) time.Time {
	local := in.at
	before, after := local.Add(-26*time.Hour), local.Add(26*time.Hour)
	_, early := before.In(zone).Zone()
	_, late := after.In(zone).Zone()
	first := local.Add(-time.Duration(early) * time.Second)
	second := local.Add(-time.Duration(late) * time.Second)
	shows := func(t time.Time) bool {
		_, offset := t.In(zone).Zone()
		return t.Add(time.Duration(offset) * time.Second).Equal(local)
	}
	switch {
	case !shows(first) && shows(second):
		return second.UTC()
	case shows(second) && first.Before(not) && second.After(first):
		return second.UTC()
	}
	return first.UTC()
}

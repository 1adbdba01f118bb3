package emulator

import (
	"fmt"
	"strings"
	"time"
)

// Schedule is a function's schedule: an event of type ScheduleV2.
type Schedule struct {
	Function string        // logical id of the function in the template
	Rate     time.Duration // time between two invocations
	Timeout  time.Duration // timeout of one invocation
}

// Schedules returns the schedules of a SAM template, sorted by function. It returns
// an error for a schedule that is not a rate, such as a cron expression.
func Schedules(text []byte) ([]Schedule, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	return eventsOf(t, "ScheduleV2", func(function string, properties map[string]any) (Schedule, error) {
		rate, err := parseRate(fmt.Sprint(properties["ScheduleExpression"]))
		return Schedule{function, rate, t.timeout(function)}, err
	})
}

// parseRate parses a rate expression, such as "rate(6 hours)".
func parseRate(expression string) (time.Duration, error) {
	var n int
	var unit string
	if _, err := fmt.Sscanf(expression, "rate(%d %s", &n, &unit); err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a rate expression, such as rate(6 hours)", expression)
	}
	units := map[string]time.Duration{"minute)": time.Minute, "hour)": time.Hour, "day)": 24 * time.Hour}
	if units[unit] == 0 {
		unit = strings.Replace(unit, "s)", ")", 1)
	}
	if units[unit] == 0 {
		return 0, fmt.Errorf("%q has no known unit: expected minutes, hours or days", expression)
	}
	return time.Duration(n) * units[unit], nil
}

package feed_test

import (
	"reflect"
	"strings"
	"testing"

	"svc/pkg/background/feed"
	"svc/pkg/domain/event"
	"svc/pkg/domain/trip"
)

// TestEveryLogEntryHasAnEvent: each type of log entry is a type of event that a
// caller can ask for.
func TestEveryLogEntryHasAnEvent(t *testing.T) {
	field, _ := reflect.TypeFor[trip.LogEntry]().FieldByName("Type")
	all := strings.Split(field.Tag.Get("enum"), ",")
	if len(all) < 6 {
		t.Fatalf("only %d types of entries", len(all))
	}
	for _, one := range all {
		if kind := feed.TripType(trip.LogEntry{Type: trip.Event(one), To: trip.Pending}); !event.Known(kind) {
			t.Errorf("%s is %s, which is not a type of event", one, kind)
		}
	}
	if kind := feed.TripType(trip.LogEntry{Type: trip.EventBooked, To: trip.Scheduled}); kind != "trip.scheduled" {
		t.Errorf("a scheduled trip is %s", kind)
	}
}

// TestLogThatDroppedWhatWasSeen: a log keeps its last entries. What was dropped
// meanwhile must not make the step repeat the others.
func TestLogThatDroppedWhatWasSeen(t *testing.T) {
	id := func(time string) string { return "log_" + time + "0000000000000000" }
	log := []trip.LogEntry{{ID: id("01KJMMMMM1")}, {ID: id("01KJMMMMM2")}, {ID: id("01KJMMMMM3")}}
	for last, want := range map[string]int{"": 0, log[0].ID: 1, log[2].ID: 3, id("01KJMMMMM0"): 0,
		"log_01KJMMMMM2Z000000000000000": 2, id("01KJMMMMM9"): 3} {
		if got := feed.Unseen(log, last); got != want {
			t.Errorf("after %q: %d, want %d", last, got, want)
		}
	}
}

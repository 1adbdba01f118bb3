package trip_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/trip"
)

var operator = trip.ByOperator("usr_01JT7M4C6Q8V2N5X9B3D1F7H0K")

// changes are all changes of a trip, each by one of those who may make it.
var changes = []struct {
	event trip.Event
	by    trip.LogActor
	do    func(trip.Trip, time.Time) (trip.Trip, error)
}{
	{trip.EventAccepted, trip.ByDriver(driver1), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Accept(driver1, at)
	}},
	{trip.EventArrived, trip.ByDriver(driver1), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Arrive(trip.ByDriver(driver1), at)
	}},
	{trip.EventArrived, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) { return t.Arrive(operator, at) }},
	{trip.EventStarted, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) { return t.Start(operator, at) }},
	{trip.EventStarted, trip.ByDriver(driver2), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Start(trip.ByDriver(driver2), at)
	}},
	{trip.EventCompleted, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Complete(operator, at, trip.Measured{})
	}},
	{trip.EventCancelled, trip.ByRider(rider), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Cancel(trip.ByRider(rider), at, nil)
	}},
	{trip.EventCancelled, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Cancel(operator, at, ptr("no car"))
	}},
	{trip.EventAssigned, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) {
		if t.DriverID != nil {
			return t.Accept(driver2, at) // a 409
		}
		return t.Assign(operator, driver2, at)
	}},
	{trip.EventHandedOver, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) {
		if t.DriverID == nil {
			return t.Arrive(operator, at)
		}
		return t.Assign(operator, map[string]string{driver1: driver2, driver2: driver1}[*t.DriverID], at)
	}},
	{trip.EventUnassigned, operator, func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Unassign(operator, ptr("broken down"), at)
	}},
	{trip.EventReleased, trip.ByDriver(driver1), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Unassign(trip.ByDriver(driver1), nil, at)
	}},
	{trip.EventSearching, trip.BySystem(), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Search(trip.BySystem(), at)
	}},
	{trip.EventCollecting, trip.BySystem(), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Collect(trip.BySystem(), at)
	}},
	{trip.EventDue, trip.BySystem(), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Due(trip.BySystem(), at)
	}},
	{trip.EventOffered, trip.BySystem(), func(t trip.Trip, at time.Time) (trip.Trip, error) {
		return t.Note(trip.EventOffered, trip.BySystem(), trip.LogData{DriverID: ptr(driver1)}, at), nil
	}},
}

// Whatever the order of the changes and the clocks of those who make them, each
// adds one entry to the log. The entries before it stay as they were, and the entry
// names who made the change, and the status before it and after it.
func TestLogGrowsByEachChange(t *testing.T) {
	tenant := testkit.Table(t).Tenant(ids.New(ids.Tenant, now))
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		one := at([]trip.Status{trip.Pending, trip.Pending, trip.Scheduled, trip.WaitingCustomer}[seed%4], "")
		clock, made := now, 0
		for range 40 {
			c := changes[r.IntN(len(changes))]
			clock = clock.Add(time.Duration(r.IntN(4)-1) * time.Millisecond)
			next, err := c.do(one, clock)
			if err != nil {
				if s := status(err); s != badState && s != notFound {
					t.Fatal(err)
				}
				continue
			}
			made++
			if r.IntN(8) == 0 {
				testkit.Must(t, tenant.Load(t.Context(), next.Item(tenant, 1)))
				it, err := tenant.Get(t.Context(), trip.Key(tenant, next.ID))
				testkit.Must(t, err)
				next = tripOf(t, it)
			}
			was, got := one.Log(), next.Log()
			if diff := cmp.Diff(was, got[:len(got)-1]); diff != "" {
				t.Fatalf("%s of a trip that is %s (-before +after):\n%s", c.event, one.Status, diff)
			}
			e := got[len(got)-1]
			if e.Type != c.event || e.Actor != c.by || *e.From != one.Status || e.To != next.Status ||
				e.At != next.UpdatedAt || e.At < one.UpdatedAt || !ids.Valid(ids.Log, e.ID) ||
				slices.ContainsFunc(was, func(w trip.LogEntry) bool { return w.ID == e.ID }) {
				t.Fatalf("%s of a trip that is %s at %s: %+v", c.event, one.Status, one.UpdatedAt, e)
			}
			one = next
		}
		if made == 0 {
			t.Errorf("no change of trip %d", seed)
		}
	}
}

// A trip without a driver has no time of an acceptance or an arrival, and a trip
// with a new driver has the time at which this driver got it.
func TestHandOver(t *testing.T) {
	was := at(trip.DriverArrived, driver1)
	was.AcceptedAt, was.ArrivedAt = ptr(timestamp.Format(now)), ptr(timestamp.Format(now))
	next, err := was.Assign(operator, driver2, later)
	testkit.Must(t, err)
	if next.Status != trip.Assigned || *next.DriverID != driver2 || *next.AcceptedAt != timestamp.Format(later) ||
		next.ArrivedAt != nil {
		t.Errorf("handed over: %+v", next)
	}
	if e := next.LastEntry(); *e.Data.DriverID != driver2 || *e.Data.PreviousDriverID != driver1 {
		t.Errorf("the entry is %+v", e)
	}
	if _, err := next.Arrive(trip.ByDriver(driver1), later); status(err) != notFound {
		t.Errorf("the driver who had the trip: %v", err)
	}
	if _, err := next.Assign(operator, driver2, later); status(err) != badState {
		t.Errorf("to the same driver: %v", err)
	}
	next, err = next.Unassign(operator, ptr("ill"), later)
	testkit.Must(t, err)
	if next.Status != trip.Searching || next.DriverID != nil || next.AcceptedAt != nil || *was.DriverID != driver1 {
		t.Errorf("unassigned: %+v", next)
	}
	if _, err := next.Accept(driver1, later); err != nil {
		t.Errorf("accepted again: %v", err)
	}
}

// The statuses from which an operator, or the service, may make a change.
func TestOperatorsTransitions(t *testing.T) {
	open := []trip.Status{trip.Pending, trip.Searching, trip.CollectingOffers, trip.Scheduled}
	for name, tt := range map[string]struct {
		driver string
		do     func(trip.Trip) (trip.Trip, error)
		from   []trip.Status
	}{
		"assign": {"", func(t trip.Trip) (trip.Trip, error) { return t.Assign(operator, driver1, later) }, open},
		"hand over": {driver2, func(t trip.Trip) (trip.Trip, error) { return t.Assign(operator, driver1, later) },
			[]trip.Status{trip.Assigned, trip.DriverArrived}},
		"unassign": {driver1, func(t trip.Trip) (trip.Trip, error) { return t.Unassign(operator, nil, later) },
			[]trip.Status{trip.Assigned, trip.DriverArrived}},
		"arrive": {driver1, func(t trip.Trip) (trip.Trip, error) { return t.Arrive(operator, later) },
			[]trip.Status{trip.Assigned}},
		"start": {driver1, func(t trip.Trip) (trip.Trip, error) { return t.Start(operator, later) },
			[]trip.Status{trip.DriverArrived}},
		"complete": {driver1, func(t trip.Trip) (trip.Trip, error) { return t.Complete(operator, later, trip.Measured{}) },
			[]trip.Status{trip.InProgress}},
		"cancel": {driver1, func(t trip.Trip) (trip.Trip, error) { return t.Cancel(operator, later, nil) },
			slices.DeleteFunc(slices.Clone(trip.Statuses), func(s trip.Status) bool {
				return s == trip.Completed || s == trip.Cancelled
			})},
		"search": {"", func(t trip.Trip) (trip.Trip, error) { return t.Search(trip.BySystem(), later) },
			[]trip.Status{trip.Pending, trip.CollectingOffers, trip.Scheduled}},
		"collect": {"", func(t trip.Trip) (trip.Trip, error) { return t.Collect(trip.BySystem(), later) },
			[]trip.Status{trip.Pending, trip.Searching, trip.Scheduled}},
		"due": {"", func(t trip.Trip) (trip.Trip, error) { return t.Due(trip.BySystem(), later) },
			[]trip.Status{trip.Scheduled}},
	} {
		for _, from := range trip.Statuses {
			want := badState
			if slices.Contains(tt.from, from) {
				want = fine
			}
			if _, err := tt.do(at(from, tt.driver)); status(err) != want {
				t.Errorf("%s a trip that is %s: %v, want %d", name, from, err, want)
			}
		}
	}
}

// A history keeps the newest hundred entries, and fewer if people wrote a lot, so
// the trip's item stays small.
func TestHistoryIsBounded(t *testing.T) {
	one := at(trip.Pending, "")
	for range 300 {
		one = one.Note(trip.EventOffered, trip.BySystem(), trip.LogData{}, now)
	}
	if log := one.Log(); len(log) != 100 || log[99].At != timestamp.Format(now.Add(300*time.Millisecond)) {
		t.Errorf("%d entries to %s", len(log), log[len(log)-1].At)
	}
	essay := strings.Repeat("ж", 1000)
	for range 100 {
		one = one.Note(trip.EventUnassigned, operator, trip.LogData{Reason: &essay}, now)
	}
	size := 0
	for _, e := range one.Log() {
		size += len(*e.Data.Reason)
	}
	if size > 66<<10 || size < 60<<10 {
		t.Errorf("the reasons have %d bytes", size)
	}
}

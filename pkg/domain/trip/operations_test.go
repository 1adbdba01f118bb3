package trip_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// office is a town with an operator who may change trips.
type office struct {
	*town
	boss  string // id
	token string
}

func newOffice(t testing.TB, riders, drivers int) *office {
	t.Helper()
	w := &office{town: newTown(t, 1, riders, drivers), boss: ids.New(ids.Person, apitest.Start)}
	w.token = w.Token(w.tenant, authz.Dashboard, w.boss, "VIEW_TRIPS", "CREATE_TRIPS", "DELETE_TRIPS")
	w.allow(-1)
	return w
}

// do performs an operator's action on the trip.
func (w *office) do(id, action, body string) apitest.Answer {
	return w.Insist("POST", "/api/v1/trips/"+id+"/"+action, w.token, body)
}

func (w *office) to(driver int) string { return fmt.Sprintf(`{"driverId":%q}`, w.drivers[driver]) }

// book makes the operator book a trip with more members.
func (w *office) book(more string) trip.Trip {
	w.t.Helper()
	var got trip.Trip
	w.Want(201, &got, "POST", "/api/v1/trips", w.token, w.booking(w.riders[0], more))
	return got
}

func (w *office) booking(rider, more string) string {
	return fmt.Sprintf(`{"customerId":%q,`, rider) + strings.Trim(ride, "{}") + more + "}"
}

func (w *office) types(id string) []string {
	w.t.Helper()
	var out []string
	for _, e := range w.log(id) {
		out = append(out, fmt.Sprintf("%s by %s to %s", e.Type, e.Actor.Type, e.To))
	}
	return out
}

// mine returns the ids of a rider's or driver's own trips.
func (w *office) mine(person string) []string {
	w.t.Helper()
	var got struct{ Items []trip.Trip }
	w.Want(200, &got, "GET", "/api/v1/me/trips", w.tokens[person], "")
	out := []string{}
	for _, one := range got.Items {
		out = append(out, one.ID)
	}
	return out
}

// A phone dies on the road: the operator takes the ride to its end in the driver's
// place, with the fare. The log names the operator, and so does the audit log.
func TestOperatorDrives(t *testing.T) {
	w := newOffice(t, 1, 1)
	w.wire.Rounds(true)
	id := w.request().ID
	w.act(id, "accept", w.driver(), "")
	for _, action := range []string{"arrived", "start"} {
		if a := w.do(id, action, ""); a.Status != 200 {
			t.Fatalf("%s: %d %s", action, a.Status, a.Body)
		}
		w.Advance(time.Second) // the audit log is ordered by time
	}
	if a := w.do(id, "complete", `{"finalFare":1000000000000}`); a.Status != 400 ||
		!strings.Contains(a.Body, "body.finalFare") {
		t.Errorf("a typo: %d %s", a.Status, a.Body)
	}
	var done trip.Finished
	w.Want(200, &done, "POST", "/api/v1/trips/"+id+"/complete", w.token, `{"finalFare":18.5,"actualDistance":6.4}`)
	if done.Status != trip.Completed || *done.FinalFare != "18.5" || *done.ActualDistance != "6.4" {
		t.Errorf("completed: %+v", done)
	}
	if u := w.Last().Usage; u.Sequential > 2 {
		t.Errorf("a completion takes %d round trips", u.Sequential)
	}
	want := []string{"REQUESTED by rider to PENDING", "ACCEPTED by driver to ASSIGNED",
		"ARRIVED by dashboard to DRIVER_ARRIVED", "STARTED by dashboard to IN_PROGRESS",
		"COMPLETED by dashboard to COMPLETED"}
	if diff := cmp.Diff(want, w.types(id)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if log := w.log(id); log[4].Actor.ID != w.boss {
		t.Errorf("the last entry is by %+v", log[4].Actor)
	}
	entries, _, err := audit.List(t.Context(), w.tenant, "", 10)
	testkit.Must(t, err)
	if len(entries) != 3 || entries[0].Who != w.boss || entries[0].What != "trip.move" || entries[0].Subject != id ||
		!strings.Contains(string(entries[0].Before), "IN_PROGRESS") ||
		!strings.Contains(string(entries[0].After), "COMPLETED") {
		t.Errorf("audit log: %+v", entries)
	}
	for _, action := range []string{"arrived", "start", "complete", "cancel", "unassign"} {
		if a := w.do(id, action, ""); a.Status != 409 || a.Code() != "invalid_state" {
			t.Errorf("%s of a completed trip: %d %s", action, a.Status, a.Body)
		}
	}
}

// A car breaks down: the trip moves from one driver's list to the other's, and only
// the new driver can go on with it.
func TestHandOverMovesLists(t *testing.T) {
	w := newOffice(t, 1, 2)
	id := w.reach("accept", "arrived").ID
	var got trip.Accepted
	w.Want(200, &got, "POST", "/api/v1/trips/"+id+"/assign", w.token, w.to(1))
	if got.Status != trip.Assigned || got.DriverID != w.drivers[1] {
		t.Errorf("handed over: %+v", got)
	}
	if a, b := w.mine(w.drivers[0]), w.mine(w.drivers[1]); len(a) != 0 || !slices.Equal(b, []string{id}) {
		t.Errorf("the lists have %v and %v", a, b)
	}
	var page struct{ Items []trip.Trip }
	w.Want(200, &page, "GET", "/api/v1/trips?driverId="+w.drivers[0], w.token, "")
	if len(page.Items) != 0 {
		t.Errorf("the operator's list of the first driver has %+v", page.Items)
	}
	if a := w.act(id, "arrived", w.tokens[w.drivers[0]], ""); a.Status != 404 {
		t.Errorf("the first driver: %d %s", a.Status, a.Body)
	}
	for _, action := range []string{"arrived", "start", "complete"} {
		if a := w.act(id, action, w.tokens[w.drivers[1]], ""); a.Status != 200 {
			t.Errorf("%s by the second driver: %d %s", action, a.Status, a.Body)
		}
	}
	want := []string{"REQUESTED by rider to PENDING", "ACCEPTED by driver to ASSIGNED",
		"ARRIVED by driver to DRIVER_ARRIVED", "HANDED_OVER by dashboard to ASSIGNED",
		"ARRIVED by driver to DRIVER_ARRIVED", "STARTED by driver to IN_PROGRESS", "COMPLETED by driver to COMPLETED"}
	if diff := cmp.Diff(want, w.types(id)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	log := w.log(id)
	if *log[1].Data.DriverID != w.drivers[0] || log[2].Actor.ID != w.drivers[0] || log[4].Actor.ID != w.drivers[1] {
		t.Errorf("the log names the wrong drivers: %+v", log)
	}
}

// A driver who falls ill is taken from the ride, which another driver then accepts.
func TestUnassign(t *testing.T) {
	w := newOffice(t, 1, 2)
	id := w.reach("accept").ID
	var got trip.Changed
	w.Want(200, &got, "POST", "/api/v1/trips/"+id+"/unassign", w.token, `{"reason":"The driver is ill"}`)
	if now := w.stored(id); got.Status != trip.Searching || now.DriverID != nil || now.AcceptedAt != nil {
		t.Errorf("unassigned: %+v", now)
	}
	if list := w.mine(w.drivers[0]); len(list) != 0 {
		t.Errorf("the driver's list has %v", list)
	}
	if e := w.log(id)[2]; *e.Data.Reason != "The driver is ill" || *e.Data.PreviousDriverID != w.drivers[0] {
		t.Errorf("the entry is %+v", e)
	}
	if a := w.act(id, "accept", w.tokens[w.drivers[1]], ""); a.Status != 200 {
		t.Errorf("the second driver: %d %s", a.Status, a.Body)
	}
}

// Nobody can be assigned who is not a driver of the company, or is disabled. An
// operator of another company cannot change the trip, or learn that it exists.
func TestAssignOnlyOwnDrivers(t *testing.T) {
	w := newOffice(t, 1, 2)
	id := w.request().ID
	other := settle(t, w.Stand, 1, 1, 1)
	stranger := w.Token(other.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "CREATE_TRIPS", "DELETE_TRIPS")
	w.disable(w.drivers[1])
	for name, driver := range map[string]string{"another company's": other.drivers[0], "a rider": w.riders[0],
		"disabled": w.drivers[1], "unknown": ids.New(ids.Driver, apitest.Start), "no id": "drv_1"} {
		for path, body := range map[string]string{"/api/v1/trips/" + id + "/assign": fmt.Sprintf(`{"driverId":%q}`, driver),
			"/api/v1/trips": w.booking(w.riders[0], fmt.Sprintf(`,"driverId":%q`, driver))} {
			if a := w.Do("POST", path, w.token, body); a.Status != 400 || !strings.Contains(a.Body, "body.driverId") {
				t.Errorf("%s at %s: %d %s", name, path, a.Status, a.Body)
			}
		}
	}
	missing := w.Do("POST", "/api/v1/trips/"+ids.New(ids.Trip, apitest.Start)+"/cancel", stranger, "").Body
	for _, action := range []string{"assign", "unassign", "cancel", "arrived", "start", "complete"} {
		body := ""
		if action == "assign" {
			body = fmt.Sprintf(`{"driverId":%q}`, other.drivers[0])
		}
		if a := w.Do("POST", "/api/v1/trips/"+id+"/"+action, stranger, body); a.Status != 404 || a.Body != missing {
			t.Errorf("%s by another company: %d %s", action, a.Status, a.Body)
		}
	}
	if a := w.Do("DELETE", "/api/v1/trips/"+id, stranger, ""); a.Status != 404 || a.Body != missing {
		t.Errorf("deleted by another company: %d %s", a.Status, a.Body)
	}
	if a := w.Do("POST", "/api/v1/trips", stranger, w.booking(w.riders[0], "")); a.Status != 400 {
		t.Errorf("another company's rider: %d %s", a.Status, a.Body)
	}
	if got := w.stored(id); got.Status != trip.Pending || got.Version != 1 {
		t.Errorf("the trip changed: %+v", got)
	}
}

// disable sets a driver's record as disabled.
func (w *office) disable(id string) {
	w.t.Helper()
	tx := w.tenant.Write()
	tx.Update(authz.ActorKey(w.tenant, authz.Driver, id), table.Change{Set: map[string]any{"disabled": true}})
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// A booking is a trip of its rider like any other, and its log begins with it.
func TestBook(t *testing.T) {
	w := newOffice(t, 1, 1)
	w.wire.Rounds(true)
	s, err := settings.AddService(t.Context(), w.tenant, audit.By{Who: "svc:test", At: apitest.Start},
		settings.Service{ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3", PerKm: "1.2", PerMinute: "0.3",
			MinimumFare: "5", Capacity: 4, Active: true}, CommissionRate: "0.2"})
	testkit.Must(t, err)
	priced := fmt.Sprintf(`,"destLat":40.7306,"destLng":-73.9866,"serviceTypeId":%q`, s.ID)
	tomorrow := apitest.Start.Add(24 * time.Hour)
	for name, tt := range map[string]struct {
		more   string
		status trip.Status
		fare   bool
	}{
		"now":                {"", trip.Pending, false},
		"with a fare":        {priced, trip.Pending, true},
		"for a driver":       {priced + `,"driverId":"` + w.drivers[0] + `"`, trip.Assigned, true},
		"for later":          {`,"scheduledFor":"2026-03-02T07:00:00-05:00"`, trip.Scheduled, false},
		"null is as absent":  {`,"scheduledFor":null,"driverId":null`, trip.Pending, false},
		"around the globe":   {strings.ReplaceAll(priced, "-73", "106"), trip.Pending, false},
		"a place is missing": {fmt.Sprintf(`,"serviceTypeId":%q`, s.ID), trip.Pending, false},
	} {
		got := w.book(tt.more)
		if got.Status != tt.status || got.CustomerID != w.riders[0] || (got.EstimatedFare != nil) != tt.fare {
			t.Errorf("%s: %+v", name, got)
		}
		if tt.fare && *got.EstimatedFare != "9" {
			t.Errorf("%s: the fare is %s", name, *got.EstimatedFare)
		}
		log := w.log(got.ID)
		if e := log[0]; len(log) != 1 || e.Type != trip.EventBooked || e.Actor != trip.ByOperator(w.boss) || e.From != nil ||
			e.To != tt.status {
			t.Errorf("%s: the log is %+v", name, log)
		}
		if tt.status == trip.Scheduled && *got.ScheduledFor != timestamp.Format(tomorrow) {
			t.Errorf("%s: scheduled for %s", name, *got.ScheduledFor)
		}
		if tt.status == trip.Assigned && (*got.AcceptedAt != got.RequestedAt || *got.DriverID != w.drivers[0] ||
			!slices.Contains(w.mine(w.drivers[0]), got.ID)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if u := w.Last().Usage; u.Sequential > 2 {
		t.Errorf("a list takes %d round trips", u.Sequential)
	}
	w.book(priced)
	if u := w.Last().Usage; u.Sequential > 2 {
		t.Errorf("a booking takes %d round trips", u.Sequential)
	}
	if list := w.mine(w.riders[0]); len(list) != 8 {
		t.Errorf("the rider's list has %d trips", len(list))
	}
}

// A booking for later is assigned and cancelled like any other trip, and the audit
// log has it.
func TestBookedIsATrip(t *testing.T) {
	w := newOffice(t, 1, 1)
	one := w.book(`,"scheduledFor":"2026-03-02T07:00:00-05:00"`)
	w.Advance(time.Second)
	for _, step := range []func() apitest.Answer{
		func() apitest.Answer { return w.do(one.ID, "assign", w.to(0)) },
		func() apitest.Answer {
			w.begin(22 * time.Hour)
			return w.act(one.ID, "arrived", w.driver(), "")
		},
		func() apitest.Answer { return w.act(one.ID, "cancel", w.rider(), "") },
	} {
		if a := step(); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	entries, _, err := audit.List(t.Context(), w.tenant, "", 2)
	testkit.Must(t, err)
	if entries[1].What != "trip.book" || entries[1].Subject != one.ID {
		t.Errorf("audit log: %+v", entries)
	}
}

// A time of pick-up is from 15 minutes to 60 days ahead, and says in which zone.
func TestScheduledFor(t *testing.T) {
	w := newOffice(t, 1, 1)
	at := func(d time.Duration) string { return timestamp.Format(apitest.Start.Add(d)) }
	for text, want := range map[string]int{
		at(15 * time.Minute): 201, at(15*time.Minute - time.Millisecond): 400, at(-time.Hour): 400,
		at(60 * 24 * time.Hour): 201, at(60*24*time.Hour + time.Millisecond): 400,
		"2026-03-02T08:00:00": 400, "2026-03-02": 400, "20260302T080000+0100": 201, "2026-03-02T24:00:00z": 201,
		"2026-02-30T08:00:00Z": 400, "tomorrow": 400, "2026-03-02T08:00:00+25:00": 400,
		// The clocks of New York skip 02:30 on this day. An offset says which hour is meant.
		"2026-03-08T02:30:00-05:00": 201,
	} {
		a := w.Do("POST", "/api/v1/trips", w.token, w.booking(w.riders[0], fmt.Sprintf(`,"scheduledFor":%q`, text)))
		if a.Status != want || want == 400 && !strings.Contains(a.Body, "body.scheduledFor") {
			t.Errorf("%s: %d %s", text, a.Status, a.Body)
		}
	}
	both := w.booking(w.riders[0], fmt.Sprintf(`,"scheduledFor":%q,"driverId":%q`, at(time.Hour), w.drivers[0]))
	if a := w.Do("POST", "/api/v1/trips", w.token, both); a.Status != 400 {
		t.Errorf("both: %d %s", a.Status, a.Body)
	}
}

// A company that switches dispatch.scheduledRides off refuses bookings for a later time,
// and takes all others.
func TestNoScheduledRides(t *testing.T) {
	w := newOffice(t, 1, 1)
	rules := settings.Default
	rules.Dispatch.ScheduledRides = false
	testkit.Must(t, w.tenant.Load(t.Context(), settings.Kind.Item(w.tenant, "", rules)))
	later := w.booking(w.riders[0], `,"scheduledFor":"2026-03-02T07:00:00Z"`)
	if a := w.Do("POST", "/api/v1/trips", w.token, later); a.Status != 409 || a.Code() != "invalid_state" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	w.book("")
}

// The limit of a rider's open trips counts booked trips too.
func TestBookedTripsAreOpen(t *testing.T) {
	w := newOffice(t, 1, 1)
	w.allow(2)
	w.book("")
	w.request()
	a := w.Do("POST", "/api/v1/trips", w.token, w.booking(w.riders[0], ""))
	if a.Status != 409 || a.Code() != "too_many_open_trips" {
		t.Errorf("a third trip: %d %s", a.Status, a.Body)
	}
}

// Only a trip that is cancelled, or that no driver ever had, can be deleted. It is
// then gone from every list.
func TestDelete(t *testing.T) {
	w := newOffice(t, 1, 1)
	w.wire.Rounds(true)
	erase := func(id string) int { return w.Do("DELETE", "/api/v1/trips/"+id, w.token, "").Status }
	for name, tt := range map[string]struct {
		reach func() string
		want  int
	}{
		"requested":           {func() string { return w.request().ID }, 200},
		"scheduled":           {func() string { return w.book(`,"scheduledFor":"2026-03-02T07:00:00Z"`).ID }, 200},
		"cancelled by rider":  {func() string { return w.reach("accept").ID }, 409},
		"booked for a driver": {func() string { return w.book(fmt.Sprintf(`,"driverId":%q`, w.drivers[0])).ID }, 409},
		"unassigned": {func() string {
			id := w.reach("accept").ID
			w.do(id, "unassign", "")
			return id
		}, 409},
		"under way": {func() string { return w.reach("accept", "arrived", "start").ID }, 409},
		"completed": {func() string { return w.reach("accept", "arrived", "start", "complete").ID }, 409},
		"cancelled": {func() string {
			id := w.reach("accept", "arrived", "start").ID
			w.do(id, "cancel", `{"reason":"An accident"}`)
			return id
		}, 200},
	} {
		id := tt.reach()
		if got := erase(id); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
		if u := w.Last().Usage; u.Sequential > 2 {
			t.Errorf("%s: a deletion takes %d round trips", name, u.Sequential)
		}
		a := w.Do("GET", "/api/v1/trips/"+id, w.token, "")
		if gone := tt.want == 200; gone != (a.Status == 404) || gone == slices.Contains(w.mine(w.riders[0]), id) {
			t.Errorf("%s: afterwards %d", name, a.Status)
		}
		if tt.want == 200 && erase(id) != 404 {
			t.Errorf("%s: deleted twice", name)
		}
	}
	for _, version := range []int64{2, 30} { // entries that an older build stored
		old := w.stored(w.request().ID)
		old.Version = version
		w.load(old.Item(w.tenant, 1), trip.LogItem(w.tenant, old.ID, 1, trip.LogEntry{ID: "log_1"}),
			trip.LogItem(w.tenant, old.ID, version, trip.LogEntry{ID: "log_2"}))
		if got := erase(old.ID); got != 200 {
			t.Errorf("version %d: %d", version, got)
		}
		page, err := w.tenant.Query(t.Context(), trip.Key(w.tenant, old.ID).PK, table.Query{Limit: 9, Consistent: true})
		if testkit.Must(t, err); len(page.Items) > 0 {
			t.Errorf("version %d leaves %v", version, page.Items)
		}
	}
	w.audited(t, 5)
}

// audited checks that the audit log has that many deletions, each with the trip as
// it was.
func (w *office) audited(t *testing.T, want int) {
	t.Helper()
	entries, _, err := audit.List(t.Context(), w.tenant, "", 50)
	testkit.Must(t, err)
	n := 0
	for _, e := range entries {
		if e.What == "trip.delete" {
			n++
			if string(e.After) != "null" || !strings.Contains(string(e.Before), "tripCode") {
				t.Errorf("audit log: %+v", e)
			}
		}
	}
	if n != want {
		t.Errorf("the audit log has %d deletions", n)
	}
}

// TestRaceOfEachPair sends each pair of actions at once, one of which is an
// operator's. The answers and the trip must be those of one of the two orders, so
// of two actions that exclude each other one wins and the other gets a 409 (or the
// 404 of a driver who has lost the trip). Each action that won has one entry in the
// log.
func TestRaceOfEachPair(t *testing.T) {
	testkit.LongHere(t)
	w := newOffice(t, 1, 2)
	operator := map[string]func(string) apitest.Answer{
		"assign the first":  func(id string) apitest.Answer { return w.do(id, "assign", w.to(0)) },
		"assign the second": func(id string) apitest.Answer { return w.do(id, "assign", w.to(1)) },
		"unassign":          func(id string) apitest.Answer { return w.do(id, "unassign", "") },
		"cancel":            func(id string) apitest.Answer { return w.do(id, "cancel", "") },
		"arrive":            func(id string) apitest.Answer { return w.do(id, "arrived", "") },
		"start":             func(id string) apitest.Answer { return w.do(id, "start", "") },
		"complete":          func(id string) apitest.Answer { return w.do(id, "complete", `{"finalFare":7}`) },
		"delete": func(id string) apitest.Answer {
			return w.Insist(http.MethodDelete, "/api/v1/trips/"+id, w.token, "")
		},
	}
	all := map[string]func(string) apitest.Answer{
		"the rider cancels": func(id string) apitest.Answer { return w.act(id, "cancel", w.rider(), "") },
		"the second accepts": func(id string) apitest.Answer {
			return w.act(id, "accept", w.tokens[w.drivers[1]], "")
		},
	}
	for _, action := range []string{"accept", "arrived", "start", "complete"} {
		all["the first: "+action] = func(id string) apitest.Answer { return w.act(id, action, w.driver(), "") }
	}
	for name, do := range operator {
		all[name] = do
	}
	starts := map[string]func() string{
		"PENDING":   func() string { return w.request().ID },
		"SCHEDULED": func() string { return w.book(`,"scheduledFor":"2026-03-02T07:00:00Z"`).ID },
		"ASSIGNED":  func() string { return w.reach("accept").ID },
		"ARRIVED":   func() string { return w.reach("accept", "arrived").ID },
		"UNDER WAY": func() string { return w.reach("accept", "arrived", "start").ID },
	}
	for start, reach := range starts {
		for one, first := range operator {
			for other, second := range all {
				possible := map[string]bool{}
				id := reach()
				a := first(id).Status
				possible[w.outcome(id, a, second(id).Status)] = true
				id = reach()
				b := second(id).Status
				possible[w.outcome(id, first(id).Status, b)] = true
				id = reach()
				_, answers := together(2, func(i int) apitest.Answer {
					return []func(string) apitest.Answer{first, second}[i](id)
				})
				if got := w.outcome(id, answers[0].Status, answers[1].Status); !possible[got] {
					t.Errorf("%s: %s and %s: %s, want one of %v", start, one, other, got, possible)
				}
			}
		}
	}
}

// outcome describes what two actions have made of a trip.
func (w *office) outcome(id string, first, second int) string {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), trip.Key(w.tenant, id))
	testkit.Must(w.t, err)
	if !it.Found() {
		return fmt.Sprintf("%d %d gone", first, second)
	}
	now := tripOf(w.t, it)
	driver := 0
	if now.DriverID != nil {
		driver = 1 + slices.Index(w.drivers, *now.DriverID)
	}
	return fmt.Sprintf("%d %d %s driver %d, %d entries, fare %v", first, second, now.Status, driver, len(now.Log()),
		now.FinalFare != nil)
}

// Operators' retries are safe: the same key gives the same booking.
func TestBookingIsRepeated(t *testing.T) {
	w := newOffice(t, 1, 1)
	_, answers := together(8, func(int) apitest.Answer {
		return w.Insist("POST", "/api/v1/trips", w.token, w.booking(w.riders[0], ""), "Idempotency-Key", "call-7")
	})
	for _, a := range answers {
		if a.Status != 201 || a.Body != answers[0].Body {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if list := w.mine(w.riders[0]); len(list) != 1 {
		t.Errorf("%d trips were booked", len(list))
	}
	var shown map[string]any
	testkit.Must(t, json.Unmarshal([]byte(w.Do("GET", "/api/v1/trips/"+w.mine(w.riders[0])[0], w.token, "").Body), &shown))
	if _, has := shown["scheduledFor"]; has {
		t.Error("a trip that is not scheduled shows scheduledFor")
	}
}

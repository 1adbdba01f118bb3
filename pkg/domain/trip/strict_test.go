package trip_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// newStrict returns an office of a company whose dispatch.driverStatus is strict.
func newStrict(t testing.TB, drivers int) *office {
	t.Helper()
	stand := apitest.New(t, testkit.Table(t), append(trip.Rows(), driver.Rows()...)...)
	w := &office{town: settle(t, stand, 1, 1, drivers), boss: ids.New(ids.Person, apitest.Start)}
	w.token = w.Token(w.tenant, authz.Dashboard, w.boss, "VIEW_TRIPS", "CREATE_TRIPS", "VIEW_DRIVERS")
	w.allow(-1)
	w.mode("strict")
	return w
}

func (w *office) mode(name string) {
	w.t.Helper()
	tx := w.tenant.Write()
	for i := range authz.Copies {
		tx.Update(authz.FlagsKey(w.tenant, i), table.Change{Set: map[string]any{"driverStatus": name}})
	}
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// status returns the status of a driver, and the ride that made the driver BUSY.
func (w *office) status(n int) (status, ride string) {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), driver.Key(w.tenant, w.drivers[n]))
	testkit.Must(w.t, err)
	r, err := driver.FromItem(it)
	testkit.Must(w.t, err)
	return r.Status, r.Trip
}

func (w *office) want(what string, n int, status, ride string) {
	w.t.Helper()
	if gotStatus, gotRide := w.status(n); gotStatus != status || gotRide != ride {
		w.t.Errorf("%s: driver %d is %s with %q, want %s with %q", what, n, gotStatus, gotRide, status, ride)
	}
}

// With dispatch.driverStatus strict, a ride makes its driver BUSY, and each of its
// ends makes the driver ONLINE again.
func TestStrictStatus(t *testing.T) {
	w := newStrict(t, 2)
	set := func(n int, status string) int {
		return w.Do("PATCH", "/api/v1/me/status", w.tokens[w.drivers[n]], fmt.Sprintf(`{"status":%q}`, status)).Status
	}
	online := func(n int) apitest.Answer { return w.act(w.request().ID, "accept", w.tokens[w.drivers[n]], "") }
	for _, status := range []string{driver.Offline, driver.Busy} {
		set(1, status)
		if a := online(1); a.Status != 409 || a.Code() != "invalid_state" {
			t.Errorf("accepted by a driver who is %s: %d %s", status, a.Status, a.Body)
		}
	}
	set(1, driver.Online)
	for end, do := range map[string]func(id string) apitest.Answer{
		"completed": func(id string) apitest.Answer {
			w.act(id, "arrived", w.driver(), "")
			w.act(id, "start", w.driver(), "")
			return w.act(id, "complete", w.driver(), "")
		},
		"cancelled by the rider":     func(id string) apitest.Answer { return w.act(id, "cancel", w.rider(), "") },
		"cancelled by the operator":  func(id string) apitest.Answer { return w.do(id, "cancel", "") },
		"taken from the driver":      func(id string) apitest.Answer { return w.do(id, "unassign", "") },
		"handed over":                func(id string) apitest.Answer { return w.do(id, "assign", w.to(1)) },
		"cancelled after the switch": func(id string) apitest.Answer { w.mode("free"); return w.do(id, "cancel", "") },
	} {
		id := w.request().ID
		if a := w.act(id, "accept", w.driver(), ""); a.Status != 200 {
			t.Fatalf("%s: %d %s", end, a.Status, a.Body)
		}
		w.want("accepted", 0, driver.Busy, id)
		if a := online(0); a.Status != 409 {
			t.Errorf("a second ride: %d %s", a.Status, a.Body)
		}
		if set(0, driver.Offline) != 409 || set(0, driver.Online) != 409 || set(0, driver.Busy) != 200 {
			t.Error("a driver with a ride may leave BUSY")
		}
		if a := do(id); a.Status != 200 {
			t.Errorf("%s: %d %s", end, a.Status, a.Body)
		}
		w.want(end, 0, driver.Online, "")
		if end == "handed over" {
			w.want(end, 1, driver.Busy, id)
			w.do(id, "cancel", "")
			w.want("and cancelled", 1, driver.Online, "")
		}
		w.mode("strict")
	}
	w.act(w.request().ID, "accept", w.tokens[w.drivers[1]], "")
	if a := w.do(w.request().ID, "assign", w.to(1)); a.Status != 409 {
		t.Errorf("assigned to a driver with a ride: %d %s", a.Status, a.Body)
	}
	if a := w.Do("POST", "/api/v1/trips", w.token, w.booking(w.riders[0], `,"driverId":"`+w.drivers[1]+`"`)); a.Status != 409 {
		t.Errorf("booked for a driver with a ride: %d %s", a.Status, a.Body)
	}
}

// TestRaceStrict: whatever riders, drivers and operators do at once, a driver has at
// most one ride, and is BUSY exactly while there is one.
func TestRaceStrict(t *testing.T) {
	testkit.LongHere(t)
	w := newStrict(t, 3)
	var trips []string
	for range 12 {
		trips = append(trips, w.request().ID)
	}
	for round := range 4 {
		var group sync.WaitGroup
		for worker := range 6 {
			group.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
				for range 40 {
					id, n := trips[r.IntN(len(trips))], r.IntN(len(w.drivers))
					switch driverToken := w.tokens[w.drivers[n]]; r.IntN(8) {
					case 0, 1:
						w.act(id, "accept", driverToken, "")
					case 2:
						w.act(id, []string{"arrived", "start", "complete"}[r.IntN(3)], driverToken, "")
					case 3:
						w.do(id, "unassign", "")
					case 4:
						w.do(id, "assign", w.to(n))
					case 5:
						w.Insist("PATCH", "/api/v1/me/status", driverToken, `{"online":true}`)
					case 6:
						w.Insist("PATCH", "/api/v1/me/status", driverToken, `{"status":"BUSY"}`)
					case 7:
						if r.IntN(4) == 0 {
							w.act(id, "cancel", w.rider(), "")
						}
					}
				}
			})
		}
		group.Wait()
		has := map[string][]string{}
		for _, id := range trips {
			if now := w.stored(id); now.DriverID != nil && now.Status != trip.Completed && now.Status != trip.Cancelled {
				has[*now.DriverID] = append(has[*now.DriverID], id)
			}
		}
		for n, id := range w.drivers {
			status, ride := w.status(n)
			if rides := has[id]; len(rides) > 1 || (ride != "") != (len(rides) == 1) || ride != "" && (ride != rides[0] ||
				status != driver.Busy) {
				t.Errorf("round %d: driver %d is %s with %q and has %v", round, n, status, ride, rides)
			}
		}
		for range 4 {
			trips = append(trips, w.request().ID)
		}
	}
}

// A disabled driver is OFFLINE in every list, and after a ride that ends later.
func TestDisabledDriverIsOffline(t *testing.T) {
	w := newStrict(t, 2)
	id := w.request().ID
	w.act(id, "accept", w.driver(), "")
	w.disable(w.drivers[0]) // as an older build did, which kept the status
	list := func(query string) string {
		return w.Want(200, nil, "GET", "/api/v1/drivers"+query, w.token, "").Body
	}
	for _, query := range []string{"?status=ONLINE", "?status=BUSY"} {
		var got struct{ Items []driver.Driver }
		w.Want(200, &got, "GET", "/api/v1/drivers"+query, w.token, "")
		for _, one := range got.Items {
			if one.ID == w.drivers[0] {
				t.Errorf("%s has the disabled driver: %s", query, list(query))
			}
		}
	}
	var all struct{ Items []driver.Driver }
	w.Want(200, &all, "GET", "/api/v1/drivers", w.token, "")
	for _, one := range all.Items {
		if one.ID == w.drivers[0] && one.Status != driver.Offline {
			t.Errorf("the disabled driver is %s", one.Status)
		}
	}
	w.do(id, "cancel", "")
	var shown trip.TripDetail
	w.Want(200, &shown, "GET", "/api/v1/trips/"+id, w.token, "")
	if shown.Driver.Value.Status != driver.Offline {
		t.Errorf("the trip's driver is %s", shown.Driver.Value.Status)
	}
}

// With dispatch.driverStatus strict, a driver of a ride that is booked for a later day is
// free until then: arriving begins it, and then the driver must be free.
func TestStrictStatusOfABooking(t *testing.T) {
	w := newStrict(t, 2)
	w.early(86_400)
	booked := func(in time.Duration) string {
		id := w.book(fmt.Sprintf(`,"scheduledFor":%q`, timestamp.Format(w.Now().Add(in)))).ID
		w.do(id, "assign", w.to(0))
		return id
	}
	soon := booked(30 * time.Minute)
	w.want("booked for soon", 0, driver.Busy, soon)
	w.do(soon, "cancel", "")
	later, other := booked(10*24*time.Hour), booked(9*24*time.Hour)
	w.want("booked for later", 0, driver.Online, "")
	now := w.request().ID
	if a := w.act(now, "accept", w.driver(), ""); a.Status != 200 {
		t.Errorf("another ride before it: %d %s", a.Status, a.Body)
	}
	if a := w.act(later, "arrived", w.driver(), ""); a.Status != 409 {
		t.Errorf("arrived with another ride: %d %s", a.Status, a.Body)
	}
	w.do(now, "cancel", "")
	w.do(later, "unassign", "")
	w.want("a booking is taken from the driver", 0, driver.Online, "")
	if a := w.act(other, "arrived", w.driver(), ""); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.want("arrived", 0, driver.Busy, other)
	if a := w.act(other, "start", w.driver(), ""); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.want("started", 0, driver.Busy, other)
	if a := w.act(other, "complete", w.driver(), ""); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.want("completed", 0, driver.Online, "")
}

// One batch reads a trip and its driver, and may read the driver before a ride begins
// and the trip after. Whatever ends the ride then still frees the driver.
func TestStrictStatusOfATornRead(t *testing.T) {
	w := newStrict(t, 1)
	for name, end := range map[string]func(trip.Trip) (trip.Trip, error){
		"cancel":   func(tr trip.Trip) (trip.Trip, error) { return tr.Cancel(trip.BySystem(), w.Now(), nil) },
		"unassign": func(tr trip.Trip) (trip.Trip, error) { return tr.Unassign(trip.BySystem(), nil, w.Now()) },
	} {
		before, err := w.tenant.Get(t.Context(), driver.Key(w.tenant, w.drivers[0]))
		testkit.Must(t, err)
		id := w.request().ID
		if a := w.act(id, "accept", w.driver(), ""); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		it, err := w.tenant.Get(t.Context(), trip.Key(w.tenant, id))
		testkit.Must(t, err)
		s := trip.Store{Tenant: w.tenant, WriteShards: 1, Now: w.Now()}
		s.Commit = func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }
		s.Read = func(context.Context, table.Key) (table.Item, error) { return before, nil }
		_, err = s.Change(t.Context(), it, end)
		testkit.Must(t, err)
		w.want(name, 0, driver.Online, "")
	}
}

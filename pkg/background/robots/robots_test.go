package robots_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/robots"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
)

// town is a sandbox with robots, and the clock that they live by.
type town struct {
	*apitest.Stand
	*testing.T
	record tenant.Tenant
	tn     table.Tenant
	worker robots.Worker
	roster sandbox.Roster
}

func newTown(t *testing.T, count int) *town {
	t.Helper()
	db := testkit.Table(t)
	s := apitest.New(t, db, slices.Concat(location.Rows(), driver.Rows(), trip.Rows(), sandbox.Rows(db))...)
	w := &town{Stand: s, T: t}
	var err error
	w.record, err = tenant.Store{DB: db}.Create(t.Context(), w.by(), tenant.Tenant{Slug: ids.New("t", s.Now())[2:],
		Name: "Toy", TaxiEnabled: true, Sandbox: true, ReadShards: 2, WriteShards: 2})
	testkit.Must(t, err)
	w.tn = db.Tenant(w.record.ID)
	w.set(func(d *settings.Document) { d.Dispatch.DriverStatus = settings.StrictStatus })
	testkit.Must(t, sandbox.Fill(t.Context(), db, w.by(), w.record, count, "41.9", "-87.68"))
	it, err := w.tn.Get(t.Context(), sandbox.Key(w.tn))
	testkit.Must(t, err)
	w.roster, err = sandbox.Kind.FromItem(it)
	testkit.Must(t, err)
	w.worker = robots.Worker{DB: db, Now: s.Now}
	return w
}

func (w *town) by() audit.By { return audit.By{Who: "svc:test", At: w.Now()} }

func (w *town) set(edit func(*settings.Document)) {
	w.Helper()
	_, err := settings.Set(w.Context(), w.tn, w.by(), func(d *settings.Document) error {
		edit(d)
		return nil
	})
	testkit.Must(w, err)
}

// step lets the time pass, and the robots go on.
func (w *town) step(after time.Duration) {
	w.Helper()
	w.Advance(after)
	_, err := w.worker.Step(w.Context(), w.tn, 0)
	testkit.Must(w, err)
}

// rider adds a person who rides.
func (w *town) rider() (token string) {
	w.Helper()
	r, err := customer.Store.Create(w.Context(), w.tn, w.by(), customer.Record{Customer: customer.Customer{
		FirstName: "Sam", Email: ids.New(ids.Customer, w.Now()) + "@toy.example"}}, "")
	testkit.Must(w, err)
	return w.Token(w.tn, authz.Rider, r.ID)
}

// ride requests a ride of about 900 metres with the words for the driver.
func (w *town) ride(token, notes string) (id string) {
	w.Helper()
	var made struct{ ID string }
	w.Want(http.StatusCreated, &made, "POST", "/api/v1/me/trips", token, fmt.Sprintf(`{"originAddress": "Square",
		"originLat": 41.9, "originLng": -87.68, "destAddress": "Park", "destLat": 41.905, "destLng": -87.684,
		"notes": %q}`, notes))
	return made.ID
}

func (w *town) read(id string) trip.Trip {
	w.Helper()
	it, err := w.tn.Get(w.Context(), trip.Key(w.tn, id))
	testkit.Must(w, err)
	t, err := trip.FromItem(it)
	testkit.Must(w, err)
	return t
}

func (w *town) place(driverID string) driver.Location {
	w.Helper()
	it, err := w.tn.Get(w.Context(), driver.LocationKey(w.tn, driverID))
	testkit.Must(w, err)
	l, _, err := driver.LocationFromItem(it)
	testkit.Must(w, err)
	return l
}

// until makes steps until the trip has one of the statuses, at most so many.
func (w *town) until(id string, most int, statuses ...trip.Status) trip.Trip {
	w.Helper()
	for range most {
		if w.step(4 * time.Second); slices.Contains(statuses, w.read(id).Status) {
			return w.read(id)
		}
	}
	w.Fatalf("the trip is %s after %d steps, want %v", w.read(id).Status, most, statuses)
	return trip.Trip{}
}

// TestRide: a robot takes a person's ride, is seen moving to the rider and to the
// destination, and completes it by the real transitions.
func TestRide(t *testing.T) {
	w := newTown(t, 5)
	id := w.ride(w.rider(), "")
	taken := w.until(id, 5, trip.Assigned, trip.DriverArrived) // the robot may be there already
	was, moves := w.place(*taken.DriverID), 0
	for range 200 {
		w.step(4 * time.Second)
		now := w.place(*taken.DriverID)
		if now.RecordedAt < was.RecordedAt {
			t.Fatalf("the position of %s comes after that of %s", now.RecordedAt, was.RecordedAt)
		}
		if now.Lat != was.Lat || now.Lng != was.Lng {
			if moves++; kilometres(was, now) > 0.05 {
				t.Errorf("the robot jumps from %v to %v", was, now)
			}
		}
		if was = now; w.read(id).Status == trip.Completed {
			break
		}
	}
	done := w.read(id)
	if done.Status != trip.Completed || moves < 20 || *done.DriverID != *taken.DriverID {
		t.Fatalf("%s after %d moves", done.Status, moves)
	}
	if km, _ := done.ActualDistance.Decimal().Float64(); km < 0.8 || km > 1 {
		t.Errorf("the ride had %s km", *done.ActualDistance)
	}
	var told []trip.Event
	for _, e := range done.Log() {
		told = append(told, e.Type)
	}
	if want := []trip.Event{"REQUESTED", "ACCEPTED", "ARRIVED", "STARTED", "COMPLETED"}; !slices.Equal(told, want) {
		t.Errorf("the log has %v, want %v", told, want)
	}
	r, err := driver.Store.ByID(t.Context(), w.tn, *done.DriverID)
	testkit.Must(t, err)
	if r.Status != driver.Online {
		t.Errorf("the robot is %s after the ride", r.Status)
	}
}

// TestOutcomes: words in the notes choose what becomes of a ride.
func TestOutcomes(t *testing.T) {
	testkit.Long(t)
	for notes, want := range map[string]trip.Status{
		"robot:ignore": trip.Pending, "please robot:cancel": trip.Cancelled, "robot:no_show": trip.Cancelled,
	} {
		t.Run(notes, func(t *testing.T) {
			w := newTown(t, 4)
			id := w.ride(w.rider(), notes)
			for range 90 {
				if w.step(4 * time.Second); w.read(id).Status == trip.Cancelled {
					break
				}
			}
			got := w.read(id)
			if got.Status != want {
				t.Errorf("the ride is %s, want %s", got.Status, want)
			}
			if noShow := notes == "robot:no_show"; (got.ArrivedAt != nil) != noShow {
				t.Errorf("the driver arrived at %v", got.ArrivedAt)
			}
			if ignored := notes == "robot:ignore"; (got.AcceptedAt == nil) != ignored {
				t.Errorf("a robot accepted at %v", got.AcceptedAt)
			}
		})
	}
}

func kilometres(a, b driver.Location) float64 {
	return location.At(a.Lat, a.Lng).Kilometres(location.At(b.Lat, b.Lng))
}

// TestLate: a late robot needs four times as long for its way to the rider.
func TestLate(t *testing.T) {
	for notes, want := range map[string]float64{"": 44, "robot:late": 11} {
		w := newTown(t, 1)
		id := w.ride(w.rider(), notes)
		d := *w.until(id, 10, trip.Assigned, trip.DriverArrived).DriverID
		was := w.place(d)
		w.step(4 * time.Second)
		now := w.place(d)
		metres := kilometres(was, now) * 1000
		if w.read(id).Status == trip.Assigned && (metres < want*0.6 || metres > want*1.05) {
			t.Errorf("with the notes %q a robot drives %.1f metres in a step, want about %v", notes, metres, want)
		}
	}
}

// TestOrders: robot riders order rides and rate them, each ride once, however often
// a step is made.
func TestOrders(t *testing.T) {
	testkit.Long(t)
	w := newTown(t, 8)
	for range 250 {
		w.Advance(5 * time.Second)
		var wait sync.WaitGroup
		for range 2 { // two processes at once
			wait.Go(func() {
				_, err := w.worker.Step(context.Background(), w.tn, 0)
				testkit.Must(t, err)
			})
		}
		wait.Wait()
	}
	page, err := w.tn.Merge(t.Context(), []string{w.tn.Partition("TRIPS", "0"), w.tn.Partition("TRIPS", "1")},
		table.Query{Index: 1, Limit: 1000})
	testkit.Must(t, err)
	ends, rated, driving := 0, 0, map[string]int{}
	for _, it := range page.Items {
		one, err := trip.FromItem(it)
		testkit.Must(t, err)
		if !slices.Contains(w.roster.Riders, one.CustomerID) || one.EstimatedFare != nil {
			t.Errorf("%s of %s costs %v", one.ID, one.CustomerID, one.EstimatedFare)
		}
		if one.Status == trip.Completed {
			ends++
		} else if one.DriverID != nil {
			driving[*one.DriverID]++
		}
		if one.Rated > 0 {
			rated++
		}
		events := map[trip.Event]int{}
		for _, e := range one.Log() {
			if events[e.Type]++; events[e.Type] > 1 {
				t.Errorf("%s has %s twice", one.ID, e.Type)
			}
		}
	}
	if ends < 3 || rated == 0 || len(page.Items) > 40 {
		t.Errorf("of %d rides %d have ended, and %d are rated", len(page.Items), ends, rated)
	}
	for id, n := range driving {
		if n > 1 {
			t.Errorf("%s drives %d rides", id, n)
		}
	}
}

// TestPeopleBeside: robots leave alone what a person does: a ride that another
// driver has, and a robot that an operator has disabled.
func TestPeopleBeside(t *testing.T) {
	w := newTown(t, 3)
	r, err := driver.Create(t.Context(), w.tn, w.by(), driver.Record{Driver: driver.Driver{FirstName: "Lena",
		Email: "lena@toy.example", Status: driver.Online}}, "")
	testkit.Must(t, err)
	token, id := w.Token(w.tn, authz.Driver, r.ID), w.ride(w.rider(), "")
	w.Want(http.StatusOK, nil, "POST", "/api/v1/me/trips/"+id+"/accept", token, "")
	for range 30 {
		w.step(10 * time.Second)
	}
	if got := w.read(id); got.Status != trip.Assigned || *got.DriverID != r.ID {
		t.Errorf("the person's ride is %s of %s", got.Status, *got.DriverID)
	}
	for _, one := range w.roster.Drivers {
		_, err := driver.Store.Change(t.Context(), w.tn, w.by(), one, func(r *driver.Record) error {
			r.Disabled = true
			return nil
		})
		testkit.Must(t, err)
	}
	other := w.ride(w.rider(), "")
	for range 5 {
		w.step(10 * time.Second)
	}
	if got := w.read(other); got.Status != trip.Pending {
		t.Errorf("a disabled robot took the ride: %s", got.Status)
	}
}

// TestLive: a live tenant cannot get robots, and a roster in it moves nobody. No
// tenant becomes a sandbox, and no sandbox becomes live.
func TestLive(t *testing.T) {
	w := newTown(t, 2)
	store := tenant.Store{DB: w.DB}
	live, err := store.Create(t.Context(), w.by(), tenant.Tenant{Slug: ids.New("l", w.Now())[2:], Name: "Live",
		TaxiEnabled: true})
	testkit.Must(t, err)
	if err := sandbox.Fill(t.Context(), w.DB, w.by(), live, 2, "41.9", "-87.68"); err == nil {
		t.Error("a live tenant has robots")
	}
	for id, to := range map[string]bool{live.ID: true, w.record.ID: false} {
		if _, err := store.Change(t.Context(), id, w.by(), func(n *tenant.Tenant) error {
			n.Sandbox = to
			return nil
		}); err == nil {
			t.Errorf("%s changed to sandbox %v", id, to)
		}
	}
	tn := w.DB.Tenant(live.ID)
	testkit.Must(t, tn.Load(t.Context(), table.Item{Key: sandbox.Key(tn), Type: "robots", Version: 1, Doc: w.roster}))
	for _, ahead := range []time.Duration{0, time.Hour} {
		if runs, err := w.worker.Step(t.Context(), tn, ahead); err != nil || runs {
			t.Errorf("a live tenant's robots: %v, %v", runs, err)
		}
	}
	token := w.Token(tn, authz.Dashboard, ids.New(ids.Person, w.Now()), "EDIT_SETTINGS")
	w.Want(http.StatusConflict, nil, "POST", "/api/v1/sandbox/advance", token, `{"seconds": 60}`)
}

// TestAdvance: what is due within the seconds happens with the next sweep, and no
// more often. Without a sweep in between, tasks go on each minute, in one chain.
func TestAdvance(t *testing.T) {
	w := newTown(t, 5)
	token := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, w.Now()), "EDIT_SETTINGS")
	rider := w.rider()
	for _, sweeps := range []int{1, 3} {
		id := w.ride(rider, "")
		for range 2 {
			w.Want(http.StatusOK, nil, "POST", "/api/v1/sandbox/advance", token, `{"seconds": 1800}`,
				"Idempotency-Key", ids.Code())
		}
		for range sweeps {
			testkit.Must(t, w.worker.Sweep(t.Context()))
		}
		if got := w.read(id); got.Status != trip.Completed {
			t.Errorf("after %d sweeps the ride is %s", sweeps, got.Status)
		}
		w.Advance(time.Minute)
	}
	for _, body := range []string{`{"seconds": 0}`, `{"seconds": 3601}`, `{}`} {
		w.Want(http.StatusBadRequest, nil, "POST", "/api/v1/sandbox/advance", token, body)
	}
	for range 5 {
		w.Advance(time.Minute)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		testkit.Must(t, w.worker.Sweep(t.Context())) // twice in a minute
	}
	if due := w.due(); len(due) != 1 {
		t.Errorf("due are %v", due)
	}
}

// TestAdvanceTellsAll: each Advance tells dispatch after the robots have acted, also
// while the robots stand still, and the sender of webhooks.
func TestAdvanceTellsAll(t *testing.T) {
	w := newTown(t, 2)
	token := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, w.Now()), "EDIT_SETTINGS")
	id, told := w.ride(w.rider(), ""), []string{}
	w.worker.Advance = func(_ context.Context, tn table.Tenant, ahead time.Duration,
		skip func(trip.Trip) bool) error {
		before, after := timestamp.Format(w.Now()), timestamp.Format(w.Now().Add(time.Second))
		if skip(trip.Trip{UpdatedAt: before}) || !skip(trip.Trip{UpdatedAt: after}) ||
			!skip(trip.Trip{UpdatedAt: before, CustomerID: w.roster.Riders[0]}) {
			t.Error("skipped is what changed after the request, and what a robot ordered")
		}
		told = append(told, fmt.Sprintln(tn.ID() == w.tn.ID(), ahead, w.read(id).Status))
		return nil
	}
	for _, still := range []bool{true, false} {
		w.worker.Still = still
		testkit.Must(t, w.worker.Sweep(t.Context())) // the step due now, which would otherwise act during the request
		w.Want(http.StatusOK, nil, "POST", "/api/v1/sandbox/advance", token, `{"seconds": 1800}`, "Idempotency-Key",
			ids.Code())
		testkit.Must(t, w.worker.Sweep(t.Context()))
		w.Advance(time.Minute)
	}
	if diff := cmp.Diff([]string{"true 30m0s PENDING\n", "true 30m0s COMPLETED\n"}, told); diff != "" {
		t.Error(diff)
	}
	var sends atomic.Int64
	testkit.Must(t, webhook.Due(w.DB, w.Now, 0).Sweep(t.Context(), func(_ context.Context, k due.Task) error {
		if strings.Contains(k.ID, `"advance":1800`) && k.Tenant == w.tn.ID() {
			sends.Add(1)
		}
		return nil
	}))
	if sends.Load() != 2 {
		t.Errorf("the sender of webhooks was told %d times", sends.Load())
	}
}

// due lists what the town's robots must still do.
func (w *town) due() (out []string) {
	w.Helper()
	p := w.DB.Platform("DUE")
	for _, at := range []time.Time{w.Now(), w.Now().Add(time.Hour)} {
		for shard := range 4 {
			page, err := p.Query(w.Context(), p.Partition("DUE", "robots", at.UTC().Format("2006010215"), fmt.Sprint(shard)),
				table.Query{Limit: 100})
			testkit.Must(w, err)
			for _, it := range page.Items {
				if strings.Contains(it.SK, w.tn.ID()) {
					out = append(out, it.SK)
				}
			}
		}
	}
	return out
}

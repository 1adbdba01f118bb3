package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/dispatch"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	offers "svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// world is a tenant that dispatches, with its drivers and its worker.
type world struct {
	*apitest.Stand
	*testing.T
	db     *table.DB
	wire   *testkit.Wire
	tn     table.Tenant
	worker dispatch.Worker
	tokens map[string]string // of the drivers
	rider  string
}

func newWorld(t *testing.T, change func(*settings.Dispatch)) *world {
	t.Helper()
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	s := apitest.New(t, db, slices.Concat(location.Rows(), driver.Rows(), offers.Rows(), trip.Rows())...)
	w := &world{Stand: s, T: t, db: db, wire: wire, tn: s.Tenant("USD", 2), tokens: map[string]string{}}
	w.worker = dispatch.Worker{DB: db, Now: s.Now}
	w.rider = ids.New(ids.Customer, s.Now())
	w.set(func(d *settings.Dispatch) {
		d.Mode = settings.Offers
		if change != nil {
			change(d)
		}
	})
	return w
}

func (w *world) set(change func(*settings.Dispatch)) {
	w.Helper()
	_, err := settings.Set(w.Context(), w.tn, audit.By{Who: "svc:test", At: w.Now()}, func(d *settings.Document) error {
		change(&d.Dispatch)
		return nil
	})
	testkit.Must(w.T, err)
}

// driver adds a driver who is online, so many kilometres to the north of the
// origin of the trips.
func (w *world) driver(kilometres float64) string {
	w.Helper()
	r, err := driver.Create(w.Context(), w.tn, audit.By{Who: "svc:test", At: w.Now()}, driver.Record{Driver: driver.Driver{
		FirstName: "Ana", Email: ids.New(ids.Driver, w.Now()) + "@metro.example", Status: driver.Online}}, "hash")
	testkit.Must(w.T, err)
	w.tokens[r.ID] = w.Token(w.tn, authz.Driver, r.ID)
	w.at(r.ID, kilometres)
	return r.ID
}

func (w *world) at(id string, kilometres float64) {
	w.Helper()
	w.Want(http.StatusOK, nil, http.MethodPut, "/api/v1/me/location", w.tokens[id], fmt.Sprintf(
		`{"lat": %v, "lng": -74, "recordedAt": %q}`, 40.7+kilometres/111.195, timestamp.Format(w.Now())))
}

// trip requests a ride and returns its id.
func (w *world) trip() string {
	w.Helper()
	d, err := settings.Read(w.Context(), w.tn)
	testkit.Must(w.T, err)
	t, err := trip.Ride{OriginAddress: "1 Main St", OriginLat: "40.7", OriginLng: "-74"}.New(w.rider,
		trip.Terms{Currency: "USD", Settings: d}, w.Now())
	testkit.Must(w.T, err)
	testkit.Must(w.T, w.tn.Load(w.Context(), t.Item(w.tn, 2)))
	return t.ID
}

// step makes a step and returns the trip.
func (w *world) step(id string) trip.Trip {
	w.Helper()
	testkit.Must(w.T, w.worker.Step(w.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: id}))
	return w.read(id)
}

func (w *world) read(id string) trip.Trip {
	w.Helper()
	it, err := w.tn.Get(w.Context(), trip.Key(w.tn, id))
	testkit.Must(w.T, err)
	t, err := trip.FromItem(it)
	testkit.Must(w.T, err)
	return t
}

// offered returns the trips that are offered to the driver.
func (w *world) offered(driver string) []string {
	w.Helper()
	var page struct{ Items []offers.TripOffer }
	w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/me/offers", w.tokens[driver], "")
	out := []string{}
	for _, o := range page.Items {
		out = append(out, o.TripID)
	}
	return out
}

// holders returns which of the drivers hold an offer of the trip.
func (w *world) holders(id string, drivers ...string) []string {
	w.Helper()
	out := []string{}
	for _, d := range drivers {
		if slices.Contains(w.offered(d), id) {
			out = append(out, d)
		}
	}
	return out
}

func (w *world) act(driver, id, verb string) apitest.Answer {
	return w.Insist(http.MethodPost, "/api/v1/me/trips/"+id+"/"+verb, w.tokens[driver], "")
}

func (w *world) wantHolders(id, step string, all, want []string) {
	w.Helper()
	if diff := cmp.Diff(want, w.holders(id, all...)); diff != "" {
		w.Errorf("%s: %s", step, diff)
	}
}

func logOf(t trip.Trip) string {
	var out []string
	for _, e := range t.Log() {
		out = append(out, string(e.Type))
	}
	return strings.Join(out, " ")
}

// Waves: the nearest drivers first, the next when they decline or their time is
// over, and at the end the trip is pending again, with each step in its log.
func TestWaves(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) { d.WaveSize, d.MaxWaves, d.OfferTimeoutSeconds = 2, 3, 20 })
	all := []string{w.driver(3), w.driver(1), w.driver(2), w.driver(9)} // the last is too far away
	id := w.trip()
	if got := w.step(id); got.Status != trip.CollectingOffers {
		t.Fatalf("the first wave: %s", got.Status)
	}
	w.wantHolders(id, "the first wave", all, []string{all[1], all[2]})
	var page struct{ Items []offers.TripOffer }
	w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/me/offers", w.tokens[all[1]], "")
	if o := page.Items[0]; o.DistanceToOrigin != "1" || o.ExpiresAt != timestamp.Format(w.Now().Add(20*time.Second)) ||
		o.OriginAddress != "1 Main St" {
		t.Errorf("the offer: %+v", o)
	}
	if a := w.act(all[1], id, "decline"); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := w.act(all[1], id, "decline"); a.Status != http.StatusConflict {
		t.Errorf("declined twice: %d %s", a.Status, a.Body)
	}
	if a := w.act(all[0], id, "decline"); a.Status != http.StatusNotFound {
		t.Errorf("declined without an offer: %d %s", a.Status, a.Body)
	}
	if got := w.step(id); got.Status != trip.Searching {
		t.Errorf("one driver left: %s", got.Status)
	}
	w.wantHolders(id, "one driver left", all, []string{all[2]})
	w.step(id) // a repeated message
	w.Advance(21 * time.Second)
	w.wantHolders(id, "the time is over", all, []string{})
	if a := w.act(all[2], id, "decline"); a.Status != http.StatusConflict {
		t.Errorf("declined after its end: %d %s", a.Status, a.Body)
	}
	testkit.Must(t, w.worker.Sweep(t.Context()))
	w.wantHolders(id, "the second wave", all, []string{all[0]})
	w.Advance(21 * time.Second)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	w.wantHolders(id, "nobody is left", all, []string{})
	if got := w.read(id); got.Status != trip.Searching {
		t.Errorf("a wave without drivers: %s", got.Status)
	}
	w.Advance(21 * time.Second)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	got := w.read(id)
	if got.Status != trip.Pending {
		t.Errorf("at the end: %s", got.Status)
	}
	if diff := cmp.Diff("REQUESTED COLLECTING_OFFERS OFFERED OFFERED DECLINED SEARCHING OFFERED UNANSWERED",
		logOf(got)); diff != "" {
		t.Error(diff)
	}
	version := got.Version
	w.Advance(time.Hour)
	w.at(all[0], 1)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	if got := w.step(id); got.Version != version {
		t.Errorf("a search that has ended went on: %s", logOf(got))
	}
	if a := w.act(all[3], id, "accept"); a.Status != http.StatusOK { // as specified
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A driver who comes near while nobody is there gets the next wave.
func TestSomebodyComes(t *testing.T) {
	w := newWorld(t, nil)
	id := w.trip()
	if got := w.step(id); got.Status != trip.Searching {
		t.Errorf("nobody there: %s", got.Status)
	}
	near := w.driver(1)
	w.step(id)
	w.wantHolders(id, "before the end of the wave", []string{near}, []string{})
	w.Advance(31 * time.Second)
	w.at(near, 1)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	w.wantHolders(id, "the next wave", []string{near}, []string{near})
}

// Who gets an offer: drivers who are online and free, of the service type, of the
// tenant; each one offer at a time, and none of a trip that the driver had.
func TestWhoIsAsked(t *testing.T) {
	w := newWorld(t, nil)
	one := w.driver(1)
	first, second := w.trip(), w.trip()
	w.step(first)
	w.step(second)
	w.wantHolders(first, "the first trip", []string{one}, []string{one})
	w.wantHolders(second, "the second trip", []string{one}, []string{})
	if a := w.act(one, first, "accept"); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.wantHolders(first, "an accepted trip", []string{one}, []string{})
	w.step(first)
	w.Advance(31 * time.Second)
	w.at(one, 1)
	w.step(second)
	w.wantHolders(second, "a driver who drives", []string{one}, []string{})
	two := w.driver(2)
	_, err := driver.Store.Change(t.Context(), w.tn, audit.By{Who: "svc:test", At: w.Now()}, two,
		func(r *driver.Record) error { r.ServiceTypeIDs = []string{ids.New(ids.Service, w.Now())}; return nil })
	testkit.Must(t, err)
	service := "svt_this"
	for types, want := range map[string]bool{"": true, "svt_this": true, "svt_other": false} {
		r := driver.Record{}
		if types != "" {
			r.ServiceTypeIDs = []string{types}
		}
		if offers.Drives(r, &service) != want || !offers.Drives(r, nil) {
			t.Errorf("a driver of %q for %s", types, service)
		}
	}
}

// What a driver gives back is offered to others, also in a second search.
func TestGivenBack(t *testing.T) {
	w := newWorld(t, nil)
	one, two := w.driver(1), w.driver(2)
	id := w.trip()
	w.step(id)
	if a := w.act(one, id, "accept"); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.step(id)
	it, err := w.tn.Get(t.Context(), trip.Key(w.tn, id))
	testkit.Must(t, err)
	s := trip.Store{Tenant: w.tn, WriteShards: 2, Now: w.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	_, err = s.Change(t.Context(), it, func(t trip.Trip) (trip.Trip, error) {
		return t.Unassign(trip.ByDriver(one), nil, w.Now())
	})
	testkit.Must(t, err)
	w.step(id)
	w.wantHolders(id, "given back", []string{one, two}, []string{two})
}

// A cancelled trip, and one of a company that switches dispatch off, has no offers.
func TestEnds(t *testing.T) {
	w := newWorld(t, nil)
	one := w.driver(1)
	id := w.trip()
	w.step(id)
	w.set(func(d *settings.Dispatch) { d.Mode = settings.Manual })
	if got := w.step(id); got.Status != trip.Pending {
		t.Errorf("switched off: %s", got.Status)
	}
	w.wantHolders(id, "switched off", []string{one}, []string{})
	w.set(func(d *settings.Dispatch) { d.Mode = settings.Offers })
	next := w.trip()
	w.step(next)
	w.wantHolders(next, "another trip", []string{one}, []string{one})
	it, err := w.tn.Get(t.Context(), trip.Key(w.tn, next))
	testkit.Must(t, err)
	s := trip.Store{Tenant: w.tn, WriteShards: 2, Now: w.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	_, err = s.Cancel(t.Context(), it, trip.ByRider(w.rider), nil)
	testkit.Must(t, err)
	w.wantHolders(next, "cancelled", []string{one}, []string{})
	w.step(next)
	third := w.trip()
	w.step(third)
	w.wantHolders(third, "a driver whose offer was withdrawn", []string{one}, []string{one})
	// A trip that is not dispatched does not change.
	w.set(func(d *settings.Dispatch) { d.Mode = settings.Manual })
	manual := w.trip()
	if got := w.step(manual); got.Status != trip.Pending || got.Version != 1 {
		t.Errorf("manual: %s", logOf(got))
	}
	testkit.Must(t, w.worker.Step(t.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: ids.New(ids.Trip, w.Now())}))
}

// A scheduled trip becomes pending in time, whatever the mode.
func TestScheduled(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) { d.Mode = settings.Manual })
	id := w.trip()
	got := w.read(id)
	got.Status, got.ScheduledFor = trip.Scheduled, timestamp.Ptr(w.Now().Add(3*time.Hour))
	testkit.Must(t, w.tn.Load(t.Context(), got.Item(w.tn, 2)))
	w.step(id)
	w.step(id)
	for _, at := range []struct {
		after time.Duration
		want  trip.Status
	}{{2 * time.Hour, trip.Scheduled}, {44 * time.Minute, trip.Scheduled}, {time.Minute, trip.Pending}} {
		w.Advance(at.after)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		if got := w.read(id); got.Status != at.want {
			t.Errorf("after %v: %s, want %s", at.after, got.Status, at.want)
		}
	}
	if got := logOf(w.read(id)); got != "REQUESTED DUE" {
		t.Error(got)
	}
}

// TestUnreadableTime: a trip whose stored time cannot be read stays as it is, and its step
// fails, so that somebody learns of it.
func TestUnreadableTime(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) { d.Mode = settings.Manual })
	id := w.trip()
	got := w.read(id)
	text := "soon"
	got.Status, got.ScheduledFor = trip.Scheduled, &text
	testkit.Must(t, w.tn.Load(t.Context(), got.Item(w.tn, 2)))
	err := w.worker.Step(t.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: id})
	if now := w.read(id); err == nil || !strings.Contains(err.Error(), "soon") || now.Status != trip.Scheduled {
		t.Errorf("%s, %v", now.Status, err)
	}
}

// TestBookedForLater: the driver of a ride that is booked for a later day may take other
// rides until an hour before it. If the driver loses that ride, the search for another
// driver begins in time and not at once. This holds in each mode.
func TestBookedForLater(t *testing.T) {
	for _, mode := range []string{settings.Offers, settings.Open} {
		w := newWorld(t, func(d *settings.Dispatch) { d.Mode, d.ScheduledLead = mode, 15 })
		one := w.driver(1)
		change := func(id string, act func(trip.Trip) (trip.Trip, error)) {
			t.Helper()
			it, err := w.tn.Get(t.Context(), trip.Key(w.tn, id))
			testkit.Must(t, err)
			s := trip.Store{Tenant: w.tn, WriteShards: 2, Now: w.Now(),
				Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
			_, err = s.Change(t.Context(), it, act)
			testkit.Must(t, err)
			w.step(id)
		}
		id := w.trip()
		got := w.read(id)
		got.Status, got.ScheduledFor = trip.Scheduled, timestamp.Ptr(w.Now().Add(48*time.Hour))
		testkit.Must(t, w.tn.Load(t.Context(), got.Item(w.tn, 2)))
		change(id, func(t trip.Trip) (trip.Trip, error) { return t.Assign(trip.ByOperator("usr_1"), one, w.Now()) })
		offered := func() int {
			var page struct{ Items []offers.OpenTrip }
			path := map[string]string{settings.Offers: "offers", settings.Open: "open-trips"}[mode]
			w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/me/"+path, w.tokens[one], "")
			return len(page.Items)
		}
		today := w.trip()
		w.step(today)
		if n := offered(); n != 1 {
			t.Errorf("%s: a driver with a ride in two days sees %d of one ride", mode, n)
		}
		change(today, func(t trip.Trip) (trip.Trip, error) { return t.Cancel(trip.ByRider(w.rider), w.Now(), nil) })
		two := w.driver(2)
		change(id, func(tr trip.Trip) (trip.Trip, error) { return tr.Unassign(trip.ByDriver(one), nil, w.Now()) })
		one = two
		if n := offered(); n > 0 {
			t.Errorf("%s: a ride in two days is searched for now", mode)
		}
		w.Advance(47*time.Hour + 44*time.Minute)
		w.at(two, 2)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		if n := offered(); n > 0 {
			t.Errorf("%s: a ride is searched for 16 minutes before", mode)
		}
		w.Advance(time.Minute)
		w.at(two, 2)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		if n := offered(); n != 1 {
			t.Errorf("%s: a ride is not searched for in time: %s", mode, logOf(w.read(id)))
		}
	}
}

// TestAdvance: when a sandbox goes ahead, its waves of offers end one after the other, and
// its scheduled trip becomes pending. Steps that are due later do not happen. A live
// tenant stays as it is.
func TestAdvance(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) {
		d.WaveSize, d.MaxWaves, d.OfferTimeoutSeconds, d.ScheduledLead = 1, 3, 20, 15
	})
	all := []string{w.driver(1), w.driver(2), w.driver(3)}
	id, soon, later, skipped := w.trip(), w.trip(), w.trip(), w.trip()
	for trp, in := range map[string]time.Duration{soon: time.Hour, later: 3 * time.Hour, skipped: time.Hour} {
		got := w.read(trp)
		got.Status, got.ScheduledFor = trip.Scheduled, timestamp.Ptr(w.Now().Add(in))
		testkit.Must(t, w.tn.Load(t.Context(), got.Item(w.tn, 2)))
		w.step(trp)
	}
	w.step(id)
	advance := func(d time.Duration) {
		testkit.Must(t, w.worker.Advance(t.Context(), w.tn, d, func(one trip.Trip) bool { return one.ID == skipped }))
	}
	advance(time.Hour)
	w.wantHolders(id, "a live tenant", all, all[:1])
	w.Flags(w.tn, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD", "readShards": 2,
		"writeShards": 2, "sandbox": true})
	advance(10 * time.Second)
	w.wantHolders(id, "before the end of the wave", all, all[:1])
	advance(25 * time.Second) // one wave, and a part of the next
	w.wantHolders(id, "the second wave", all, all[1:2])
	advance(time.Hour)
	w.wantHolders(id, "nobody is left", all, []string{})
	for trp, want := range map[string]string{id: "REQUESTED SEARCHING OFFERED OFFERED OFFERED UNANSWERED",
		soon: "REQUESTED DUE", later: "REQUESTED", skipped: "REQUESTED"} {
		got := w.read(trp)
		if diff := cmp.Diff(want, logOf(got)); diff != "" {
			t.Errorf("%s: %s", got.Status, diff)
		}
		if got.UpdatedAt > timestamp.Format(w.Now().Add(time.Second)) { // entries of a log are a millisecond apart
			t.Errorf("it was changed in the future, at %s", got.UpdatedAt)
		}
	}
	w.Advance(time.Hour)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	if got := w.read(id); got.Status != trip.Pending {
		t.Errorf("at its real time the search goes on: %s", logOf(got))
	}
}

// With mode open, drivers see the open trips around them, and no others.
func TestOpen(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) { d.Mode = settings.Open })
	near, far := w.driver(2), w.driver(30)
	id := w.trip()
	if got := w.step(id); got.Status != trip.Pending || got.Version != 1 {
		t.Errorf("%s", logOf(got))
	}
	w.step(id)
	see := func(driver string) []offers.OpenTrip {
		var page struct{ Items []offers.OpenTrip }
		w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/me/open-trips", w.tokens[driver], "")
		return page.Items
	}
	if got := see(near); len(got) != 1 || got[0].TripID != id || got[0].DistanceToOrigin != "2" {
		t.Errorf("near: %+v", got)
	}
	if got := see(far); len(got) > 0 {
		t.Errorf("far: %+v", got)
	}
	if a := w.act(near, id, "accept"); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	w.step(id)
	if got := see(near); len(got) > 0 {
		t.Errorf("accepted: %+v", got)
	}
	second := w.trip()
	w.step(second)
	w.Advance(location.Fresh + time.Second)
	if got := see(near); len(got) > 0 {
		t.Errorf("a driver who is not heard of sees %+v", got)
	}
	w.at(near, 1)
	if got := see(near); len(got) != 1 {
		t.Errorf("heard of again: %+v", got)
	}
	w.set(func(d *settings.Dispatch) { d.Mode = settings.Offers })
	if got := see(near); len(got) > 0 {
		t.Errorf("another mode: %+v", got)
	}
}

// No driver sees or ends an offer of another tenant.
func TestOtherTenant(t *testing.T) {
	w := newWorld(t, nil)
	one := w.driver(1)
	id := w.trip()
	w.step(id)
	w.wantHolders(id, "its own driver", []string{one}, []string{one})
	other := w.Tenant("EUR", 1)
	r, err := driver.Create(t.Context(), other, audit.By{Who: "svc:test", At: w.Now()}, driver.Record{
		Driver: driver.Driver{FirstName: "Bo", Email: "bo@harbor.example", Status: driver.Online}}, "hash")
	testkit.Must(t, err)
	token := w.Token(other, authz.Driver, r.ID)
	unknown := w.Do(http.MethodPost, "/api/v1/me/trips/"+ids.New(ids.Trip, w.Now())+"/decline", token, "")
	a := w.Do(http.MethodPost, "/api/v1/me/trips/"+id+"/decline", token, "")
	if a.Status != http.StatusNotFound || a.Body != unknown.Body {
		t.Errorf("%d %s, of no trip %s", a.Status, a.Body, unknown.Body)
	}
	for _, path := range []string{"offers", "open-trips"} {
		if a := w.Do(http.MethodGet, "/api/v1/me/"+path, token, ""); a.Body != `{"items":[]}` {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	w.wantHolders(id, "afterwards", []string{one}, []string{one})
}

// askedOnce compares the trip's log: no driver was asked twice.
func (w *world) askedOnce(tr trip.Trip) {
	asked := map[string]int{}
	for _, e := range tr.Log() {
		if e.Type == trip.EventOffered {
			asked[*e.Data.DriverID]++
		}
	}
	for d, n := range asked {
		if n > 1 {
			w.Errorf("%s was asked %d times", d, n)
		}
	}
}

// Workers, drivers and the clock act on one trip at the same time: the trip has at
// most one driver, no driver holds an offer of a trip that is taken, and no driver
// was asked twice.
func TestRaces(t *testing.T) {
	testkit.LongHere(t)
	w := newWorld(t, func(d *settings.Dispatch) { d.WaveSize, d.OfferTimeoutSeconds = 3, 5 })
	var all []string
	for i := range 6 {
		all = append(all, w.driver(0.3*float64(i+1)))
	}
	for round := range 8 {
		w.Advance(10 * time.Minute)
		for _, d := range all {
			w.at(d, 1)
		}
		id := w.trip()
		w.step(id)
		if round%2 == 0 {
			w.Advance(6 * time.Second) // the first wave is over
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i, d := range all {
			verb := []string{"accept", "decline", "accept"}[i%3]
			wg.Go(func() {
				a := w.act(d, id, verb)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case verb == "accept" && a.Status == http.StatusOK:
					won++
				case a.Status != http.StatusOK && a.Status != http.StatusConflict && a.Status != http.StatusNotFound:
					t.Errorf("%s: %d %s", verb, a.Status, a.Body)
				}
			})
		}
		for range 3 {
			wg.Go(func() {
				if err := w.worker.Handle(t.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: id}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got := w.step(id)
		if won != 1 || got.Status != trip.Assigned {
			t.Fatalf("%d drivers got the trip, which is %s", won, got.Status)
		}
		w.wantHolders(id, "after the race", all, []string{})
		w.askedOnce(got)
		it, err := w.tn.Get(t.Context(), trip.Key(w.tn, id))
		testkit.Must(t, err)
		s := trip.Store{Tenant: w.tn, WriteShards: 2, Now: w.Now(),
			Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
		_, err = s.Cancel(t.Context(), it, trip.ByOperator("usr_1"), nil) // its driver is free again
		testkit.Must(t, err)
		w.step(id)
	}
}

// Two trips compete for one driver: the driver holds one offer.
func TestTwoTripsOneDriver(t *testing.T) {
	w := newWorld(t, nil)
	one := w.driver(1)
	for range 6 {
		w.Advance(10 * time.Minute)
		w.at(one, 1)
		trips := []string{w.trip(), w.trip(), w.trip()}
		var wg sync.WaitGroup
		for _, id := range trips {
			wg.Go(func() {
				testkit.Must(t, w.worker.Handle(t.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: id}))
			})
		}
		wg.Wait()
		given := 0
		for _, id := range trips {
			given += strings.Count(logOf(w.read(id)), "OFFERED")
		}
		if got := w.offered(one); len(got) != 1 || given != 1 {
			t.Errorf("the driver holds %v, and %d offers were given", got, given)
		}
	}
}

// Nothing is lost. If a message cannot be sent, its record comes again. If a process
// ends after a wave was written, or its message is lost, the row that is due makes
// the next step. A step that fails is due again.
func TestNothingIsLost(t *testing.T) {
	w := newWorld(t, nil)
	one, two := w.driver(1), w.driver(2)
	id := w.trip()
	it, err := w.tn.Get(t.Context(), trip.Key(w.tn, id))
	testkit.Must(t, err)
	var sent []dispatch.Message
	feed := dispatch.Feed{DB: w.db, Send: func(_ context.Context, messages []dispatch.Message) error {
		sent = append(sent, messages...)
		return errors.New("the queue does not answer")
	}}
	batch := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{EventName: "INSERT",
		Change: events.DynamoDBStreamRecord{SequenceNumber: "1", NewImage: map[string]events.DynamoDBAttributeValue{
			"pk": events.NewStringAttribute(it.PK), "sk": events.NewStringAttribute(it.SK),
			"type": events.NewStringAttribute("trip"), "status": events.NewStringAttribute("PENDING"),
			"dispatched": events.NewBooleanAttribute(true), "r": events.NewStringAttribute(it.R),
			"doc": events.NewStringAttribute(it.Raw())}}}}}
	if failed := feed.Process(t.Context(), batch); len(failed) != 1 || failed[0].First != "1" {
		t.Errorf("failed: %+v", failed)
	}
	if diff := cmp.Diff(dispatch.Message{Tenant: w.tn.ID(), Trip: id}, sent[0]); diff != "" {
		t.Error(diff)
	}
	feed.Send = func(ctx context.Context, messages []dispatch.Message) error { return w.worker.Handle(ctx, messages[0]) }
	if failed := feed.Process(t.Context(), batch); len(failed) > 0 {
		t.Errorf("failed: %+v", failed)
	}
	w.wantHolders(id, "the first wave", []string{one, two}, []string{one})
	w.Advance(31 * time.Second) // no message comes
	w.at(two, 2)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	w.wantHolders(id, "the sweep", []string{one, two}, []string{two})
	next := w.trip()
	whole := w.read(next).Item(w.tn, 2)
	broken := whole
	broken.Doc = []string{"not a trip"}
	testkit.Must(t, w.tn.Load(t.Context(), broken))
	m := dispatch.Message{Tenant: w.tn.ID(), Trip: next}
	if w.worker.Step(t.Context(), m) == nil {
		t.Error("a step with a trip that cannot be read succeeded")
	}
	testkit.Must(t, w.worker.Handle(t.Context(), m))
	testkit.Must(t, w.tn.Load(t.Context(), whole))
	w.Advance(61 * time.Second)
	w.at(one, 1)
	testkit.Must(t, w.worker.Sweep(t.Context()))
	w.wantHolders(next, "the step that failed", []string{one}, []string{one})
}

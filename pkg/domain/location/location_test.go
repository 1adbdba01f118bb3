package location_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
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
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/edge/api"
)

const path = "/api/v1/me/location"

type world struct {
	*apitest.Stand
	tn table.Tenant
}

func newWorld(t *testing.T) world {
	t.Helper()
	s := apitest.New(t, testkit.Table(t), append(location.Rows(), driver.Rows()...)...)
	return world{s, s.Tenant("USD", 2)}
}

// driver adds a driver and returns the id and a token.
func (w world) driver(t *testing.T, status string) (id, token string) {
	t.Helper()
	r, err := driver.Create(t.Context(), w.tn, audit.By{Who: "svc:test", At: w.Now()}, driver.Record{Driver: driver.Driver{
		FirstName: "Ana", Email: ids.New(ids.Driver, w.Now()) + "@metro.example", Status: status}}, "hash")
	testkit.Must(t, err)
	return r.ID, w.Token(w.tn, authz.Driver, r.ID)
}

func body(lat, lng float64, at time.Time) string {
	return fmt.Sprintf(`{"lat": %v, "lng": %v, "recordedAt": %q}`, lat, lng, timestamp.Format(at))
}

// near returns the ids of the drivers around a point, nearest first.
func (w world) near(t *testing.T, lat, lng json.Number, km float64) []string {
	t.Helper()
	found, err := location.Nearby(t.Context(), w.tn, location.Search{Place: location.At(lat, lng), Kilometres: km,
		Most: 10, Now: w.Now(), Suits: func(context.Context, driver.Record) (bool, error) { return true, nil }})
	testkit.Must(t, err)
	out := []string{}
	for _, c := range found {
		out = append(out, c.ID)
	}
	return out
}

// A position is stored only if it was recorded after the stored one, whatever the
// order of arrival, and the response says what is stored.
func TestOlderIsIgnored(t *testing.T) {
	w := newWorld(t)
	_, token := w.driver(t, driver.Online)
	at := func(seconds int) time.Time { return w.Now().Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct {
		lat     float64
		seconds int
		want    float64
		stored  bool
	}{{40.1, -60, 40.1, true}, {40.2, -50, 40.2, true}, {40.3, -55, 40.2, false}, {40.4, -50, 40.2, false},
		{40.5, 59, 40.5, true}, {40.6, -10, 40.5, false}} {
		var got location.Reported
		w.Want(http.StatusOK, &got, http.MethodPut, path, token, body(step.lat, -74, at(step.seconds)))
		if want := json.Number(fmt.Sprint(step.want)); got.Lat != want || got.Stored != step.stored {
			t.Errorf("%v s: %s stored %v, want %s %v", step.seconds, got.Lat, got.Stored, want, step.stored)
		}
	}
}

// The operators' list shows the stored position, and a stranger's is unchanged.
func TestDriversListIsLive(t *testing.T) {
	w := newWorld(t)
	id, token := w.driver(t, driver.Offline)
	other, _ := w.driver(t, driver.Online)
	op := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, w.Now()), "VIEW_DRIVERS")
	w.Want(http.StatusOK, nil, http.MethodPut, path, token, `{"lat": -0.00, "lng": 179.9999999996, "heading": -1, `+
		`"speed": 0, "accuracy": null, "recordedAt": "2026-03-01T13:00:00+0100"}`)
	for _, query := range []string{"", "?status=OFFLINE"} {
		var page api.Page[driver.Driver]
		w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/drivers"+query, op, "")
		for _, d := range page.Items {
			switch d.ID {
			case id:
				if *d.CurrentLat != "0" || *d.CurrentLng != "180" || *d.LocationUpdatedAt != "2026-03-01T12:00:00.000Z" {
					t.Errorf("%s, %s at %s", *d.CurrentLat, *d.CurrentLng, *d.LocationUpdatedAt)
				}
			case other:
				if d.CurrentLat != nil {
					t.Errorf("another driver is at %s", *d.CurrentLat)
				}
			}
		}
	}
}

func TestWrongPositions(t *testing.T) {
	w := newWorld(t)
	_, token := w.driver(t, driver.Online)
	good := timestamp.Format(w.Now())
	for _, text := range []string{``, `{}`, `{"lat": 1, "lng": 2}`,
		`{"lat": 90.1, "lng": 2, "recordedAt": "` + good + `"}`, `{"lat": 1, "lng": -180.5, "recordedAt": "` + good + `"}`,
		`{"lat": 1e400, "lng": 2, "recordedAt": "` + good + `"}`, `{"lat": "1", "lng": 2, "recordedAt": "` + good + `"}`,
		`{"lat": 1, "lng": 2, "heading": 361, "recordedAt": "` + good + `"}`,
		`{"lat": 1, "lng": 2, "recordedAt": "2026-03-01"}`, `{"lat": 1, "lng": 2, "recordedAt": "today"}`,
		`{"lat": 1, "lng": 2, "recordedAt": null}`, `{"lat": null, "lng": 2, "recordedAt": "` + good + `"}`,
		body(1, 2, w.Now().Add(61*time.Second)), body(1, 2, w.Now().AddDate(10, 0, 0))} {
		if a := w.Do(http.MethodPut, path, token, text); a.Status != http.StatusBadRequest || a.Code() != "invalid_request" {
			t.Errorf("%s: %d %s", text, a.Status, a.Body)
		}
	}
	op := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, w.Now()), "VIEW_DRIVERS")
	if a := w.Do(http.MethodPut, path, op, body(1, 2, w.Now())); a.Code() != "insufficient_scope" {
		t.Errorf("an operator: %d %s", a.Status, a.Body)
	}
}

// Two devices of one driver report at once. The position that was recorded last
// is stored, and every response names a position that was stored.
func TestTwoDevices(t *testing.T) {
	w := newWorld(t)
	id, token := w.driver(t, driver.Online)
	start := w.Now()
	for round := range 5 {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				at := start.Add(time.Duration(round*8+i-60) * time.Second)
				if a := w.Insist(http.MethodPut, path, token, body(float64(round*8+i), 10*float64(i), at)); a.Status != 200 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		wg.Wait()
		it, err := w.tn.Get(t.Context(), driver.LocationKey(w.tn, id))
		testkit.Must(t, err)
		l, _, err := driver.LocationFromItem(it)
		testkit.Must(t, err)
		if want := fmt.Sprint(round*8 + 7); string(l.Lat) != want {
			t.Errorf("round %d: stored %s, want %s", round, l.Lat, want)
		}
	}
}

// A report costs one write unit of the table and none of an index, unless the
// driver enters another cell or comes online, even at the edge of a cell. The first
// one also marks the driver.
func TestUnits(t *testing.T) {
	w := newWorld(t)
	testkit.InRounds(t, w.DB)
	_, token := w.driver(t, driver.Online)
	for i, step := range []struct {
		move   float64 // degrees to the north
		writes float64
		index  float64
	}{{0, 6, 3}, {0.0002, 1, 0}, {-0.0002, 1, 0}, {0.0004, 1, 0}, {0.1, 4, 2}, {0.1002, 1, 0}} {
		w.Advance(5 * time.Second)
		w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(40.7+step.move, -74, w.Now()))
		u := w.Last().Usage
		if exact := !testkit.OnDynamoDBLocal(); exact && (u.WriteUnits != step.writes || u.IndexUnits > step.index) ||
			u.Sequential != 2 || u.ReadUnits > 7 {
			t.Errorf("step %d: %+v, want %v and %v write units in 2 round trips", i, u, step.writes, step.index)
		}
	}
}

// Drivers are found at the antimeridian, at the poles, and on both sides of the
// prime meridian and of the equator: nearest first, nobody beyond the radius.
func TestNearbyOnTheSphere(t *testing.T) {
	w := newWorld(t)
	for _, at := range [][2]float64{{0, 180}, {-16.85, 180}, {90, 0}, {-90, 0}, {0, 0}, {51.5, 0}, {85, 100},
		{40.7, -74}} {
		var want []string
		for _, north := range []float64{0.003, -0.009, 0.02, -0.03} { // 0.3, 1, 2.2 and 3.3 km
			lat, lng := at[0]+north, at[1]+north/math.Max(0.02, math.Cos(at[0]*math.Pi/180))
			if lat > 90 || lat < -90 {
				lat, lng = math.Copysign(180, lat)-lat, lng+180
			}
			if lng > 180 {
				lng -= 360
			}
			id, token := w.driver(t, driver.Online)
			w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(lat, lng, w.Now()))
			want = append(want, id)
		}
		lat, lng := json.Number(fmt.Sprint(at[0])), json.Number(fmt.Sprint(at[1]))
		got := w.near(t, lat, lng, 10)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("around %v: %s", at, diff)
		}
		if got := w.near(t, lat, lng, 0.05); len(got) > 0 {
			t.Errorf("within 50 m of %v: %v", at, got)
		}
	}
}

// A search agrees with a look at every driver, also of one whose entry is in the
// cell where the driver was before.
func TestNearbyIsExact(t *testing.T) {
	w := newWorld(t)
	type one struct {
		id string
		at location.Place
	}
	var all []one
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		id, token := w.driver(t, driver.Online)
		lat, lng := 40.7+random.NormFloat64()*0.05, -74+random.NormFloat64()*0.05
		w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(lat, lng, w.Now().Add(-time.Second)))
		lat, lng = lat+0.0003, lng-0.0003
		w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(lat, lng, w.Now()))
		all = append(all, one{id, location.At(json.Number(fmt.Sprint(lat)), json.Number(fmt.Sprint(lng)))})
	}
	for range 20 {
		lat := json.Number(fmt.Sprint(40.7 + random.NormFloat64()*0.05))
		lng := json.Number(fmt.Sprint(-74 + random.NormFloat64()*0.05))
		from, km := location.At(lat, lng), 0.5+9*random.Float64()
		slices.SortFunc(all, func(a, b one) int {
			if from.Kilometres(a.at) < from.Kilometres(b.at) {
				return -1
			}
			return 1
		})
		want := []string{}
		for _, o := range all {
			if from.Kilometres(o.at) <= km && len(want) < 10 {
				want = append(want, o.id)
			}
		}
		if diff := cmp.Diff(want, w.near(t, lat, lng, km)); diff != "" {
			t.Errorf("within %v km of %s, %s: %s", km, lat, lng, diff)
		}
	}
}

// Only drivers who are online, enabled and heard of lately are found, and only the
// tenant's own.
func TestNearbyShowsWhoIsThere(t *testing.T) {
	w := newWorld(t)
	other := world{w.Stand, w.Tenant("EUR", 1)}
	_, stranger := other.driver(t, driver.Online)
	w.Want(http.StatusOK, nil, http.MethodPut, path, stranger, body(40.7, -74, w.Now()))
	id, token := w.driver(t, driver.Online)
	here := func() bool { return slices.Equal(w.near(t, "40.7", "-74", 5), []string{id}) }
	set := func(status string) {
		w.Want(http.StatusOK, nil, http.MethodPatch, "/api/v1/me/status", token, `{"status": "`+status+`"}`)
	}
	send := func(ago time.Duration) {
		w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(40.7, -74, w.Now().Add(-ago)))
	}
	want := func(step string, there bool) {
		t.Helper()
		if here() != there {
			t.Errorf("%s: found %v", step, !there)
		}
	}
	want("no position", false)
	send(10 * time.Minute)
	want("a position that was kept for ten minutes", false)
	send(0)
	want("a position of now", true)
	set(driver.Busy)
	want("busy", false)
	w.Advance(time.Second)
	send(0)
	set(driver.Online)
	want("online again, not heard of since", false)
	w.Advance(time.Second)
	send(0)
	want("online again", true)
	w.Advance(location.Fresh + time.Second)
	want("silent for too long", false)
	send(0)
	want("heard of again", true)
	for range 20 { // the entry is renewed although the driver stands still
		w.Advance(4 * time.Minute)
		send(0)
	}
	want("after more than an hour at one place", true)
	_, err := driver.Store.Change(t.Context(), w.tn, audit.By{Who: "svc:test", At: w.Now()}, id,
		func(r *driver.Record) error { r.Disabled = true; return nil })
	testkit.Must(t, err)
	want("disabled", false)
}

// A batch read may find the stored position or the driver's place in the list as it was
// before another device reported. The position never goes back, and the next report puts
// the driver in the right place.
func TestTornReadsOfPositions(t *testing.T) {
	wire := &testkit.Wire{}
	s := apitest.New(t, testkit.TableOnWire(t, wire), append(location.Rows(), driver.Rows()...)...)
	w := world{s, s.Tenant("USD", 2)}
	for name, key := range map[string]func(table.Tenant, string) table.Key{"position": driver.LocationKey,
		"place": location.ListingKey} {
		id, token := w.driver(t, driver.Online)
		at := func(lat float64, seconds int) (got location.Reported) {
			t.Helper()
			w.Want(http.StatusOK, &got, http.MethodPut, path, token, body(lat, -74,
				w.Now().Add(time.Duration(seconds)*time.Second)))
			return got
		}
		at(40.1, -20)
		older := wire.Older(func() {
			_, err := w.tn.Batch(t.Context(), driver.LocationKey(w.tn, id), location.ListingKey(w.tn, id))
			testkit.Must(t, err)
		})
		at(40.3, -10)
		older.Serve(key(w.tn, id))
		if got := at(40.2, -15); got.Stored || got.Lat != "40.3" {
			t.Errorf("old %s: an earlier position is stored: %+v", name, got)
		}
		if !older.Served() {
			t.Errorf("old %s: it was not read", name)
		}
		older.Serve(key(w.tn, id))
		if got := at(40.1, -5); !got.Stored {
			t.Errorf("old %s: a later position is not stored: %+v", name, got)
		}
		at(40.1, -1)
		if got := w.near(t, "40.1", "-74", 5); !slices.Contains(got, id) {
			t.Errorf("old %s: the driver is not found", name)
		}
	}
}

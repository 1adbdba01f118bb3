package estimate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/outbound"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// engine is a routing engine: a server with the interface of OSRM or Valhalla, as
// its handler says.
type engine struct{ http.Handler }

// RoundTrip implements http.RoundTripper. It serves the request in this process.
func (e engine) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w.Result(), nil
}

type town struct {
	*apitest.Stand
	t        *testing.T
	tenant   table.Tenant
	by       audit.By
	rider    string // id
	token    string
	services []settings.Service
	wire     *testkit.Wire
}

func newTown(t *testing.T, routing http.HandlerFunc) *town {
	t.Helper()
	return newTownOn(t, engine{routing})
}

func newTownOn(t *testing.T, client http.RoundTripper) *town {
	t.Helper()
	wire := &testkit.Wire{}
	stand := apitest.New(t, testkit.TableOnWire(t, wire), append(estimate.Rows(client), trip.Rows()...)...)
	w := &town{Stand: stand, t: t, wire: wire, tenant: stand.Tenant("USD", 1),
		by: audit.By{Who: "svc:test", At: apitest.Start}}
	w.rider = ids.New(ids.Customer, apitest.Start)
	w.token = w.newRider(w.rider)
	for _, s := range []settings.ServiceType{
		{Name: "Standard", BaseFare: "3", PerKm: "1.2", PerMinute: "0.3", MinimumFare: "5", Capacity: 4, Active: true},
		{Name: "Van", BaseFare: "6", PerKm: "2", PerMinute: "0.5", MinimumFare: "10", Capacity: 8, Active: true},
		{Name: "Retired", BaseFare: "1", Capacity: 4},
		{Name: "Rocket", BaseFare: "1999", PerKm: "1", Capacity: 1, Active: true}, // above the largest fare
	} {
		made, err := settings.AddService(t.Context(), w.tenant, w.by, settings.Service{ServiceType: s, CommissionRate: "0.2"})
		testkit.Must(t, err)
		w.services = append(w.services, made)
		w.by.At = w.by.At.Add(time.Second) // the types are listed oldest first
	}
	return w
}

func (w *town) newRider(id string) string {
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), table.Item{Key: authz.ActorKey(w.tenant, authz.Rider, id),
		Type: "customer"}))
	return w.Token(w.tenant, authz.Rider, id)
}

func (w *town) set(edit func(*settings.Document)) {
	w.t.Helper()
	_, err := settings.Set(w.t.Context(), w.tenant, w.by, func(d *settings.Document) error {
		edit(d)
		return nil
	})
	testkit.Must(w.t, err)
}

const journey = `{"originLat":40.7484,"originLng":-73.9857,"destLat":40.7306,"destLng":-73.9866}`

type offers struct{ Items []estimate.Offer }

func (w *town) estimate() []estimate.Offer {
	w.t.Helper()
	var got offers
	w.Want(200, &got, "POST", "/api/v1/me/estimates", w.token, journey)
	return got.Items
}

// ride returns the body of a request of the estimated journey with more members.
func ride(more string) string {
	return `{"originAddress":"350 5th Ave","destAddress":"12 St Marks Pl",` + strings.Trim(journey, "{}") + more + `}`
}

func nothing(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

// An estimate has a fare for each active service type with prices. Without a
// routing engine it follows from the straight line of 1.98 km.
func TestEstimate(t *testing.T) {
	w := newTown(t, nothing)
	w.wire.Rounds(true)
	got := w.estimate()
	if len(got) != 2 {
		t.Fatalf("%d offers: %+v", len(got), got)
	}
	want := estimate.Offer{ServiceTypeID: w.services[0].ID, Name: "Standard", Distance: "2.575", Duration: "309",
		Fare: "7.64", Currency: "USD", EstimateID: got[0].EstimateID,
		ExpiresAt: timestamp.Format(w.Now().Add(5 * time.Minute))}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[1].ServiceTypeID != w.services[1].ID || got[1].EstimateID == got[0].EstimateID ||
		!ids.Valid(ids.Estimate, got[1].EstimateID) {
		t.Errorf("the second offer: %+v", got[1])
	}
	if u := w.Last().Usage; u.Sequential > 2 || u.WriteUnits > 2 {
		t.Errorf("an estimate costs %+v", u)
	}
	var listed struct{ Items []settings.ServiceType }
	w.Want(200, &listed, "GET", "/api/v1/me/services", w.token, "")
	if len(listed.Items) != 3 || listed.Items[0].Currency != "USD" {
		t.Errorf("a rider may choose %+v", listed.Items)
	}
}

// A ride that names an estimate gets its fare and service type. The estimate is
// good for its rider, its journey and five minutes.
func TestRideOfEstimate(t *testing.T) {
	w := newTown(t, nothing)
	all := w.estimate()
	id := func(n int) string { return fmt.Sprintf(`,"estimateId":%q`, all[n].EstimateID) }
	for n := range all {
		var got trip.Trip
		w.Want(201, &got, "POST", "/api/v1/me/trips", w.token, ride(id(n)))
		if got.EstimatedFare == nil || *got.EstimatedFare != all[n].Fare || *got.ServiceTypeID != all[n].ServiceTypeID {
			t.Errorf("the ride has %+v, want %+v", got, all[n])
		}
	}
	stranger := w.newRider(ids.New(ids.Customer, apitest.Start))
	other := w.Stand.Tenant("USD", 1)
	foreign := ids.New(ids.Customer, apitest.Start)
	testkit.Must(t, other.Load(t.Context(),
		table.Item{Key: authz.ActorKey(other, authz.Rider, foreign), Type: "customer"}))
	elsewhere := strings.Replace(ride(id(0)), "40.7306", "40.6441", 1)
	last := all[0].EstimateID[:len(all[0].EstimateID)-2]
	for name, tt := range map[string]struct {
		token, body string
		status      int
		code        string
	}{
		"another rider's":      {stranger, ride(id(0)), 409, "estimate_expired"},
		"another tenant's":     {w.Token(other, authz.Rider, foreign), ride(id(0)), 409, "estimate_expired"},
		"a fare that is none":  {w.token, ride(`,"estimateId":"` + last + `ZZ"`), 409, "estimate_expired"},
		"no estimate at all":   {w.token, ride(`,"estimateId":"est_1"`), 409, "estimate_expired"},
		"another destination":  {w.token, elsewhere, 400, "invalid_request"},
		"another service type": {w.token, ride(id(0) + fmt.Sprintf(`,"serviceTypeId":%q`, w.services[1].ID)), 400, "invalid_request"},
		"no destination": {w.token, `{"originAddress":"A","originLat":40.7484,"originLng":-73.9857` + id(0) + `}`, 400,
			"invalid_request"},
	} {
		var got struct{ Error string }
		w.Want(tt.status, &got, "POST", "/api/v1/me/trips", tt.token, tt.body)
		if got.Error != tt.code {
			t.Errorf("%s: %s, want %s", name, got.Error, tt.code)
		}
	}
	w.Advance(5 * time.Minute)
	w.Want(409, nil, "POST", "/api/v1/me/trips", w.token, ride(id(0)))
}

// A payment type that the company does not take is a 409, and the message names
// those that it takes.
func TestPaymentTypeDisabled(t *testing.T) {
	w := newTown(t, nothing)
	w.Want(201, nil, "POST", "/api/v1/me/trips", w.token, ride(`,"paymentType":"CARD"`))
	w.set(func(d *settings.Document) { d.Payments.Card = false })
	w.Advance(2 * time.Second) // the settings may be a second old
	var got struct {
		Error       string
		Description string `json:"error_description"`
	}
	w.Want(409, &got, "POST", "/api/v1/me/trips", w.token, ride(`,"paymentType":"CARD"`))
	if got.Error != "payment_type_disabled" || !strings.Contains(got.Description, "CASH, WALLET") {
		t.Errorf("%+v", got)
	}
	w.Want(201, nil, "POST", "/api/v1/me/trips", w.token, ride(""))
}

// A routing engine measures the ride. If it does not answer well, the straight
// line is used.
func TestRouting(t *testing.T) {
	var asked []string
	answer := ""
	w := newTown(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		if answer == "" {
			w.WriteHeader(http.StatusBadGateway)
		}
		fmt.Fprint(w, answer)
	})
	address := "https://routes.example/engine"
	for name, tt := range map[string]struct{ engine, answer, distance, duration string }{
		"OSRM":            {settings.OSRM, `{"code":"Ok","routes":[{"distance":3412.4,"duration":540.6}]}`, "3.412", "541"},
		"Valhalla":        {settings.Valhalla, `{"trip":{"units":"kilometers","summary":{"length":3.4124,"time":540.6}}}`, "3.412", "541"},
		"no route":        {settings.OSRM, `{"code":"NoRoute","routes":[]}`, "2.575", "309"},
		"an error":        {settings.OSRM, ``, "2.575", "309"},
		"not JSON":        {settings.OSRM, `<html>`, "2.575", "309"},
		"a wrong number":  {settings.OSRM, `{"routes":[{"distance":-1,"duration":540}]}`, "2.575", "309"},
		"around the moon": {settings.OSRM, `{"routes":[{"distance":768800000,"duration":540}]}`, "2.575", "309"},
	} {
		w.set(func(d *settings.Document) { d.Routing.URL, d.Routing.Engine = &address, tt.engine })
		answer = tt.answer
		got := w.estimate()[0]
		if string(got.Distance) != tt.distance || string(got.Duration) != tt.duration ||
			got.Routed != (tt.distance == "3.412") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, one := range asked {
		if one != "POST /engine/route" &&
			one != "GET /engine/route/v1/driving/-73.9857,40.7484;-73.9866,40.7306?overview=false" &&
			!strings.Contains(one, "routes.example") {
			t.Errorf("asked %s", one)
		}
	}
	if len(asked) != 7 {
		t.Errorf("%d requests to the engine: %q", len(asked), asked)
	}
}

// The service reaches no internal address, whatever the setting says.
func TestRoutingIsGuarded(t *testing.T) {
	reached := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	w := newTownOn(t, outbound.Public())
	for _, address := range []string{server.URL, "https://127.0.0.1", "https://169.254.169.254/x", "https://10.0.0.1"} {
		d, err := settings.Read(t.Context(), w.tenant) // an address that was stored before its rule
		testkit.Must(t, err)
		d.Routing.URL = &address
		testkit.Must(t, w.tenant.Load(t.Context(), settings.Kind.Item(w.tenant, "", d)))
		if got := w.estimate()[0]; reached || got.Routed || got.Distance != "2.575" {
			t.Errorf("%s is reached: %+v", address, got)
		}
	}
}

// TestServiceArea: with strict zones, estimates and rides begin in an active one.
// A point in a hole is outside of the area, and a point on a border is inside. An
// area may cross the 180th meridian. Both take two round trips once the process knows
// that the zones are strict.
func TestServiceArea(t *testing.T) {
	w := newTown(t, nil)
	testkit.InRounds(t, w.DB)
	most := 3
	zone := func(active bool, text string) {
		t.Helper()
		area, err := settings.ParseArea([]byte(text))
		testkit.Must(t, err)
		_, err = settings.AddZone(t.Context(), w.tenant, w.by, settings.Zone{Name: "Zone", Active: active, Area: area})
		testkit.Must(t, err)
		w.by.At = w.by.At.Add(time.Second)
	}
	zone(true, `{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[4,6],[6,6],[6,4],[4,4]]]}`)
	zone(true, `{"type":"Polygon","coordinates":[[[179,-18],[181,-18],[181,-16],[179,-16],[179,-18]]]}`)
	zone(false, `{"type":"Polygon","coordinates":[[[20,0],[30,0],[30,10],[20,10],[20,0]]]}`)
	both := func(lat, lng string, allowed bool) {
		t.Helper()
		w.Advance(2 * time.Second)
		want, created, code := 200, 201, ""
		if !allowed {
			want, created, code = 409, 409, "outside_service_area"
		}
		body := `"originLat":` + lat + `,"originLng":` + lng + `,"destLat":` + lat + `,"destLng":` + lng
		a := w.Want(want, nil, "POST", "/api/v1/me/estimates", w.token, "{"+body+"}")
		if u := w.Last().Usage; u.Sequential > most {
			t.Errorf("an estimate takes %d round trips", u.Sequential)
		}
		b := w.Want(created, nil, "POST", "/api/v1/me/trips", w.token, `{"originAddress":"A",`+body+"}")
		if u := w.Last().Usage; u.Sequential > 2 {
			t.Errorf("a ride takes %d round trips", u.Sequential)
		}
		if a.Code() != code || b.Code() != code {
			t.Errorf("%s, %s: %s, %s", lat, lng, a.Body, b.Body)
		}
	}
	both("50", "50", true)
	w.set(func(d *settings.Document) { d.Dispatch.ServiceArea = settings.StrictArea })
	both("1", "1", true)
	most = 2
	both("0", "5", true) // on the border
	both("5", "5", false)
	both("4", "5", true) // on the border of the hole
	both("50", "50", false)
	both("5", "25", false) // that zone is not active
	both("-17", "179.5", true)
	both("-17", "-179.5", true)
	both("-17", "180", true)
	both("-17", "-180", true)
	both("-17", "178", false)
	w.set(func(d *settings.Document) { d.Dispatch.ServiceArea = settings.AnyArea })
	both("50", "50", true)
}

package trip_test

import (
	"context"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// town is a tenant with people and their tokens.
type town struct {
	*apitest.Stand
	t        testing.TB
	tenant   table.Tenant
	shards   int
	operator string   // token
	riders   []string // ids
	drivers  []string // ids
	tokens   map[string]string
	wire     *testkit.Wire
}

func newTown(t testing.TB, shards, riders, drivers int) *town {
	t.Helper()
	wire := &testkit.Wire{}
	w := settle(t, apitest.New(t, testkit.TableOnWire(t, wire), trip.Rows()...), shards, riders, drivers)
	w.wire = wire
	return w
}

func settle(t testing.TB, stand *apitest.Stand, shards, riders, drivers int) *town {
	t.Helper()
	w := &town{Stand: stand, t: t, shards: shards, tokens: map[string]string{}}
	w.tenant = stand.Tenant("USD", shards)
	w.operator = stand.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_TRIPS")
	for range riders {
		id := ids.New(ids.Customer, apitest.Start)
		w.load(customer.Item(w.tenant,
			customer.Record{Customer: customer.Customer{ID: id, Name: "Rita Rider", FirstName: "Rita", LastName: "Rider",
				Email: "rita@town.example", CreatedAt: "2026-01-01T00:00:00.000Z"}}, shards))
		w.riders, w.tokens[id] = append(w.riders, id), stand.Token(w.tenant, authz.Rider, id)
	}
	for range drivers {
		id := ids.New(ids.Driver, apitest.Start)
		w.load(driver.Item(w.tenant,
			driver.Record{Driver: driver.Driver{ID: id, FirstName: "Dora", LastName: "Driver", Email: "dora@town.example",
				Status: driver.Online}}, shards))
		w.drivers, w.tokens[id] = append(w.drivers, id), stand.Token(w.tenant, authz.Driver, id)
	}
	return w
}

func (w *town) load(items ...table.Item) {
	w.t.Helper()
	if err := w.tenant.Load(context.Background(), items...); err != nil {
		w.t.Fatal(err)
	}
}

// rider and driver return the token of the first rider and driver.
func (w *town) rider() string  { return w.tokens[w.riders[0]] }
func (w *town) driver() string { return w.tokens[w.drivers[0]] }

const ride = `{"originAddress":"12 Harbour Street","originLat":40.7128,"originLng":-74.006}`

// request makes the first rider request a trip, and returns the trip.
func (w *town) request() trip.Trip {
	w.t.Helper()
	var got trip.Trip
	w.Want(201, &got, "POST", "/api/v1/me/trips", w.rider(), ride)
	return got
}

// act performs an action on the trip and returns the response.
func (w *town) act(id, action, token, body string, headers ...string) apitest.Answer {
	return w.Insist("POST", "/api/v1/me/trips/"+id+"/"+action, token, body, headers...)
}

// reach creates a trip and performs the named actions of the first driver on
// it.
func (w *town) reach(actions ...string) trip.Trip {
	w.t.Helper()
	got := w.request()
	for _, action := range actions {
		if a := w.act(got.ID, action, w.driver(), ""); a.Status != 200 {
			w.t.Fatalf("%s: %d %s", action, a.Status, a.Body)
		}
	}
	return w.stored(got.ID)
}

// stored reads the trip from the table.
func (w *town) stored(id string) trip.Trip {
	w.t.Helper()
	it, err := w.tenant.Get(context.Background(), trip.Key(w.tenant, id))
	if err != nil {
		w.t.Fatal(err)
	}
	got, err := trip.FromItem(it)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// log reads the trip's log from the table.
func (w *town) log(id string) []trip.LogEntry {
	w.t.Helper()
	entries, err := trip.Log(context.Background(), w.tenant, w.stored(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

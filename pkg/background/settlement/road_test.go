package settlement_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/codec"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// road is a rider and two drivers of a company, with one trip at a time. Failures
// name what it is doing.
type road struct {
	*apitest.Stand
	t               testing.TB
	tenant          table.Tenant
	operator, rider string // token, id
	drivers         [2]string
	tokens          map[string]string // by id
	trip, doing     string
	owed            map[string]decimal.Decimal // to the drivers for each trip, by the receipts
}

// newRoad adds the road's people to the company.
func newRoad(t testing.TB, s *apitest.Stand, tenant table.Tenant) *road {
	t.Helper()
	r := &road{Stand: s, t: t, tenant: tenant, rider: ids.New(ids.Customer, apitest.Start), tokens: map[string]string{},
		owed: map[string]decimal.Decimal{}}
	r.operator = s.Token(tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	r.tokens[r.rider] = s.Token(tenant, authz.Rider, r.rider)
	testkit.Must(t, tenant.Load(t.Context(), customer.Item(tenant, customer.Record{Customer: customer.Customer{
		ID: r.rider, Name: "Rita", Email: r.rider + "@x.example", CreatedAt: timestamp.Format(apitest.Start)}}, 1)))
	for i := range r.drivers {
		id := ids.New(ids.Driver, apitest.Start)
		r.drivers[i], r.tokens[id] = id, s.Token(tenant, authz.Driver, id)
		testkit.Must(t, tenant.Load(t.Context(), driver.Item(tenant, driver.Record{Driver: driver.Driver{ID: id,
			FirstName: "Dora", Email: id + "@x.example", Status: driver.Online}}, 1)))
	}
	return r
}

// verb is what somebody does to the trip. It returns a status.
type verb struct {
	name string
	do   func(r *road) int
	logs bool // a success is an entry of the log
}

// verbs returns everything that two drivers, an operator, the rider and the
// settlement can do to a trip.
func verbs() (all []verb) {
	post := func(r *road, token, path, body string) int {
		return r.Insist(http.MethodPost, "/api/v1/"+path, token, body).Status
	}
	for n := range 2 {
		for _, name := range []string{"accept", "decline", "release", "arrived", "start", "complete"} {
			body := map[string]string{"complete": `{"finalFare":10}`}[name]
			all = append(all, verb{fmt.Sprint("driver ", n, " ", name), func(r *road) int {
				return post(r, r.tokens[r.drivers[n]], "me/trips/"+r.trip+"/"+name, body)
			}, true})
		}
		all = append(all, verb{fmt.Sprint("operator assigns driver ", n), func(r *road) int {
			return post(r, r.operator, "trips/"+r.trip+"/assign", fmt.Sprintf(`{"driverId":%q}`, r.drivers[n]))
		}, true})
	}
	for name, body := range map[string]string{"unassign": "", "cancel": "", "arrived": "", "start": "",
		"complete": `{"finalFare":20}`} {
		all = append(all, verb{"operator " + name, func(r *road) int {
			return post(r, r.operator, "trips/"+r.trip+"/"+name, body)
		}, true})
	}
	for _, fare := range []string{"5", "6"} {
		all = append(all, verb{"operator corrects to " + fare, func(r *road) int {
			return post(r, r.operator, "trips/"+r.trip+"/fare", `{"reason":"Typo","finalFare":`+fare+"}")
		}, true})
	}
	return append(all,
		verb{"rider cancels", func(r *road) int {
			return post(r, r.tokens[r.rider], "me/trips/"+r.trip+"/cancel", "")
		}, true},
		verb{"operator deletes", func(r *road) int {
			return r.Insist(http.MethodDelete, "/api/v1/trips/"+r.trip, r.operator, "").Status
		}, false},
		verb{"settlement", func(r *road) int {
			if r.settled() {
				return 200
			}
			return 0
		}, false})
}

// settled settles the trip if it is completed, and reports whether this call did it.
func (r *road) settled() bool {
	it := r.read(trip.Key(r.tenant, r.trip))
	if !it.Found() || it.Text("status") != string(trip.Completed) {
		return false
	}
	tr, err := trip.FromItem(it)
	testkit.Must(r.t, err)
	for {
		done, err := receipt.Settle(r.t.Context(), r.tenant, tr, r.Now())
		if err == nil {
			return done
		}
		if r.t.Context().Err() != nil {
			r.t.Error(err)
			return false
		}
	}
}

func (r *road) read(key table.Key) table.Item {
	it, err := r.tenant.Get(r.t.Context(), key)
	if err != nil {
		r.t.Error(err)
	}
	return it
}

// places are the situations in which the verbs meet. Each lists what happens to a new
// trip before.
var places = []string{"PENDING", "OFFERED", "SCHEDULED", "ASSIGNED", "ARRIVED", "IN_PROGRESS", "COMPLETED", "SETTLED"}

// begin makes a trip in that place, and both drivers free apart from it.
func (r *road) begin(place string) {
	ride := trip.Ride{OriginAddress: "a", OriginLat: "1", OriginLng: "2", PaymentType: "CARD"}
	tr, err := ride.New(r.rider, trip.Terms{Currency: "USD", Settings: settings.Default}, r.Now())
	if place == "SCHEDULED" {
		r.Want(http.StatusCreated, &tr, http.MethodPost, "/api/v1/trips", r.operator, fmt.Sprintf(`{"customerId":%q,
			"originAddress":"a","originLat":1,"originLng":2,"scheduledFor":%q}`, r.rider, timestamp.Format(r.Now().Add(time.Hour))))
		tr, err = trip.FromItem(r.read(trip.Key(r.tenant, tr.ID)))
	}
	testkit.Must(r.t, err)
	rate := money.Amount("0.2")
	tr.CommissionRate, r.trip = &rate, tr.ID
	n := slices.Index(places, place)
	first := trip.ByDriver(r.drivers[0])
	for i, step := range []func() (trip.Trip, error){
		3: func() (trip.Trip, error) { return tr.Accept(r.drivers[0], r.Now()) },
		4: func() (trip.Trip, error) { return tr.Arrive(first, r.Now()) },
		5: func() (trip.Trip, error) { return tr.Start(first, r.Now()) },
		6: func() (trip.Trip, error) {
			ten := money.Amount("10")
			return tr.Complete(first, r.Now(), trip.Measured{FinalFare: &ten})
		},
	} {
		if step != nil && i <= n {
			tr, err = step()
			testkit.Must(r.t, err)
			tr.Engaged = i < 6
			tr.Version++
		}
	}
	busy := 1
	if tr.Engaged {
		busy = 0
	}
	items := []table.Item{}
	for i, id := range r.drivers {
		was := r.read(driver.Key(r.tenant, id))
		d, err := driver.FromItem(was)
		testkit.Must(r.t, err)
		if d.Status, d.Trip = driver.Online, ""; i == busy && tr.Engaged {
			d.Status, d.Trip = driver.Busy, tr.ID
		}
		it := driver.Item(r.tenant, d, 1)
		it.Version = was.Version + 1
		items = append(items, it, table.Item{Key: dispatch.OfferKey(r.tenant, id), Type: "offer",
			Attrs: map[string]any{"until": "", "trip": "", "n": 1, "written": "1"}})
	}
	if place == "OFFERED" {
		tr, err = tr.Search(trip.BySystem(), r.Now())
		testkit.Must(r.t, err)
		tr.Version++
		items[1] = dispatch.NewOffer(tr, 1, r.Now().Add(time.Minute)).Item(r.tenant, r.drivers[0])
	}
	testkit.Must(r.t, r.tenant.Load(r.t.Context(), append(items, tr.Item(r.tenant, 1))...))
	if place == "SETTLED" {
		r.settled()
	}
}

// state describes the trip, its drivers and its receipt. It reports what cannot be
// true at once.
func (r *road) state() (text string, entries int) {
	it := r.read(trip.Key(r.tenant, r.trip))
	out, has := "gone", ""
	if it.Found() {
		tr, err := trip.FromItem(it)
		testkit.Must(r.t, err)
		log := tr.Log()
		if entries = len(log); tr.DriverID != nil && tr.Status != trip.Completed && tr.Status != trip.Cancelled {
			has = *tr.DriverID
		}
		of := -1
		if tr.DriverID != nil {
			of = slices.Index(r.drivers[:], *tr.DriverID)
		}
		out = fmt.Sprintf("%s of driver %d fare %s", tr.Status, of, ptrText(tr.FinalFare))
		r.chain(tr, log)
	}
	for i, id := range r.drivers {
		d, err := driver.FromItem(r.read(driver.Key(r.tenant, id)))
		testkit.Must(r.t, err)
		if (d.Trip == r.trip && d.Status == driver.Busy) != (id == has) || id != has && (d.Trip != "" || d.Status !=
			driver.Online) {
			r.t.Errorf("%s: %s: driver %d is %s with %q", r.doing, out, i, d.Status, d.Trip)
		}
		if _, ok, err := dispatch.Held(r.read(dispatch.OfferKey(r.tenant, id)), r.Now()); ok || err != nil {
			out += fmt.Sprint(", offered to ", i)
		}
	}
	if it := r.read(receipt.Key(r.tenant, r.trip)); it.Found() {
		rc, err := receipt.FromItem(it)
		testkit.Must(r.t, err)
		out += fmt.Sprintf(", receipt %d of %s", rc.Version, ptrText(rc.Total))
	}
	return out, entries
}

func ptrText(n *money.Amount) string {
	if n == nil {
		return "none"
	}
	return string(*n)
}

// chain checks that each entry of the log follows from the one before, in status and
// time, and that the last one agrees with the trip.
func (r *road) chain(tr trip.Trip, log []trip.LogEntry) {
	of := ""
	for i, e := range log {
		if i > 0 && (e.From == nil || *e.From != log[i-1].To || e.At < log[i-1].At) {
			r.t.Errorf("entry %d does not follow: %+v after %+v", i, e, log[i-1])
		}
		switch e.Type {
		case trip.EventAccepted, trip.EventAssigned, trip.EventHandedOver:
			of = *e.Data.DriverID
		case trip.EventUnassigned, trip.EventReleased:
			of = ""
		}
		if e.Actor.Type == string(authz.Driver) && e.Type != trip.EventDeclined && e.Type != trip.EventReleased &&
			e.Actor.ID != of {
			r.t.Errorf("entry %d is by a driver who does not have the trip: %+v", i, e)
		}
	}
	if last := log[len(log)-1]; last.To != tr.Status || of != codec.OrZero(tr.DriverID) {
		r.t.Errorf("the trip is %s of %q, its log ends with %+v of %q", tr.Status, codec.OrZero(tr.DriverID), last, of)
	}
}

// end settles the trip, passes its changes to the projection, as the stream does, and
// adds up what the drivers are owed.
func (r *road) end() {
	r.settled()
	step := projection.Step{Now: r.Now}
	keys := []table.Key{trip.Key(r.tenant, r.trip), customer.Key(r.tenant, r.rider)}
	for _, id := range r.drivers {
		keys = append(keys, driver.Key(r.tenant, id), wallet.Key(r.tenant, wallet.Driver, id))
	}
	for _, err := step.Tenant(r.t.Context(), r.tenant, keys); err != nil; _, err = step.Tenant(r.t.Context(), r.tenant,
		keys) {
		if r.t.Context().Err() != nil {
			r.t.Error(err)
			return
		}
	}
	if it := r.read(receipt.Key(r.tenant, r.trip)); it.Found() {
		rc, err := receipt.FromItem(it)
		testkit.Must(r.t, err)
		r.owed[r.trip] = rc.Total.Decimal().Mul(decimal.RequireFromString("0.8"))
	}
}

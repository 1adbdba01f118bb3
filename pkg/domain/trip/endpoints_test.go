package trip_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

func (w *town) service(active bool) string {
	id := ids.New(ids.Service, now)
	w.load(table.Item{Key: w.tenant.Key("SETTINGS", "SERVICE#"+id), Type: "service",
		Attrs: map[string]any{"active": active, "commissionRate": money.Amount("0.175")}, Doc: map[string]any{"id": id}})
	return id
}

func TestRequestRide(t *testing.T) {
	w := newTown(t, 4, 1, 1)
	other := settle(t, w.Stand, 1, 1, 1)
	service := w.service(true)
	with := func(extra string) string { return strings.TrimSuffix(ride, "}") + "," + extra + "}" }
	for _, tc := range []struct {
		name  string
		body  string
		field string // of the 400; "" for 201
	}{
		{"what is required", ride, ""},
		{"everything", with(`"destAddress":"1 Station Square","destLat":40.7,"destLng":-73.9,"paymentType":"WALLET",` +
			`"notes":"Bell","serviceTypeId":"` + service + `"`), ""},
		{"an inactive service type", with(`"serviceTypeId":"` + w.service(false) + `"`), "body.serviceTypeId"},
		{"another tenant's service type", with(`"serviceTypeId":"` + other.service(true) + `"`), "body.serviceTypeId"},
		{"no such service type", with(`"serviceTypeId":"fast"`), "body.serviceTypeId"},
		{"null for an optional member", with(`"notes":null`), ""},
		{"half of a pair of coordinates", with(`"destLat":1`), "body.destLng"},
		{"no origin", `{"originLat":1,"originLng":2}`, "body.originAddress"},
		{"an empty origin", `{"originAddress":"","originLat":1,"originLng":2}`, "body.originAddress"},
		{"a long address", with(`"destAddress":"` + strings.Repeat("ß", 301) + `"`), "body.destAddress"},
		{"long notes", with(`"notes":"` + strings.Repeat("n", 1001) + `"`), "body.notes"},
		{"a latitude beyond the pole", `{"originAddress":"a","originLat":90.001,"originLng":2}`, "body.originLat"},
		{"a longitude beyond the line", with(`"destLng":-180.5`), "body.destLng"},
		{"a latitude in words", `{"originAddress":"a","originLat":"1","originLng":2}`, "body.originLat"},
		{"another payment", with(`"paymentType":"BARTER"`), "body.paymentType"},
		{"an unknown member", with(`"status":"COMPLETED"`), "body.status"},
		{"no body", ``, "body"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := w.Do("POST", "/api/v1/me/trips", w.rider(), tc.body)
			if tc.field != "" {
				if a.Status != 400 || !strings.Contains(a.Body, `"field":"`+tc.field+`"`) {
					t.Errorf("got %d %s, want 400 on %s", a.Status, a.Body, tc.field)
				}
				return
			}
			if a.Status != 201 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			var got trip.Trip
			a.Decode(t, &got)
			if got.Status != trip.Pending || got.Currency != "USD" || got.FinalFare != nil || got.EstimatedFare != nil ||
				got.DriverID != nil {
				t.Errorf("got %s", a.Body)
			}
			stored := w.stored(got.ID)
			if rate := stored.CommissionRate; (got.ServiceTypeID != nil) != (rate != nil) || (rate != nil && *rate != "0.175") {
				t.Errorf("commission snapshot %v with service type %v", rate, got.ServiceTypeID)
			}
			stored.CommissionRate, stored.Version = nil, 0
			if diff := cmp.Diff(got, stored); diff != "" {
				t.Errorf("stored (-answer +stored):\n%s", diff)
			}
		})
	}
}

func TestRequestRideNeedsTheTaxi(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	w.Flags(w.tenant, map[string]any{"taxiEnabled": false, "deliveryEnabled": true, "currency": "USD", "readShards": 1,
		"writeShards": 1})
	if a := w.Do("POST", "/api/v1/me/trips", w.rider(), ride); a.Status != 403 || a.Code() != "feature_disabled" {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

func TestCompleteRide(t *testing.T) {
	w := newTown(t, 4, 1, 1)
	id := w.request().ID
	for _, tc := range []struct {
		action, token, body string
		want                string // members of the response beside id
	}{
		{"accept", w.driver(), "", `status,driverId,acceptedAt`},
		{"arrived", w.driver(), "{}", `status,arrivedAt`},
		{"start", w.driver(), "", `status,startedAt`},
		{"complete", w.driver(), `{"finalFare":18.50,"actualDistance":6.4}`,
			`status,completedAt,finalFare,actualDistance,actualDuration`},
	} {
		a := w.act(id, tc.action, tc.token, tc.body)
		if a.Status != 200 {
			t.Fatalf("%s: got %d %s", tc.action, a.Status, a.Body)
		}
		var got map[string]any
		a.Decode(t, &got)
		for _, member := range strings.Split("id,"+tc.want, ",") {
			if _, ok := got[member]; !ok {
				t.Errorf("%s: %s is missing in %s", tc.action, member, a.Body)
			}
			delete(got, member)
		}
		if len(got) > 0 {
			t.Errorf("%s: unexpected %v", tc.action, got)
		}
		if again := w.act(id, tc.action, tc.token, tc.body); again.Status != 409 || again.Code() != "invalid_state" {
			t.Errorf("%s again: got %d %s", tc.action, again.Status, again.Body)
		}
		w.Advance(1)
	}
	var seen trip.TripDetail
	a := w.Want(200, &seen, "GET", "/api/v1/trips/"+id, w.operator, "")
	if seen.Status != trip.Completed || *seen.FinalFare != "18.5" || len(seen.Log) != 5 ||
		seen.Customer.Value.ID != w.riders[0] || seen.Driver.Value.ID != w.drivers[0] {
		t.Errorf("got %s", a.Body)
	}
	if strings.Contains(strings.ToLower(a.Body), "commission") {
		t.Errorf("commission is shown: %s", a.Body)
	}
}

// TestDriverOfATripIsLive: a trip shows where its driver reported to be.
func TestDriverOfATripIsLive(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	id := w.request().ID
	w.act(id, "accept", w.driver(), "")
	w.load(table.Item{Key: driver.LocationKey(w.tenant, w.drivers[0]), Type: "location",
		Doc: driver.Location{Lat: "40.7182", Lng: "-74", RecordedAt: "2026-03-01T12:30:00.000Z"}})
	var seen trip.TripDetail
	a := w.Want(200, &seen, "GET", "/api/v1/trips/"+id, w.operator, "")
	if d := seen.Driver.Value; d.CurrentLat == nil || *d.CurrentLat != "40.7182" || *d.CurrentLng != "-74" ||
		*d.LocationUpdatedAt != "2026-03-01T12:30:00.000Z" {
		t.Errorf("got %s", a.Body)
	}
}

func TestReadOfAFreshTrip(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	var got map[string]any
	w.Want(200, &got, "GET", "/api/v1/trips/"+w.request().ID, w.operator, "")
	if it, there := got["driver"]; it != nil || !there {
		t.Errorf("driver: got %v (there: %v), want null", it, there)
	}
	if log, _ := got["log"].([]any); len(log) != 1 {
		t.Errorf("log: got %v", got["log"])
	}
}

func TestSomebodyElses(t *testing.T) {
	w := newTown(t, 1, 2, 2)
	other := settle(t, w.Stand, 1, 1, 1)
	pending, assigned := w.request().ID, w.reach("accept").ID
	d2, r2 := w.tokens[w.drivers[1]], w.tokens[w.riders[1]]
	absent := ids.New(ids.Trip, now)
	var missing string
	for _, tc := range []struct {
		name, method, path, token string
		want                      int
	}{
		{"absent", "GET", "/api/v1/trips/" + absent, w.operator, 404},
		{"another tenant's, read", "GET", "/api/v1/trips/" + pending, other.operator, 404},
		{"another tenant's, accepted", "POST", "/api/v1/me/trips/" + pending + "/accept", other.driver(), 404},
		{"another tenant's, cancelled", "POST", "/api/v1/me/trips/" + pending + "/cancel", other.rider(), 404},
		{"not an id", "GET", "/api/v1/trips/42", w.operator, 404},
		{"another kind of id", "POST", "/api/v1/me/trips/" + w.drivers[0] + "/start", w.driver(), 404},
		{"an id too long for a key", "GET", "/api/v1/trips/trp_" + strings.Repeat("A", 3000), w.operator, 404},
		{"an encoded id", "GET", "/api/v1/trips/trp_%23%2F", w.operator, 404},
		{"another driver accepts", "POST", "/api/v1/me/trips/" + assigned + "/accept", d2, 409},
		{"another driver arrives", "POST", "/api/v1/me/trips/" + assigned + "/arrived", d2, 404},
		{"another driver starts", "POST", "/api/v1/me/trips/" + assigned + "/start", d2, 404},
		{"another driver completes", "POST", "/api/v1/me/trips/" + assigned + "/complete", d2, 404},
		{"another rider cancels", "POST", "/api/v1/me/trips/" + assigned + "/cancel", r2, 404},
		{"a driver arrives on a trip without one", "POST", "/api/v1/me/trips/" + pending + "/arrived", d2, 409},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := w.Do(tc.method, tc.path, tc.token, "")
			if a.Status != tc.want {
				t.Fatalf("got %d %s, want %d", a.Status, a.Body, tc.want)
			}
			if a.Status == 404 {
				if missing == "" {
					missing = a.Body
				}
				if a.Body != missing {
					t.Errorf("got %s, and elsewhere %s", a.Body, missing)
				}
			}
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	id := w.reach("accept", "arrived", "start").ID
	for body, field := range map[string]string{
		`{"finalFare":-1}`: "body.finalFare", `{"finalFare":1.999}`: "body.finalFare", `{"finalFare":"1"}`: "body.finalFare",
		`{"actualDistance":-0.1}`: "body.actualDistance", `{"actualDuration":-1}`: "body.actualDuration",
		`{"tip":1}`: "body.tip", `[]`: "body",
	} {
		if a := w.act(id, "complete", w.driver(), body); a.Status != 400 || !strings.Contains(a.Body, `"field":"`+field+`"`) {
			t.Errorf("%s: got %d %s, want 400 on %s", body, a.Status, a.Body, field)
		}
	}
	if a := w.act(id, "complete", w.driver(), ""); a.Status != 200 {
		t.Errorf("without a body: got %d %s", a.Status, a.Body)
	}
	if got := w.stored(id); got.FinalFare != nil {
		t.Errorf("a fare out of nothing: %s", *got.FinalFare)
	}
}

func TestCancelByItsRider(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for _, body := range []string{"", "{}", `{"reason":"Plans changed"}`} {
		id := w.reach("accept").ID
		a := w.act(id, "cancel", w.rider(), body)
		if a.Status != 200 || !strings.Contains(a.Body, `"status":"CANCELLED"`) {
			t.Errorf("%q: got %d %s", body, a.Status, a.Body)
		}
		if got := w.stored(id); (got.CancelReason != nil) != strings.Contains(body, "reason") {
			t.Errorf("%q: reason %v", body, got.CancelReason)
		}
	}
	id := w.reach("accept", "arrived", "start").ID
	if a := w.act(id, "cancel", w.rider(), ""); a.Status != 409 {
		t.Errorf("under way: got %d %s", a.Status, a.Body)
	}
	if a := w.act(w.request().ID, "cancel", w.rider(), `{"reason":"`+strings.Repeat("r", 1001)+`"}`); a.Status != 400 {
		t.Errorf("a long reason: got %d", a.Status)
	}
}

// The budgets of docs/design.md.
func TestBudgets(t *testing.T) {
	wire := &testkit.Wire{}
	w := settle(t, apitest.New(t, testkit.TableOnWire(t, wire), trip.Rows()...), 1, 1, 1)
	service := w.service(true)
	wire.Rounds(true)
	body := strings.TrimSuffix(ride, "}") +
		`,"destAddress":"1 Station Square","destLat":40.7306,"destLng":-73.9866,"notes":"Bell","serviceTypeId":"` + service +
		`"}`
	var made trip.Trip
	rider := w.rider()
	w.Want(201, &made, "POST", "/api/v1/me/trips", rider, body) // a tenant's first trips also mark its currency
	w.Want(201, &made, "POST", "/api/v1/me/trips", rider, body)
	within := func(name string, sequential int, reads, writes float64) {
		t.Helper()
		u := w.Last().Usage
		t.Logf("%s: %+v", name, u)
		if u.Sequential > sequential || u.ReadUnits > reads || testkit.WriteUnits(u) > writes {
			t.Errorf("%s: %+v, want at most %d in sequence, %v and %v units", name, u, sequential, reads, writes)
		}
	}
	within("request", 2, 7, 4) // the trip, and the rider's open trips
	for _, action := range []string{"accept", "arrived", "start"} {
		w.act(made.ID, action, w.driver(), "", "Idempotency-Key", action)
		within(action, 2, 8, 2+2)
	}
	w.act(made.ID, "complete", w.driver(), `{"finalFare":18.5,"actualDistance":6.4,"actualDuration":1200}`)
	within("complete", 2, 7, 2)
	w.Want(200, nil, "GET", "/api/v1/trips/"+made.ID, w.operator, "")
	within("read", 2, 12, 0)
	w.Want(200, nil, "GET", "/api/v1/me/trips", w.rider(), "")
	within("own list", 1, 5.5, 0)
	w.Want(200, nil, "GET", "/api/v1/trips?driverId="+w.drivers[0], w.operator, "")
	within("list", 1, 5.5, 0)
}

func TestAudiences(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	bare := w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, now))
	for _, tc := range []struct {
		name, method, path, token string
		want                      int
		word                      string
	}{
		{"no token", "GET", "/api/v1/trips", "", http.StatusUnauthorized, "unauthorized"},
		{"a rider lists all", "GET", "/api/v1/trips", w.rider(), 403, "insufficient_scope"},
		{"an operator without the permission", "GET", "/api/v1/trips", bare, 403, "forbidden"},
		{"a driver requests", "POST", "/api/v1/me/trips", w.driver(), 403, "insufficient_scope"},
		{"a rider accepts", "POST", "/api/v1/me/trips/" + w.request().ID + "/accept", w.rider(), 403, "insufficient_scope"},
		{"a forged token on the operator's 400", "GET", "/api/v1/me/trips", "forged", 401, "unauthorized"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if a := w.Do(tc.method, tc.path, tc.token, ""); a.Status != tc.want || a.Code() != tc.word {
				t.Errorf("got %d %s, want %d %s", a.Status, a.Body, tc.want, tc.word)
			}
		})
	}
}

// A fare above the tenant's maximum is rejected. Without that setting the
// maximum is about 2,000 US dollars.
func TestMaxFare(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	complete := func(fare string) apitest.Answer {
		made := w.reach("accept", "arrived", "start")
		return w.act(made.ID, "complete", w.driver(), `{"finalFare":`+fare+`}`)
	}
	for fare, want := range map[string]int{"2000": 200, "2000.01": 400, "999999999": 400} {
		if a := complete(fare); a.Status != want {
			t.Errorf("without the setting, %s: %d %s", fare, a.Status, a.Body)
		}
	}
	tx := w.tenant.Write()
	for i := range authz.Copies {
		tx.Update(authz.FlagsKey(w.tenant, i), table.Change{Set: map[string]any{"maxFare": "120.5"}})
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for fare, want := range map[string]int{"120.5": 200, "0": 200, "120.51": 400, "121": 400} {
		if a := complete(fare); a.Status != want || (want == 400 && !strings.Contains(a.Body, `"field":"body.finalFare"`)) {
			t.Errorf("%s: %d %s", fare, a.Status, a.Body)
		}
	}
}

package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/domain/export"
)

// outside is a company whose records have identifiers in other systems.
type outside struct {
	*apptest.Service
	slug, boss, rider, customer, business, item string
}

func newOutside(t *testing.T, s *apptest.Service, slug string) outside {
	t.Helper()
	rider := s.Rider(t, slug, "rosa")
	o := outside{Service: s, slug: slug, boss: s.Token(t, s.Operator(t, slug, "olga")), rider: s.Token(t, rider),
		customer: rider.ID}
	o.business = idOf(t, o.send(t, "POST", "/api/v1/businesses",
		`{"name": "Grill", "category": "restaurant", "address": "Main Street", "lat": 52.5, "lng": 13.4}`).Must(t, 201))
	o.item = idOf(t, o.send(t, "POST", "/api/v1/businesses/"+o.business+"/menu", `{"name": "Soup", "price": 5}`).Must(t, 201))
	return o
}

func (o outside) send(t testing.TB, method, path, body string) apptest.Answer {
	t.Helper()
	return o.Do(t, apptest.Request{Method: method, Path: path, Token: o.boss, Body: body})
}

// bodies are the creations of the five kinds without their members of other systems. An
// order is placed by a rider, and an operator then says under which identifier.
func (o outside) body(kind string) string {
	switch kind {
	case "trips":
		return fmt.Sprintf(`{"customerId":%q,"originAddress":"1 Pier","originLat":40.7,"originLng":-74`, o.customer)
	case "businesses":
		return `{"name":"Deli","category":"restaurant","address":"2 Pier","lat":40.7,"lng":-74`
	}
	return fmt.Sprintf(`{"email":"%s@%s.example","firstName":"Ann"`, strings.ToLower(ids.Code()+ids.Code()), o.slug)
}

// make makes a record with members of other systems, which begin with a comma.
func (o outside) make(t testing.TB, kind, members string, header map[string]string) apptest.Answer {
	t.Helper()
	if kind != "orders" {
		return o.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/" + kind, Token: o.boss, Body: o.body(kind) + members +
			"}", Header: header})
	}
	placed := o.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/me/orders", Token: o.rider, Header: header,
		Body: fmt.Sprintf(`{"businessId":%q,"items":[{"menuItemId":%q,"quantity":1}],"deliveryAddress":"1 Street"}`,
			o.business, o.item)}).Must(t, 201)
	a := o.send(t, "PATCH", "/api/v1/orders/"+idOf(t, placed), "{"+strings.TrimPrefix(members, ",")+"}")
	if a.Status == http.StatusOK {
		a.Status = http.StatusCreated
	}
	return a
}

func idOf(t testing.TB, a apptest.Answer) string {
	t.Helper()
	return apptest.JSON[struct{ ID string }](t, a).ID
}

type outsideMembers struct {
	ID         string            `json:"id"`
	ExternalID string            `json:"externalId"`
	Metadata   map[string]string `json:"metadata"`
}

func quoted(text string) string { out, _ := json.Marshal(text); return string(out) }

// found returns the identifiers of the records that the filter of a list finds.
func (o outside) found(t *testing.T, kind, external, more string) (out []string) {
	t.Helper()
	a := o.send(t, "GET", "/api/v1/"+kind+"?externalId="+url.QueryEscape(external)+more, "").Must(t, 200)
	for _, one := range apptest.JSON[struct{ Items []outsideMembers }](t, a).Items {
		out = append(out, one.ID)
	}
	return out
}

func (o outside) by(t *testing.T, kind, external string) apptest.Answer {
	t.Helper()
	return o.send(t, "GET", "/api/v1/"+kind+"/external/"+url.PathEscape(external), "")
}

var outsideKinds = []string{"trips", "orders", "customers", "drivers", "businesses"}

// oddIDs are identifiers that paths, tables and programs change or take for something else.
var oddIDs = []string{"crm-1042", "2026/0815", "a b+c", "100%", "50%25", "a?b", "a#b", "receipt", "..x", "é", "e\u0301",
	"İ", "x;y=z", `"q"`, `\\n`, "👍", "null", "0", strings.Repeat("界", 128)}

// TestExternalIDs: each kind of record is found by its identifier in another system, by
// its path and by the filter, and by no other company. An identifier has one record of a
// kind. A change frees the one before.
func TestExternalIDs(t *testing.T) {
	s := apptest.With(t, apptest.Options{Phones: true})
	o, other := newOutside(t, s, "metro"), newOutside(t, s, "harbor")
	for _, kind := range outsideKinds {
		t.Run(kind, func(t *testing.T) {
			for _, external := range oddIDs {
				made := o.make(t, kind, `,"externalId":`+quoted(external)+`,"metadata":{"a":"1","b":""}`, nil).Must(t, 201)
				want := outsideMembers{idOf(t, made), external, map[string]string{"a": "1", "b": ""}}
				for name, a := range map[string]apptest.Answer{"creation": made, "path": o.by(t, kind, external).Must(t, 200),
					"read": o.send(t, "GET", "/api/v1/"+kind+"/"+want.ID, "").Must(t, 200)} {
					if diff := cmp.Diff(want, apptest.JSON[outsideMembers](t, a)); diff != "" {
						t.Errorf("%q by %s: %s", external, name, diff)
					}
				}
				if diff := cmp.Diff([]string{want.ID}, o.found(t, kind, external, "")); diff != "" {
					t.Errorf("the filter for %q: %s", external, diff)
				}
				other.by(t, kind, external).Must(t, 404)
				if found := other.found(t, kind, external, ""); len(found) > 0 {
					t.Errorf("another company finds %v by %q", found, external)
				}
				twice := o.make(t, kind, `,"externalId":`+quoted(external), nil)
				if twice.Status != 409 || !strings.Contains(string(twice.Body), want.ID) {
					t.Errorf("%q again: %d %s", external, twice.Status, twice.Body)
				}
			}
			theirs := other.make(t, kind, `,"externalId":"crm-1042"`, nil).Must(t, 201)
			if found := other.found(t, kind, "crm-1042", ""); len(found) != 1 || found[0] != idOf(t, theirs) {
				t.Errorf("another company's own: %v", found)
			}
			for _, unknown := range []string{"CRM-1042", "crm-1042 ", "crm", "e"} {
				o.by(t, kind, unknown).Must(t, 404)
				if found := o.found(t, kind, unknown, ""); len(found) > 0 {
					t.Errorf("%q finds %v", unknown, found)
				}
			}
			o.changes(t, kind)
			o.refuses(t, kind)
			o.races(t, kind)
		})
	}
	s.Drain(t)
	for _, q := range []string{"RM-104", "crm-1042", "1042", "2026/08", "raced"} {
		a := o.send(t, "GET", "/api/v1/customers?q="+url.QueryEscape(q), "").Must(t, 200)
		if items := apptest.JSON[struct{ Items []outsideMembers }](t, a).Items; len(items) != 1 ||
			!strings.Contains(items[0].ExternalID, strings.ToLower(q)) {
			t.Errorf("a search for %q finds %s", q, a.Body)
		}
	}
	_, logs := s.Kept()
	for _, external := range oddIDs {
		if len(external) > 7 && (strings.Contains(logs, external) || strings.Contains(logs, url.PathEscape(external))) {
			t.Errorf("%q is in the logs", external)
		}
	}
}

// changes changes the members: a metadata key is merged or removed, an identifier that is
// given up is free again.
func (o outside) changes(t *testing.T, kind string) {
	t.Helper()
	made := o.make(t, kind, `,"externalId":"first","metadata":{"a":"1","b":"2","none":null}`, nil).Must(t, 201)
	path := "/api/v1/" + kind + "/" + idOf(t, made)
	patch := func(body string, want outsideMembers) {
		t.Helper()
		want.ID = idOf(t, made)
		if diff := cmp.Diff(want, apptest.JSON[outsideMembers](t, o.send(t, "PATCH", path, body).Must(t, 200))); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	patch(`{"metadata":{"a":null,"c":"3"}}`, outsideMembers{"", "first", map[string]string{"b": "2", "c": "3"}})
	patch(`{"externalId":"second"}`, outsideMembers{"", "second", map[string]string{"b": "2", "c": "3"}})
	patch(`{"externalId":"second","metadata":{}}`, outsideMembers{"", "second", map[string]string{"b": "2", "c": "3"}})
	o.by(t, kind, "first").Must(t, 404)
	next := idOf(t, o.make(t, kind, `,"externalId":"first"`, nil).Must(t, 201))
	a := o.send(t, "PATCH", path, `{"externalId":"first"}`)
	if a.Status != 409 || !strings.Contains(string(a.Body), next) {
		t.Errorf("a change to what another has: %d %s", a.Status, a.Body)
	}
	patch(`{"metadata":null}`, outsideMembers{"", "second", nil})
	patch(`{"externalId":null,"metadata":{"k":"v"}}`, outsideMembers{"", "", map[string]string{"k": "v"}})
	o.make(t, kind, `,"externalId":"second"`, nil).Must(t, 201)
	if kind == "trips" {
		o.send(t, "DELETE", "/api/v1/trips/"+next, "").Must(t, 200)
		o.by(t, kind, "first").Must(t, 404)
		o.make(t, kind, `,"externalId":"first"`, nil).Must(t, 201)
	}
	if kind == "trips" || kind == "orders" {
		filter := map[string]string{"trips": "PENDING", "orders": "PENDING"}[kind]
		if len(o.found(t, kind, "second", "&status="+filter+"&customerId="+o.customer)) != 1 ||
			len(o.found(t, kind, "second", "&status=CANCELLED")) != 0 {
			t.Error("the filters do not combine")
		}
	}
	a = o.send(t, "GET", "/api/v1/"+kind+"?externalId=second&cursor=AAAA", "")
	if a.Status != 400 {
		t.Errorf("a foreign cursor: %d", a.Status)
	}
}

// refuses sends members that no record may have.
func (o outside) refuses(t *testing.T, kind string) {
	t.Helper()
	keys := func(n int) string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint("k", i)] = "v"
		}
		text, _ := json.Marshal(all)
		return string(text)
	}
	for _, members := range []string{`"externalId":""`, `"externalId":" a"`, `"externalId":"a "`, `"externalId":"\u00a0a"`,
		`"externalId":"a\u0007"`, `"externalId":"a\nb"`, `"externalId":"."`, `"externalId":".."`, `"externalId":7`,
		`"externalId":"` + strings.Repeat("x", 129) + `"`, `"metadata":{"":"v"}`, `"metadata":{"a\u0000":"v"}`,
		`"metadata":{"` + strings.Repeat("k", 41) + `":"v"}`, `"metadata":{"k":"` + strings.Repeat("v", 501) + `"}`,
		`"metadata":{"k":7}`, `"metadata":{"k":{"a":"b"}}`, `"metadata":["k"]`, `"metadata":` + keys(21)} {
		if a := o.make(t, kind, ","+members, nil); a.Status != 400 {
			t.Errorf("%s: %d %s", members, a.Status, a.Body)
		}
	}
	full := idOf(t, o.make(t, kind, `,"metadata":`+keys(20), nil).Must(t, 201))
	o.send(t, "PATCH", "/api/v1/"+kind+"/"+full, `{"metadata":{"one":"more"}}`).Must(t, 400)
	o.send(t, "PATCH", "/api/v1/"+kind+"/"+full, `{"metadata":{"one":"more","k0":null}}`).Must(t, 200)
}

// races lets creations with one identifier meet: one wins, and the others name it. A retry
// gets the response of its request.
func (o outside) races(t *testing.T, kind string) {
	t.Helper()
	const writers = 4
	answers := make([]apptest.Answer, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { answers[i] = o.make(t, kind, `,"externalId":"raced"`, nil) })
	}
	group.Wait()
	won, winner := 0, ""
	for _, a := range answers {
		if a.Status == 201 {
			won, winner = won+1, idOf(t, a)
		}
	}
	for _, a := range answers {
		if a.Status != 201 && (a.Status != 409 || !strings.Contains(string(a.Body), winner)) {
			t.Errorf("a loser gets %d %s", a.Status, a.Body)
		}
	}
	if found := o.found(t, kind, "raced", ""); won != 1 || len(found) != 1 || found[0] != winner {
		t.Errorf("%d of %d won, and %v is found", won, writers, found)
	}
	if kind == "orders" {
		return // the rider places it, and nothing is created under the identifier
	}
	body := o.body(kind) + `,"externalId":"retried"}`
	var made []string
	for range 2 {
		a := o.Do(t, apptest.Request{Method: "POST", Path: "/api/v1/" + kind, Token: o.boss, Body: body,
			Header: map[string]string{"Idempotency-Key": "retry-" + kind}}).Must(t, 201)
		made = append(made, idOf(t, a))
	}
	if made[0] != made[1] {
		t.Errorf("a retry made %v", made)
	}
}

// exports fails the test unless each kind of file has the members of its records.
func (o outside) exports(t *testing.T) {
	t.Helper()
	now := time.Now().Add(time.Hour)
	for _, kind := range []string{"trips", "orders", "customers", "drivers", "receipts"} {
		job, err := export.New(kind, "csv", []string{"externalId", "metadata"}, "", "", time.UTC, now)
		testkit.Must(t, err)
		scope := export.Scope{Tenant: o.Tenant(o.slug), To: now, Shards: 1, Zone: time.UTC, Currency: "USD"}
		slice, err := job.Next(t.Context(), scope, "", true, func(int) bool { return false })
		testkit.Must(t, err)
		of := strings.Replace(strings.TrimSuffix(kind, "s"), "receipt", "trip", 1)
		if kind == "customers" || kind == "drivers" {
			of = kind
		}
		if want := "zq-" + of + `,"{""zq-key"":""zq-value""}"`; !strings.Contains(string(slice.Content), want) {
			t.Errorf("the export of %s is without %s: %s", kind, want, slice.Content)
		}
	}
}

// TestExternalIDsAreOperators: no rider and no driver reads a member of other systems of
// anything, or sets one.
func TestExternalIDsAreOperators(t *testing.T) {
	s := apptest.With(t, apptest.Options{Phones: true})
	o := newOutside(t, s, "metro")
	driver := s.Driver(t, "metro", "dan")
	drives := s.Token(t, driver)
	const members = `,"externalId":"zq-%s","metadata":{"zq-key":"zq-value"}`
	trip := idOf(t, o.make(t, "trips", fmt.Sprintf(members, "trip")+`,"driverId":"`+driver.ID+`"`, nil).Must(t, 201))
	order := idOf(t, o.make(t, "orders", fmt.Sprintf(members, "order"), nil).Must(t, 201))
	for kind, id := range map[string]string{"customers": o.customer, "drivers": driver.ID, "businesses": o.business} {
		o.send(t, "PATCH", "/api/v1/"+kind+"/"+id, "{"+fmt.Sprintf(members, kind)[1:]+"}").Must(t, 200)
	}
	for _, step := range []string{"arrived", "start", "complete"} {
		if a := s.Post(t, drives, "/api/v1/me/trips/"+trip+"/"+step, "{}").Must(t, 200); strings.Contains(string(a.Body), "zq-") {
			t.Errorf("%s shows %s", step, a.Body)
		}
	}
	s.Drain(t)
	receipt := o.send(t, "GET", "/api/v1/trips/"+trip+"/receipt", "").Must(t, 200)
	if !strings.Contains(string(receipt.Body), "zq-trip") {
		t.Errorf("the receipt of an operator is without the externalId: %s", receipt.Body)
	}
	o.exports(t)
	read := 0
	for _, r := range app.Rows(nil) {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Path, "/api/v1/me") || r.Streams() {
			continue
		}
		path := r.Path
		for of, id := range map[string]string{"trips": trip, "orders": order, "businesses": o.business} {
			path = strings.Replace(path, "/me/"+of+"/{id}", "/me/"+of+"/"+id, 1)
		}
		for _, token := range []string{o.rider, drives} {
			a := s.Get(t, token, path)
			if strings.Contains(string(a.Body), "zq-") {
				t.Errorf("%s shows %s", path, a.Body)
			}
			if a.Status == 200 {
				read++
			}
		}
	}
	if read < 15 {
		t.Errorf("only %d responses were read", read)
	}
	o.refusesOwn(t)
	for _, kind := range outsideKinds {
		for _, token := range []string{o.rider, drives} {
			s.Get(t, token, "/api/v1/"+kind+"/external/zq-"+kind).Must(t, 403)
			s.Get(t, token, "/api/v1/"+kind+"?externalId=zq-"+kind).Must(t, 403)
		}
	}
	cancelled := s.Post(t, o.rider, "/api/v1/me/orders/"+order+"/cancel", "").Must(t, 200)
	if strings.Contains(string(cancelled.Body), "zq-") {
		t.Errorf("a cancelled order shows %s", cancelled.Body)
	}
	o.changesOwn(t, drives, fmt.Sprintf(members, "again")+`,"driverId":"`+driver.ID+`"`)
	a := o.send(t, "GET", "/api/v1/events?limit=200", "").Must(t, 200)
	if strings.Contains(string(a.Body), "zq-") {
		t.Errorf("an event has a member of other systems: %s", a.Body)
	}
}

// refusesOwn sends what a rider may not send.
func (o outside) refusesOwn(t *testing.T) {
	t.Helper()
	for _, q := range []apptest.Request{
		{Method: "POST", Path: "/api/v1/me/trips", Body: `{"originAddress":"1","originLat":1,"originLng":1,"externalId":"x"}`},
		{Method: "POST", Path: "/api/v1/me/trips", Body: `{"originAddress":"1","originLat":1,"originLng":1,"metadata":{}}`},
		{Method: "PATCH", Path: "/api/v1/me", Body: `{"externalId":"x"}`},
		{Method: "PATCH", Path: "/api/v1/me", Body: `{"metadata":{"a":"b"}}`},
		{Method: "GET", Path: "/api/v1/me/businesses?externalId=zq-businesses"},
		{Method: "GET", Path: "/api/v1/me/trips?externalId=zq-trip"},
	} {
		q.Token = o.rider
		o.Do(t, q).Must(t, 400)
	}
}

package settings_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/settings"
)

func TestManageServices(t *testing.T) {
	s, token := editor(t)
	var made, got settings.ManagedService
	created := s.Want(http.StatusCreated, &made, "POST", "/api/v1/services", token,
		`{"name":" Van ","baseFare":5,"perKm":2.20,"commissionRate":0.2,"capacity":null}`, "Idempotency-Key", "one")
	if made.Name != "Van" || made.PerKm != "2.2" || made.Capacity != 4 || !made.Active || made.Currency != "USD" ||
		made.CommissionRate != "0.2" {
		t.Errorf("made %+v", made)
	}
	if used := s.Last().Usage; used.Sequential != 2 {
		t.Errorf("%d round trips in sequence", used.Sequential)
	}
	path := "/api/v1/services/" + made.ID
	if again := s.Do("POST", "/api/v1/services", token,
		`{"name":" Van ","baseFare":5,"perKm":2.20,"commissionRate":0.2,"capacity":null}`, "Idempotency-Key",
		"one"); again.Body != created.Body {
		t.Errorf("repeated: %s", again.Body)
	}
	if read := s.Want(http.StatusOK, nil, "GET", path, token, ""); read.Body != created.Body ||
		read.Header.Get("ETag") != created.Header.Get("ETag") {
		t.Errorf("read %s %s, created %s", read.Body, read.Header.Get("ETag"), created.Header.Get("ETag"))
	}
	s.Want(http.StatusOK, &got, "PATCH", path, token, `{"perKm":null,"description":"Six","iconUrl":null}`)
	if got.PerKm != "0" || *got.Description != "Six" || got.BaseFare != "5" || got.CommissionRate != "0.2" {
		t.Errorf("patched %+v", got)
	}
	for body, field := range map[string]string{
		`{"name":null}`: "body.name", `{"baseFare":0}`: "body.baseFare", `{"commissionRate":1.5}`: "body.commissionRate",
		`{"id":"x"}`: "body.id", `{"currency":"EUR"}`: "body.currency", `{"iconUrl":"http://x"}`: "body.iconUrl",
	} {
		if got := faultFields(t, s.Want(http.StatusBadRequest, nil, "PATCH", path, token, body)); got != field {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := faultFields(t, s.Want(http.StatusBadRequest, nil, "POST", "/api/v1/services", token,
		`{"baseFare":-1,"capacity":0,"x":1}`)); !strings.Contains(got, "body.name") || !strings.Contains(got, "body.x") ||
		!strings.Contains(got, "body.capacity") || !strings.Contains(got, "body.baseFare") {
		t.Errorf("faults %s", got)
	}
	s.Want(http.StatusPreconditionFailed, nil, "DELETE", path, token, "", "If-Match", created.Header.Get("ETag"))
	s.Want(http.StatusOK, &got, "DELETE", path, token, "")
	var list struct{ Items []json.RawMessage }
	s.Want(http.StatusOK, &list, "GET", "/api/v1/services", token, "")
	if got.Active || len(list.Items) != 0 {
		t.Errorf("withdrawn: %+v, listed %s", got, list.Items)
	}
	s.Want(http.StatusOK, &got, "PATCH", path, token, `{"active":true}`)
	if !got.Active {
		t.Error("a withdrawn service type cannot be offered again")
	}
}

func TestManageZones(t *testing.T) {
	s, tn, _ := stand(t)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
	var made settings.Zone
	created := s.Want(http.StatusCreated, &made, "POST", "/api/v1/zones", token, `{"name":"Pier","priority":3,"area":{
		"type":"FeatureCollection","features":[{"type":"Feature","properties":null,"geometry":{"type":"Polygon",
		"coordinates":[[[0,0],[0,2],[2,2],[2,0],[0,0]]]}}]}}`)
	if !made.Active || made.Priority != 3 || len(made.Area) != 1 {
		t.Errorf("made %+v", made)
	}
	path := "/api/v1/zones/" + made.ID
	if read := s.Want(http.StatusOK, nil, "GET", path, token, ""); read.Body != created.Body {
		t.Errorf("read %s, created %s", read.Body, created.Body)
	}
	var got settings.Zone
	s.Want(http.StatusOK, &got, "PATCH", path, token, `{"active":false,"priority":null}`)
	if got.Active || got.Priority != 0 || got.Name != "Pier" || len(got.Area) != 1 {
		t.Errorf("patched %+v", got)
	}
	for body, message := range map[string]string{
		`{"area":{"type":"Point","coordinates":[1,2]}}`:                                   "Polygon or MultiPolygon",
		`{"area":{"type":"Polygon","coordinates":[[[0,0],[2,2],[0,2],[2,0],[0,0]]]}}`:     "crosses or touches itself",
		`{"area":{"type":"Polygon","coordinates":[[[0,0],[2,2],[0,2]]]}}`:                 "end where they begin",
		`{"area":{"type":"Polygon","coordinates":[[[50,95],[50,96],[51,95],[50,95]]]}}`:   "longitude first",
		`{"area":{"type":"Polygon","coordinates":[[[179,1],[-179,1],[-179,2],[179,1]]]}}`: "around the globe",
		`{"area":{"type":"Polygon","coordinates":[["a"]]}}`:                               "malformed",
		`{"area":null}`: "not null",
		`{"area":[]}`:   "object",
	} {
		if a := s.Want(http.StatusBadRequest, nil, "PATCH", path, token, body); !strings.Contains(a.Body, message) ||
			!strings.Contains(a.Body, "body.area") {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
	s.Want(http.StatusOK, nil, "DELETE", path, token, "")
	for _, method := range []string{"GET", "DELETE", "PATCH"} {
		s.Want(http.StatusNotFound, nil, method, path, token, map[string]string{"PATCH": "{}"}[method])
	}
	entries, _, err := audit.List(t.Context(), tn, "", 10)
	testkit.Must(t, err)
	kinds := map[string]int{}
	for _, e := range entries {
		kinds[e.What]++
	}
	if kinds["zone.add"] != 1 || kinds["zone.set"] != 1 || kinds["zone.remove"] != 1 {
		t.Errorf("audit log %v", kinds)
	}
}

// TestOthersCatalog: what another tenant has is missing, with the same bytes.
func TestOthersCatalog(t *testing.T) {
	s, token := editor(t)
	other := s.Tenant("EUR", 1)
	stranger := s.Token(other, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_SETTINGS", "EDIT_SETTINGS")
	var service settings.ManagedService
	s.Want(http.StatusCreated, &service, "POST", "/api/v1/services", token, `{"name":"Van","baseFare":5}`)
	var zone settings.Zone
	s.Want(http.StatusCreated, &zone, "POST", "/api/v1/zones", token,
		`{"name":"Pier","area":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}}`)
	for path, missing := range map[string]string{
		"/api/v1/services/" + service.ID: "/api/v1/services/svt_01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"/api/v1/zones/" + zone.ID:       "/api/v1/zones/zon_01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		for method, body := range map[string]string{"GET": "", "PATCH": `{"active":false}`, "DELETE": ""} {
			a := s.Want(http.StatusNotFound, nil, method, path, stranger, body)
			work := s.Last().Usage
			b := s.Want(http.StatusNotFound, nil, method, missing, stranger, body)
			if a.Body != b.Body || work.Sequential != s.Last().Usage.Sequential {
				t.Errorf("%s %s: %s, missing: %s", method, path, a.Body, b.Body)
			}
			if c := s.Want(http.StatusNotFound, nil, method, path+"%23x", stranger, body); c.Body != a.Body {
				t.Errorf("%s of no identifier: %s", method, c.Body)
			}
		}
		s.Want(http.StatusOK, nil, "GET", path, token, "")
	}
}

// TestZoneRace: of a change and a removal of one state, exactly one is made.
func TestZoneRace(t *testing.T) {
	s, token := editor(t)
	for range 5 {
		var zone settings.Zone
		tag := s.Want(http.StatusCreated, &zone, "POST", "/api/v1/zones", token,
			`{"name":"Pier","area":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}}`).Header.Get("ETag")
		var group sync.WaitGroup
		var changed, removed apitest.Answer
		group.Go(func() {
			changed = s.Insist("PATCH", "/api/v1/zones/"+zone.ID, token, `{"name":"Quay"}`, "If-Match", tag)
		})
		group.Go(func() { removed = s.Insist("DELETE", "/api/v1/zones/"+zone.ID, token, "", "If-Match", tag) })
		group.Wait()
		switch {
		case changed.Status == 200 && removed.Status == 412:
		case removed.Status == 200 && (changed.Status == 404 || changed.Status == 412):
		default:
			t.Errorf("changed: %d, removed: %d", changed.Status, removed.Status)
		}
	}
}

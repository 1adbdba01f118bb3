package app_test

import (
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/domain/customer"
)

// changesOwn makes each change that a rider or a driver may make, of an open trip of the driver,
// and fails the test if a response has a member of other systems.
func (o outside) changesOwn(t *testing.T, drives, members string) {
	t.Helper()
	trip, changed := idOf(t, o.make(t, "trips", members, nil).Must(t, 201)), 0
	for _, r := range app.Rows(nil) {
		if r.Method == http.MethodGet || !strings.HasPrefix(r.Path, "/api/v1/me") {
			continue
		}
		for _, token := range []string{o.rider, drives} {
			a := o.Do(t, apptest.Request{Method: r.Method, Path: strings.Replace(r.Path, "/me/trips/{id}", "/me/trips/"+trip, 1),
				Token: token, Body: examples()[r.ID]})
			if strings.Contains(string(a.Body), "zq-") {
				t.Errorf("%s shows %s", r.ID, a.Body)
			}
			if a.Status < 300 {
				changed++
			}
		}
	}
	if changed < 8 {
		t.Errorf("only %d changes were made", changed)
	}
}

// TestLongIdentifiersStay: an identifier that an older build has stored, longer than one may be
// now, is found, and kept by a change of another member.
func TestLongIdentifiersStay(t *testing.T) {
	s := apptest.New(t)
	o := newOutside(t, s, "metro")
	long := strings.Repeat("long/", 60)
	_, err := customer.Store.Change(t.Context(), s.Tenant("metro"), s.By(), o.customer, func(r *customer.Record) error {
		r.ExternalID = long
		return nil
	})
	testkit.Must(t, err)
	path := "/api/v1/customers/" + o.customer
	for _, body := range []string{`{"firstName":"New"}`, `{"metadata":{"a":"b"}}`} {
		if got := apptest.JSON[outsideMembers](t, o.send(t, "PATCH", path, body).Must(t, 200)); got.ExternalID != long {
			t.Errorf("after %s it is %q", body, got.ExternalID)
		}
	}
	o.by(t, "customers", long).Must(t, 200)
	if found := o.found(t, "customers", long, ""); len(found) != 1 {
		t.Errorf("the filter finds %v", found)
	}
	o.send(t, "PATCH", path, `{"externalId":`+quoted(long+"x")+`}`).Must(t, 400)
	o.send(t, "PATCH", path, `{"externalId":null}`).Must(t, 200)
	o.by(t, "customers", long).Must(t, 404)
}

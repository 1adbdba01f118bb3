package profile_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/profile"
	"svc/pkg/domain/tenant"
)

// joinedOperator creates an operator with a membership and a token for it.
func joinedOperator(t *testing.T, s *apitest.Stand, people person.Store, tn table.Tenant) (person.Person, string) {
	t.Helper()
	ctx, by := t.Context(), audit.By{Who: "svc:test", At: apitest.Start}
	operator, err := people.Create(ctx, by, person.Person{Email: "op@metro.example", FirstName: "Grace",
		LastName: "Bennett"}, "")
	if err != nil {
		t.Fatal(err)
	}
	// The stand must issue the token first, because it also writes a
	// membership.
	token := s.Token(tn, authz.Dashboard, operator.ID)
	tx := tn.Write()
	tx.Delete(authz.ActorKey(tn, authz.Dashboard, operator.ID))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := people.Join(ctx, tn, by, operator.ID, "owner", []string{"VIEW_TRIPS", "VIEW_DRIVERS"}); err != nil {
		t.Fatal(err)
	}
	// A token is valid only for the membership that existed at its issue.
	access, err := s.Verify(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	joined, err := tn.Get(ctx, authz.ActorKey(tn, authz.Dashboard, operator.ID))
	if err != nil {
		t.Fatal(err)
	}
	tx = tn.Write()
	tx.Update(authz.TokenKey(tn, access.ID), table.Change{Set: map[string]any{"since": joined.Text("since")}})
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	return operator, token
}

// Each audience gets the profile in its own shape, in one round trip.
func TestMe(t *testing.T) {
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	people := person.Store{DB: db}
	s := apitest.New(t, db, profile.Rows(people)...)
	ctx, by := t.Context(), audit.By{Who: "svc:test", At: apitest.Start}
	metro, err := tenant.Store{DB: db}.Create(ctx, by, tenant.Tenant{Slug: "metro", Name: "Metro Rides",
		TaxiEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	tn := db.Tenant(metro.ID)
	operator, asOperator := joinedOperator(t, s, people, tn)
	phone := "+1 212 555 0181"
	rider, err := customer.Store.Create(ctx, tn, by,
		customer.Record{Customer: customer.Customer{FirstName: "Ava", LastName: "Thompson", Email: "r@metro.example",
			Phone: &phone}}, "")
	if err != nil {
		t.Fatal(err)
	}
	drv, err := driver.Create(ctx, tn, by,
		driver.Record{Driver: driver.Driver{FirstName: "Maya", LastName: "Okafor", Email: "d@metro.example",
			Status: "ONLINE"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, token, want string }{
		{"operator", asOperator, `{"actor":"dashboard","id":"` + operator.ID +
			`","firstName":"Grace","lastName":"Bennett","email":"op@metro.example","membership":{"tenantId":"` +
			metro.ID + `","tenantSlug":"metro","tenantName":"Metro Rides","role":"owner","permissions":["VIEW_DRIVERS",` +
			`"VIEW_TRIPS"]}}`},
		{"rider", s.Token(tn, authz.Rider, rider.ID), `{"actor":"rider","id":"` + rider.ID +
			`","firstName":"Ava","lastName":"Thompson","email":"r@metro.example","phone":"+1 212 555 0181","totalTrips":0,` +
			`"rating":null}`},
		{"driver", s.Token(tn, authz.Driver, drv.ID), `{"actor":"driver","id":"` + drv.ID +
			`","firstName":"Maya","lastName":"Okafor","email":"d@metro.example","phone":null,"photoUrl":null,` +
			`"status":"ONLINE","rating":null,"totalTrips":0,"vehiclePlate":null,"vehicleModel":null,"vehicleColor":null,` +
			`"currentLat":null,"currentLng":null,"locationUpdatedAt":null}`},
	}
	wire.Rounds(true)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := s.Want(http.StatusOK, nil, "GET", "/api/v1/me", tc.token, "")
			if diff := cmp.Diff(tc.want, a.Body); diff != "" {
				t.Error(diff)
			}
			if used := s.Last().Usage; used.Sequential != 1 {
				t.Errorf("%d round trips in sequence", used.Sequential)
			}
		})
	}
	if err := people.Leave(ctx, tn, by, operator.ID); err != nil {
		t.Fatal(err)
	}
	s.Want(http.StatusUnauthorized, nil, "GET", "/api/v1/me", asOperator, "")
}

// TestPatchMe: a rider changes name and phone and nothing else. The name that
// operators see follows, unless somebody chose another.
func TestPatchMe(t *testing.T) {
	db := testkit.Table(t)
	s := apitest.New(t, db, profile.Rows(person.Store{DB: db})...)
	tn := s.Tenant("USD", 1)
	made, err := customer.Store.Create(t.Context(), tn, audit.By{Who: "svc:test", At: apitest.Start}, customer.Record{
		Customer: customer.Customer{FirstName: "Ava", LastName: "Thompson", Email: "ava@metro.example"}}, "")
	testkit.Must(t, err)
	token := s.Token(tn, authz.Rider, made.ID)
	var got profile.RiderProfile
	s.Want(http.StatusOK, &got, "PATCH", "/api/v1/me", token, `{"lastName":"Kim","phone":"+1 212 555 0191"}`)
	if got.FirstName != "Ava" || got.LastName != "Kim" || *got.Phone != "+1 212 555 0191" || got.Email != made.Email {
		t.Errorf("changed %+v", got)
	}
	if used := s.Last().Usage; used.Sequential != 2 {
		t.Errorf("%d round trips in sequence", used.Sequential)
	}
	r, err := customer.Store.ByID(t.Context(), tn, made.ID)
	if testkit.Must(t, err); r.Name != "Ava Kim" {
		t.Errorf("operators see %q", r.Name)
	}
	s.Want(http.StatusOK, &got, "PATCH", "/api/v1/me", token, `{"phone":null,"firstName":null}`)
	if got.Phone != nil || got.FirstName != "" || got.LastName != "Kim" {
		t.Errorf("cleared %+v", got)
	}
	for _, body := range []string{`{"lastName":null}`, `{"email":"x@y.example"}`, `{"rating":5}`, `{"phone":"me"}`} {
		s.Want(http.StatusBadRequest, nil, "PATCH", "/api/v1/me", token, body)
	}
	_, err = customer.Store.Change(t.Context(), tn, audit.By{Who: "svc:test", At: apitest.Start}, made.ID,
		func(r *customer.Record) error { r.Disabled = true; return nil })
	testkit.Must(t, err)
	s.Want(http.StatusUnauthorized, nil, "PATCH", "/api/v1/me", token, `{"lastName":"B"}`)
}

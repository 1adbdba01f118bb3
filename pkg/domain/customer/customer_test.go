package customer_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
)

func add(t *testing.T, tn table.Tenant, n int) customer.Record {
	t.Helper()
	by := audit.By{Who: "svc:test", At: apitest.Start.Add(time.Duration(n) * time.Second)}
	r, err := customer.Store.Create(t.Context(), tn, by,
		customer.Record{Customer: customer.Customer{FirstName: "Ana", LastName: fmt.Sprint("N", n),
			Email: fmt.Sprintf("ana%d@metro.example", n)}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestList(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), customer.Rows()...)
	tn := s.Tenant("USD", 3)
	token := s.Token(tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_CUSTOMERS")
	var want, got []customer.Customer
	for n := range 7 {
		want = append([]customer.Customer{add(t, tn, n).Customer}, want...)
	}
	add(t, s.Tenant("EUR", 1), 99)
	for cursor := ""; ; {
		var p struct {
			Items      []customer.Customer
			NextCursor *string `json:"next_cursor"`
		}
		s.Want(http.StatusOK, &p, "GET", "/api/v1/customers?limit=3"+cursor, token, "")
		got = append(got, p.Items...)
		if p.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *p.NextCursor
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	a := s.Want(http.StatusOK, nil, "GET", "/api/v1/customers?limit=1", token, "")
	item := `{"id":"` + want[0].ID +
		`","name":"Ana N6","firstName":"Ana","lastName":"N6","email":"ana6@metro.example","phone":null,"totalTrips":0,` +
		`"rating":null,"createdAt":"2026-03-01T12:00:06.000Z"}`
	if len(a.Body) < len(item)+10 || a.Body[10:10+len(item)] != item {
		t.Errorf("%s", a.Body)
	}
	for _, query := range []string{"limit=0", "limit=201", "cursor=abc", "status=x", "limit="} {
		if a := s.Do("GET", "/api/v1/customers?"+query, token, ""); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}

func TestRecord(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), customer.Rows()...)
	tn := s.Tenant("USD", 2)
	by := audit.By{Who: "svc:test", At: apitest.Start}
	ana, bob := add(t, tn, 1), add(t, tn, 2)
	if _, err := customer.Store.Change(t.Context(), tn, by, bob.ID,
		func(r *customer.Record) error { r.Email = ana.Email; return nil }); !errors.Is(err, login.ErrTaken) {
		t.Errorf("a taken address: %v", err)
	}
	for name, change := range map[string]func(*customer.Record){
		"address": func(r *customer.Record) { r.Email = "nobody" },
		"name":    func(r *customer.Record) { r.Name, r.FirstName, r.LastName = "", "", "" },
		"rating":  func(r *customer.Record) { n := money.Amount("5.1"); r.Rating = &n },
	} {
		if _, err := customer.Store.Change(t.Context(), tn, by, ana.ID,
			func(r *customer.Record) error { change(r); return nil }); err == nil {
			t.Errorf("accepted a wrong %s", name)
		}
	}
	phone := "+1 212 555 0181"
	now, err := customer.Store.Change(t.Context(), tn, by, ana.ID, func(r *customer.Record) error {
		r.Phone, r.Name, r.Disabled, r.ID, r.CreatedAt = &phone, "Ana the First", true, "x", "y"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := ana
	want.Phone, want.Name, want.Disabled = &phone, "Ana the First", true
	if diff := cmp.Diff(want, now); diff != "" {
		t.Error(diff)
	}
	if read, err := customer.Store.ByID(t.Context(), tn, ana.ID); err != nil || cmp.Diff(want, read) != "" {
		t.Errorf("%+v, %v", read, err)
	}
	if l, err := login.Find(t.Context(), tn, authz.Rider, ana.Email); err != nil || !l.Disabled {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := customer.Store.ByID(t.Context(), s.Tenant("EUR", 1), ana.ID); !errors.Is(err, fault.NotFound()) {
		t.Errorf("from another tenant: %v", err)
	}
	if entries, _, err := audit.List(t.Context(), tn, "", 10); err != nil || len(entries) != 3 {
		t.Errorf("%d audit entries, %v", len(entries), err)
	}
}

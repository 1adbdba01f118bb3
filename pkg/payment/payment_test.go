package payment_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/api/apitest"
	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/local/testkit"
	"svc/pkg/payment"
	"svc/pkg/table"
)

const path = "/api/v1/me/payment-methods"

func by(after time.Duration) audit.By {
	return audit.By{Who: "svc:test", At: apitest.Start.Add(after)}
}

func rider(t *testing.T, s *apitest.Stand, tn table.Tenant) (id, token string) {
	t.Helper()
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "R", CreatedAt: "2026-01-01T00:00:00.000Z"}}
	if err := tn.Load(t.Context(), customer.Item(tn, r, 1)); err != nil {
		t.Fatal(err)
	}
	return r.ID, s.Token(tn, authz.Rider, r.ID)
}

func card(last4 string) payment.Method {
	return payment.Method{Type: "CARD", Brand: "Visa", Last4: last4, ExpMonth: 4, ExpYear: 2030}
}

func TestMethods(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	tn := s.Tenant("USD", 1)
	id, token := rider(t, s, tn)
	if a := s.Want(http.StatusOK, nil, "GET", path, token, ""); a.Body != `{"items":[]}` {
		t.Errorf("none: %s", a.Body)
	}
	var made []payment.Method
	for i, last4 := range []string{"0001", "0002", "0003"} {
		m, err := payment.Add(t.Context(), tn, by(time.Duration(i)*time.Second), id, card(last4))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, m)
	}
	check := func(step string, want ...string) {
		t.Helper()
		var got struct{ Items []payment.Method }
		s.Want(http.StatusOK, &got, "GET", path, token, "")
		var order []string
		for i, m := range got.Items {
			order = append(order, m.Last4)
			if m.IsDefault != (i == 0) {
				t.Errorf("%s: default: %+v", step, got.Items)
			}
		}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	check("the first is the default", "0001", "0003", "0002")
	if _, err := payment.Set(t.Context(), tn, by(time.Minute), id, made[1].ID, func(m *payment.Method) error { m.IsDefault = true; return nil }); err != nil {
		t.Fatal(err)
	}
	check("another default", "0002", "0003", "0001")
	if _, err := payment.Set(t.Context(), tn, by(time.Minute), id, made[1].ID, func(m *payment.Method) error { m.IsDefault = false; return nil }); err == nil {
		t.Error("the default was taken away")
	}
	a := s.Want(http.StatusOK, nil, "GET", path, token, "")
	want := `{"items":[{"id":"` + made[1].ID + `","type":"CARD","brand":"visa","last4":"0002","expMonth":4,"expYear":2030,"isDefault":true,"createdAt":"2026-03-01T12:00:01.000Z"},`
	if !strings.HasPrefix(a.Body, want) {
		t.Error(cmp.Diff(want, a.Body))
	}
	other, otherToken := rider(t, s, tn)
	if a := s.Want(http.StatusOK, nil, "GET", path, otherToken, ""); a.Body != `{"items":[]}` {
		t.Errorf("another rider sees %s", a.Body)
	}
	if _, err := payment.Set(t.Context(), tn, by(0), other, made[0].ID, func(*payment.Method) error { return nil }); !errors.Is(err, fault.NotFound()) {
		t.Errorf("another rider's: %v", err)
	}
	for name, change := range map[string]func(*payment.Method){
		"a whole number": func(m *payment.Method) { m.Last4 = "4242424242424242" }, "letters": func(m *payment.Method) { m.Last4 = "42x2" },
		"month": func(m *payment.Method) { m.ExpMonth = 13 }, "year": func(m *payment.Method) { m.ExpYear = 30 }, "brand": func(m *payment.Method) { m.Brand = "" },
	} {
		m := card("4242")
		change(&m)
		if _, err := payment.Add(t.Context(), tn, by(0), id, m); err == nil {
			t.Errorf("accepted %s", name)
		}
	}
}

// Of many that become the default at once, one is.
func TestDefaultRace(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	tn := s.Tenant("USD", 1)
	id, _ := rider(t, s, tn)
	var made []payment.Method
	for range 5 {
		m, err := payment.Add(t.Context(), tn, by(0), id, card("4242"))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, m)
	}
	var wg sync.WaitGroup
	for _, m := range made {
		wg.Go(func() {
			if _, err := payment.Set(t.Context(), tn, by(0), id, m.ID, func(m *payment.Method) error { m.IsDefault = true; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := payment.List(t.Context(), tn, id)
	n := 0
	for _, m := range all {
		if m.IsDefault {
			n++
		}
	}
	if err != nil || n != 1 {
		t.Errorf("%d defaults, %v", n, err)
	}
}

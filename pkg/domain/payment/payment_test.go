package payment_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/payment"
)

const path = "/api/v1/me/payment-methods"

func by(after time.Duration) audit.By {
	return audit.By{Who: "svc:test", At: apitest.Start.Add(after)}
}

func rider(t *testing.T, s *apitest.Stand, tn table.Tenant) (id, token string) {
	t.Helper()
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "R",
		CreatedAt: "2026-01-01T00:00:00.000Z"}}
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
	if _, err := payment.Set(t.Context(), tn, by(time.Minute), id, made[1].ID,
		func(m *payment.Method) error { m.IsDefault = true; return nil }); err != nil {
		t.Fatal(err)
	}
	check("another default", "0002", "0003", "0001")
	if _, err := payment.Set(t.Context(), tn, by(time.Minute), id, made[1].ID,
		func(m *payment.Method) error { m.IsDefault = false; return nil }); err == nil {
		t.Error("the default was taken away")
	}
	a := s.Want(http.StatusOK, nil, "GET", path, token, "")
	want := `{"items":[{"id":"` + made[1].ID +
		`","type":"CARD","brand":"visa","last4":"0002","expMonth":4,"expYear":2030,"isDefault":true,` +
		`"createdAt":"2026-03-01T12:00:01.000Z"},`
	if !strings.HasPrefix(a.Body, want) {
		t.Error(cmp.Diff(want, a.Body))
	}
	other, otherToken := rider(t, s, tn)
	if a := s.Want(http.StatusOK, nil, "GET", path, otherToken, ""); a.Body != `{"items":[]}` {
		t.Errorf("another rider sees %s", a.Body)
	}
	if _, err := payment.Set(t.Context(), tn, by(0), other, made[0].ID,
		func(*payment.Method) error { return nil }); !errors.Is(err, fault.NotFound()) {
		t.Errorf("another rider's: %v", err)
	}
}

func TestRefusedMethods(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	tn := s.Tenant("USD", 1)
	id, _ := rider(t, s, tn)
	for name, change := range map[string]func(*payment.Method){
		"a full number": func(m *payment.Method) { m.Last4 = "4242424242424242" },
		"letters":       func(m *payment.Method) { m.Last4 = "42x2" },
		"month":         func(m *payment.Method) { m.ExpMonth = 13 }, "year": func(m *payment.Method) { m.ExpYear = 30 },
		"brand": func(m *payment.Method) { m.Brand = "" },
	} {
		m := card("4242")
		change(&m)
		if _, err := payment.Add(t.Context(), tn, by(0), id, m); err == nil {
			t.Errorf("accepted %s", name)
		}
	}
}

// If many methods become the default concurrently, exactly one is the default.
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
			if _, err := payment.Set(t.Context(), tn, by(0), id, m.ID,
				func(m *payment.Method) error { m.IsDefault = true; return nil }); err != nil {
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

// If two first payment methods are added concurrently, exactly one is the
// default. The result is the same if one method is added as the default while a
// different one becomes the default.
func TestFirstMethodsRace(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	tn := s.Tenant("USD", 1)
	for range 20 {
		id, _ := rider(t, s, tn)
		race := func(do ...func() error) {
			t.Helper()
			var wg sync.WaitGroup
			for _, one := range do {
				wg.Go(func() {
					if err := one(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			all, err := payment.List(t.Context(), tn, id)
			if err != nil || !all[0].IsDefault || slices.ContainsFunc(all[1:],
				func(m payment.Method) bool { return m.IsDefault }) {
				t.Errorf("not one default: %+v, %v", all, err)
			}
		}
		add := func(m payment.Method) func() error {
			return func() error {
				_, err := payment.Add(t.Context(), tn, by(0), id, m)
				return err
			}
		}
		race(add(card("0001")), add(card("0002")))
		all, err := payment.List(t.Context(), tn, id)
		if err != nil {
			t.Fatal(err)
		}
		third := card("0003")
		third.IsDefault = true
		race(add(third), func() error {
			_, err := payment.Set(t.Context(), tn, by(0), id, all[1].ID,
				func(m *payment.Method) error { m.IsDefault = true; return nil })
			return err
		})
	}
}

// A method that stops being the default keeps what a newer build has stored.
func TestNewerBuildsDataSurvives(t *testing.T) {
	tn, id := testkit.Table(t).Tenant(ids.New(ids.Tenant, apitest.Start)), ids.New(ids.Customer, apitest.Start)
	first, err := payment.Add(t.Context(), tn, by(0), id, card("0001"))
	testkit.Must(t, err)
	second, err := payment.Add(t.Context(), tn, by(0), id, card("0002"))
	testkit.Must(t, err)
	tx := tn.Write()
	tx.Update(payment.Key(tn, id, first.ID), table.Change{Set: map[string]any{"newer": "attribute"}})
	testkit.Must(t, tx.Commit(t.Context()))
	_, err = payment.Set(t.Context(), tn, by(0), id, second.ID, func(m *payment.Method) error {
		m.IsDefault = true
		return nil
	})
	testkit.Must(t, err)
	it, err := tn.Get(t.Context(), payment.Key(tn, id, first.ID))
	testkit.Must(t, err)
	if m, err := payment.Kind.FromItem(it); err != nil || m.IsDefault || it.Text("newer") != "attribute" {
		t.Errorf("%+v, %v, newer %q", m, err, it.Text("newer"))
	}
}

// visa returns the request that adds a card with the provider's token.
func visa(token string) string {
	return `{"token":"` + token + `","brand":"Visa","last4":"4242","expMonth":4,"expYear":2030}`
}

// TestNoCardNumbers: a card number is no token, and the error does not repeat it.
func TestNoCardNumbers(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	_, token := rider(t, s, s.Tenant("USD", 1))
	for _, number := range []string{"4242424242424242", "4242 4242 4242 4242", "card 4242-4242-4242-4242.",
		"6011000990139424", "378282246310005", "6304000000000000018", "x4242424242424242x"} {
		a := s.Want(http.StatusBadRequest, nil, "POST", path, token, visa(number))
		if !strings.Contains(a.Body, "body.token") || strings.Contains(a.Body, "4242") {
			t.Errorf("%s: %s", number, a.Body)
		}
	}
}

// TestOwnMethods: a rider adds a provider's token, chooses the default and removes
// methods.
func TestOwnMethods(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	testkit.InRounds(t, s.DB)
	tn := s.Tenant("USD", 1)
	id, token := rider(t, s, tn)
	var first, second payment.Method
	a := s.Want(http.StatusCreated, &first, "POST", path, token, visa("pm_4242424242424241"))
	if !first.IsDefault || first.Brand != "visa" || strings.Contains(a.Body, "pm_") {
		t.Errorf("first %s", a.Body)
	}
	if used := s.Last().Usage; used.Sequential != 2 {
		t.Errorf("%d round trips in sequence", used.Sequential)
	}
	s.Advance(time.Second)
	s.Want(http.StatusCreated, &second, "POST", path, token, visa("tok_secret"))
	it, err := tn.Get(t.Context(), payment.Key(tn, id, second.ID))
	if testkit.Must(t, err); it.Text("token") != "tok_secret" || second.IsDefault {
		t.Errorf("stored token %q, %+v", it.Text("token"), second)
	}
	s.Want(http.StatusOK, &second, "PATCH", path+"/"+second.ID, token, `{"isDefault":true}`)
	s.Want(http.StatusBadRequest, nil, "PATCH", path+"/"+second.ID, token, `{"isDefault":false}`)
	if it, err = tn.Get(t.Context(), payment.Key(tn, id, second.ID)); err != nil || it.Text("token") != "tok_secret" {
		t.Errorf("the token is lost: %v", err)
	}
	methods := func() (ids []string) {
		var list struct{ Items []payment.Method }
		s.Want(http.StatusOK, &list, "GET", path, token, "")
		for i, m := range list.Items {
			if m.IsDefault != (i == 0) {
				t.Errorf("%d is default: %t", i, m.IsDefault)
			}
			ids = append(ids, m.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{second.ID, first.ID}, methods()); diff != "" {
		t.Error(diff)
	}
	_, stranger := rider(t, s, tn)
	s.Want(http.StatusNotFound, nil, "DELETE", path+"/"+second.ID, stranger, "")
	s.Want(http.StatusNotFound, nil, "PATCH", path+"/"+second.ID, stranger, `{"isDefault":true}`)
	s.Want(http.StatusOK, nil, "DELETE", path+"/"+second.ID, token, "")
	s.Want(http.StatusNotFound, nil, "DELETE", path+"/"+second.ID, token, "")
	if diff := cmp.Diff([]string{first.ID}, methods()); diff != "" {
		t.Error(diff)
	}
	entries, _, err := audit.List(t.Context(), tn, "", 20)
	testkit.Must(t, err)
	for _, e := range entries {
		if strings.Contains(string(e.Before)+string(e.After), "tok_secret") {
			t.Error("the audit log has the token")
		}
	}
}

// TestOwnMethodsRace: whatever removals and choices cross, one method is the
// default.
func TestOwnMethodsRace(t *testing.T) {
	s := apitest.New(t, testkit.Table(t), payment.Rows()...)
	tn := s.Tenant("USD", 1)
	id, token := rider(t, s, tn)
	var made []payment.Method
	for i := range 6 {
		m, err := payment.Add(t.Context(), tn, by(time.Duration(i)*time.Second), id, card("0001"))
		testkit.Must(t, err)
		made = append(made, m)
	}
	var group sync.WaitGroup
	for i, m := range made {
		group.Go(func() {
			if i%2 == 0 {
				s.Insist("DELETE", path+"/"+m.ID, token, "")
			} else {
				s.Insist("PATCH", path+"/"+m.ID, token, `{"isDefault":true}`)
			}
		})
	}
	group.Wait()
	all, err := payment.List(t.Context(), tn, id)
	testkit.Must(t, err)
	defaults := 0
	for _, m := range all {
		if m.IsDefault {
			defaults++
		}
	}
	if len(all) != 3 || defaults != 1 {
		t.Errorf("%d methods, %d defaults", len(all), defaults)
	}
}

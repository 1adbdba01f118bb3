package main

import (
	"strings"
	"testing"

	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/folder"
	"svc/pkg/local/testkit"
)

// svc reads a rider's phone by the tenant's country, and svc rebuild reads the
// phones that an older build stored.
func TestPhonesAreReadAsNumbers(t *testing.T) {
	t.Parallel()
	w := start(t)
	running, err := folder.Find(t.Context(), w.data)
	testkit.Must(t, err)
	db, err := table.Open(t.Context(), table.Options{Table: running.Table, Endpoint: running.Endpoint})
	testkit.Must(t, err)
	n, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	metro := db.Tenant(n.ID)
	number := func(email string) string {
		r, err := customer.Find(t.Context(), metro, email)
		testkit.Must(t, err)
		if r.Number == nil {
			return ""
		}
		return r.Number.E164 + " " + r.Number.National
	}
	w.ok("tenant", "set", "metro", "--country", "de")
	w.ok("rider", "add", "metro", "neu@x.example", "--first", "Neu", "--phone", "0151 12345678")
	if got := number("neu@x.example"); got != "4915112345678 015112345678" {
		t.Errorf("added: %q", got)
	}
	r, err := customer.Find(t.Context(), metro, "neu@x.example")
	testkit.Must(t, err)
	_, err = customer.Change(t.Context(), metro, by(), r.ID, func(r *customer.Record) error { // as an older build does
		other := "0171 2345678"
		r.Phone = &other
		return nil
	})
	testkit.Must(t, err)
	if got := number("neu@x.example"); got != "" {
		t.Errorf("the number of the phone before: %q", got)
	}
	w.ok("rebuild", "metro")
	if got := number("neu@x.example"); got != "491712345678 01712345678" {
		t.Errorf("after the rebuild: %q", got)
	}
	_, errs, code := w.run("tenant", "set", "metro", "--country", "Germany")
	if code == 0 || !strings.Contains(errs, "as in DE") {
		t.Errorf("a country's name: %d %s", code, errs)
	}
}

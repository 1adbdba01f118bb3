package main

import (
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
)

// svc reads a rider's phone by the tenant's country.
func TestPhonesAreReadAsNumbers(t *testing.T) {
	t.Parallel()
	w := start(t)
	db := w.opened()
	metro := w.handleOf(db, "metro")
	number := func(email string) string {
		r, err := customer.Store.Find(t.Context(), metro, email)
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
	_, errs, code := w.run("tenant", "set", "metro", "--country", "Germany")
	if code == 0 || !strings.Contains(errs, "as in DE") {
		t.Errorf("a country's name: %d %s", code, errs)
	}
}

// awaitNumber waits until the stream has stored the number of the item's phone.
func awaitNumber(t *testing.T, metro table.Tenant, key table.Key, want string) {
	t.Helper()
	for {
		it, err := metro.Get(t.Context(), key)
		testkit.Must(t, err)
		var has struct {
			Phone  string       `json:"phone"`
			Number phone.Number `json:"number"`
		}
		testkit.Must(t, it.Decode(&has))
		if has.Number.E164 == want && has.Number.Typed == has.Phone {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s has %+v instead of %s", it.Type, has, want)
		}
		testkit.Sleep(t.Context(), 20*time.Millisecond)
	}
}

// TestNumbersFollowPhones: if a program without numbering plans adds or changes somebody,
// the stream stores the number beside the phone. After a change of the country, svc
// rebuild stores the new numbers.
func TestNumbersFollowPhones(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	db := w.opened()
	metro := w.handleOf(db, "metro")
	w.ok("tenant", "set", "metro", "--country", "de")
	typed := func(s string) *string { return &s }
	rider, err := customer.Store.Create(t.Context(), metro, cli.By(), customer.Record{Customer: customer.Customer{
		FirstName: "Neu", Email: "neu@x.example", Phone: typed("0151 12345678")}}, "")
	testkit.Must(t, err)
	drv, err := driver.Create(t.Context(), metro, cli.By(), driver.Record{Driver: driver.Driver{
		FirstName: "Neu", Email: "neu@y.example", Phone: typed("(030) 901820 ext. 7")}}, "")
	testkit.Must(t, err)
	shop, err := delivery.AddBusiness(t.Context(), metro, cli.By(), delivery.Business{Name: "Neu", Category: "kiosk",
		Address: "Here 1", Lat: "1", Lng: "1", Phone: typed("0049 30 901821"), Active: true})
	testkit.Must(t, err)
	await := func(key table.Key, want string) {
		t.Helper()
		awaitNumber(t, metro, key, want)
	}
	riderKey, driverKey, shopKey := customer.Key(metro, rider.ID), driver.Key(metro, drv.ID),
		delivery.BusinessKey(metro, shop.ID)
	await(riderKey, "4915112345678")
	await(driverKey, "4930901820")
	await(shopKey, "4930901821")
	before, err := metro.Get(t.Context(), driverKey)
	testkit.Must(t, err)
	if before.Version != 1 {
		t.Errorf("the number made version %d of a driver who has not changed", before.Version)
	}
	_, err = driver.Store.Change(t.Context(), metro, cli.By(), drv.ID, func(r *driver.Record) error {
		r.Phone = typed("0171 2345678")
		return nil
	})
	testkit.Must(t, err)
	_, err = customer.Store.Change(t.Context(), metro, cli.By(), rider.ID, func(r *customer.Record) error {
		r.Phone = typed("0171 2345679")
		return nil
	})
	testkit.Must(t, err)
	await(driverKey, "491712345678")
	await(riderKey, "491712345679")
	w.ok("tenant", "set", "metro", "--country", "at")
	w.ok("rebuild", "metro")
	await(driverKey, "431712345678")
	await(riderKey, "431712345679")
	await(shopKey, "4930901821")
}

package receipt_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// TestMain discards the log, because tests cause failures.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// world is a tenant with a driver, a rider and operators.
type world struct {
	*apitest.Stand
	t             testing.TB
	tenant        table.Tenant
	driver, rider string            // ids
	tokens        map[string]string // by id; the operator's is ""
	made          int
}

func newWorld(t testing.TB, currency string) *world {
	t.Helper()
	return newWorldOn(t, testkit.Table(t), currency)
}

// newWorldInRounds returns a world whose round trips can be counted (testkit.Wire.Rounds).
func newWorldInRounds(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, "USD")
	testkit.InRounds(t, w.DB)
	return w
}

func newWorldOn(t testing.TB, db *table.DB, currency string) *world {
	t.Helper()
	rows := append(receipt.WalletRows(), append(receipt.TripRows(), wallet.Rows()...)...)
	stand := apitest.New(t, db, append(rows, trip.Rows()...)...)
	w := &world{Stand: stand, t: t, tenant: stand.Tenant(currency, 1), tokens: map[string]string{},
		driver: ids.New(ids.Driver, apitest.Start), rider: ids.New(ids.Customer, apitest.Start)}
	w.people(w.driver, w.rider)
	w.load(table.Item{Key: tenant.Key(w.tenant), Type: "tenant", Doc: tenant.Tenant{Timezone: "UTC"}})
	w.tokens[""] = stand.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "MANAGE_WALLETS",
		"VIEW_WALLETS", "VIEW_TRIPS")
	return w
}

func (w *world) people(d, c string) {
	w.t.Helper()
	w.load(driver.Item(w.tenant, driver.Record{Driver: driver.Driver{ID: d, FirstName: "Dana", LastName: "Drive",
		Email: "d@x.example", Status: driver.Online}}, 1),
		customer.Item(w.tenant, customer.Record{Customer: customer.Customer{ID: c, Name: "Rae Ride", FirstName: "Rae",
			LastName: "Ride", Email: "r@x.example", CreatedAt: timestamp.Format(apitest.Start)}}, 1))
	w.tokens[d], w.tokens[c] = w.Token(w.tenant, authz.Driver, d), w.Token(w.tenant, authz.Rider, c)
}

func (w *world) load(items ...table.Item) {
	w.t.Helper()
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), items...))
}

// completed stores a completed trip that is not settled. A fare of "" is none.
func (w *world) completed(payment, fare string) trip.Trip {
	w.t.Helper()
	w.made++
	at := timestamp.Format(w.Now())
	tr := trip.Trip{ID: ids.New(ids.Trip, w.Now()), TripCode: ids.Code(), Status: trip.Completed, DriverID: &w.driver,
		CustomerID: w.rider, OriginAddress: "a", OriginLat: "1", OriginLng: "2", PaymentType: payment,
		Currency: w.currency(), RequestedAt: at, AcceptedAt: &at, ArrivedAt: &at, StartedAt: &at, CompletedAt: &at,
		UpdatedAt: at, Version: 5, CommissionRate: ptr(money.Amount("0.175"))}
	if fare != "" {
		tr.FinalFare = ptr(money.Amount(fare))
	}
	w.load(tr.Item(w.tenant, 1))
	return tr
}

// settled stores a completed trip and settles it.
func (w *world) settled(payment, fare string) trip.Trip {
	w.t.Helper()
	tr := w.completed(payment, fare)
	if done, err := receipt.Settle(w.t.Context(), w.tenant, tr, w.Now()); err != nil || !done {
		w.t.Fatalf("settle: %v, %v", done, err)
	}
	return tr
}

func (w *world) currency() string {
	it, err := w.tenant.Get(w.t.Context(), authz.FlagsKey(w.tenant, 0))
	testkit.Must(w.t, err)
	return it.Text("currency")
}

// post posts to a wallet as the operator.
func (w *world) post(actor, kind, amount string, more ...string) apitest.Answer {
	name := "customerId"
	if strings.HasPrefix(actor, ids.Driver) {
		name = "driverId"
	}
	return w.Insist("POST", "/api/v1/wallets/postings", w.tokens[""], fmt.Sprintf(
		`{%q: %q, "type": %q, "amount": %s, "description": "Test"%s}`, name, actor, kind, amount, strings.Join(more, "")))
}

func (w *world) side(actor string) wallet.Side {
	if strings.HasPrefix(actor, ids.Driver) {
		return wallet.Driver
	}
	return wallet.Customer
}

// balance returns an actor's balance. It fails the test unless the balance is
// the sum of the postings.
func (w *world) balance(actor string) string {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), wallet.Key(w.tenant, w.side(actor), actor))
	testkit.Must(w.t, err)
	sum := decimal.Zero
	for items, err := range w.tenant.Pages(w.t.Context(), it.PK, table.Query{Prefix: "POSTING#", Limit: 500,
		Consistent: true}) {
		testkit.Must(w.t, err)
		for _, one := range items {
			var e wallet.Entry
			testkit.Must(w.t, one.Decode(&e))
			sum = sum.Add(e.Amount.Decimal())
		}
	}
	if !it.Found() {
		return "none"
	}
	have, err := wallet.FromItem(it)
	testkit.Must(w.t, err)
	if !have.Balance.Equal(sum) {
		w.t.Errorf("the balance of %s is %s, its postings add up to %s", actor, have.Balance, sum)
	}
	return have.Balance.String()
}

func settle(w *world, tr trip.Trip) error {
	_, err := receipt.Settle(w.t.Context(), w.tenant, tr, w.Now())
	return err
}

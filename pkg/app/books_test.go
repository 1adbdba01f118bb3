package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/apptest"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/report"
	statements "svc/pkg/domain/statement"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
)

// books is an accountant's view of a company across the end of a month.
type books struct {
	*suite
	t                    *testing.T
	rider, driver, fleet string // tokens
	service              string
	trips                []string
}

func sum(all ...money.Amount) (out decimal.Decimal) {
	for _, n := range all {
		out = out.Add(n.Decimal())
	}
	return out
}

func (b *books) same(what string, got, want decimal.Decimal) {
	b.t.Helper()
	if !got.Equal(want) {
		b.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// begin requests a ride and takes it to the road.
func (b *books) begin(payment string) string {
	b.t.Helper()
	id := b.Ride(b.t, b.rider, b.driver,
		script.Ride{Asks: fmt.Sprintf(`"paymentType":%q,"serviceTypeId":%q`, payment, b.service)}, "request", "accept")
	b.trips = append(b.trips, id)
	return id
}

func (b *books) end(id, fare string) {
	b.t.Helper()
	b.Ride(b.t, "", b.driver, script.Ride{ID: id, Fare: fare}, script.Steps[2:]...)
	b.Drain(b.t)
}

func (b *books) post(member, actor, kind, amount, more string) {
	b.t.Helper()
	b.Post(b.t, b.fleet, "/api/v1/wallets/postings", fmt.Sprintf(`{%q:%q,"type":%q,"amount":%s,"description":"x"%s}`,
		member, actor, kind, amount, more)).Must(b.t, 201)
}

// TestBooksAcrossMidnight: rides, fees, corrections, refunds and withdrawals before and
// after the end of a month in the company's zone. Postings, balances, receipts, statements
// and reports agree to the cent, and what happens later does not move an earlier posting.
func TestBooksAcrossMidnight(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	zone, err := time.LoadLocation("Australia/Lord_Howe") // daylight saving time is half an hour
	if err != nil {
		t.Fatal(err)
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Timezone = zone.String() })
	at := s.Clock.Now().In(zone)
	midnight := time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, zone)
	s.Clock.Advance(midnight.Add(-30 * time.Minute).Sub(s.Clock.Now()))
	b := &books{suite: s, t: t, rider: s.Token(t, s.actors[authz.Rider]), driver: s.Token(t, s.actors[authz.Driver]),
		fleet: s.Token(t, s.actors[authz.Dashboard])}
	b.service = s.ServiceType(t, "metro", "0.175")
	s.Patch(t, b.fleet, "/api/v1/settings", `{"pricing":{"chargeCancellation":true,"cancellationFee":4,"taxRate":0.1}}`).
		Must(t, 200)
	s.Clock.Advance(time.Minute)
	rider, driver := s.actors[authz.Rider].ID, s.actors[authz.Driver].ID
	for payment, fare := range map[string]string{"CASH": "10.01", "CARD": "20.02"} {
		b.end(b.begin(payment), fare)
	}
	typo := b.begin("WALLET")
	b.end(typo, "300.3")
	s.Post(t, b.rider, "/api/v1/me/trips/"+b.begin("CARD")+"/cancel", "").Must(t, 200)
	crossing := b.begin("CARD")
	b.post("customerId", rider, "REFUND", "5", `,"tripId":"`+typo+`"`)
	s.Drain(t)
	asked := apptest.JSON[wallet.Withdrawal](t, s.Post(t, b.driver, "/api/v1/me/wallet/withdrawals", `{"amount":11.5}`).
		Must(t, 201)).ID

	s.Clock.Advance(midnight.Add(5 * time.Minute).Sub(s.Clock.Now()))
	s.Post(t, b.fleet, "/api/v1/trips/"+typo+"/fare", `{"finalFare":30.03,"reason":"A typo"}`).Must(t, 200)
	b.end(crossing, "7.77")
	s.Post(t, b.fleet, "/api/v1/withdrawals/"+asked+"/pay", "").Must(t, 200)
	b.post("driverId", driver, "PAYOUT", "3", "")
	b.post("driverId", driver, "ADJUSTMENT", "-0.01", "")
	b.post("customerId", rider, "REFUND", "0.03", `,"tripId":"`+typo+`"`)
	s.Drain(t)
	b.agree(midnight, map[string]string{rider: "customer", driver: "driver"})
}

// agree compares everything that an accountant can read.
func (b *books) agree(midnight time.Time, actors map[string]string) {
	t := b.t
	before, after := midnight.Add(-time.Hour), midnight
	day := func(at time.Time) report.Summary {
		date := at.Format(time.DateOnly)
		return apptest.JSON[report.Summary](t, b.Get(t, b.fleet, "/api/v1/reports/summary?from="+date+"&to="+date))
	}
	b.same("revenue before", sum(day(before).Revenue), sum("10.01", "20.02", "30.03"))
	b.same("revenue after", sum(day(after).Revenue), sum("7.77"))
	receipts, got, taxes := decimal.Zero, decimal.Zero, decimal.Zero // all totals, and what drivers got
	for _, id := range b.trips {
		r := apptest.JSON[receipt.Shown](t, b.Get(t, b.fleet, "/api/v1/trips/"+id+"/receipt").Must(t, 200))
		lines := decimal.Zero
		for _, line := range r.Lines {
			lines = lines.Add(line.Amount.Decimal())
		}
		b.same("lines of a receipt", lines, r.Total.Decimal())
		receipts, got = receipts.Add(lines), got.Add(r.Driver.Value.Amount.Decimal())
		taxes = taxes.Add(r.Tax.Value.Amount.Decimal())
	}
	b.same("receipts", receipts, sum("67.83", "4")) // revenue and the fee
	b.same("taxes", taxes, sum("1", "2", "3", "0.78", "0.4"))
	totals := apptest.JSON[struct {
		Drivers, Customers struct{ Balance money.Amount }
	}](t, b.Get(t, b.fleet, "/api/v1/wallets"))
	sides := map[string]money.Amount{"driver": totals.Drivers.Balance, "customer": totals.Customers.Balance}
	for actor, side := range actors {
		postings := apptest.JSON[struct{ Items []wallet.Entry }](t, b.Get(t, b.fleet,
			"/api/v1/wallets/postings?limit=200&"+side+"Id="+actor))
		posted := decimal.Zero
		for _, e := range postings.Items {
			posted = posted.Add(e.Amount.Decimal())
		}
		b.same("postings of the "+side, posted, sides[side].Decimal())
	}
	b.same("the rider", sum(sides["customer"]), sum("-30.03", "-4", "5", "0.03"))
	b.same("the driver", sum(sides["driver"]), got.Add(sum("-11.5", "-3", "-0.01")))
	month := func(at time.Time) statements.Statement {
		return apptest.JSON[statements.Statement](t, b.Get(t, b.driver, "/api/v1/me/statements/"+at.Format("2006-01")).
			Must(t, 200))
	}
	first, second := month(before), month(after)
	b.same("opening", second.OpeningBalance.Decimal(), first.ClosingBalance.Decimal())
	b.same("closing", second.ClosingBalance.Decimal(), sides["driver"].Decimal())
	b.same("fares of the statements", sum(first.Fares, second.Fares), receipts)
	b.same("fares of the first month as they were", sum(first.Fares), sum("10.01", "20.02", "300.3", "4"))
	b.same("earnings", sum(first.Earnings, second.Earnings), got)
	begins := midnight.UTC().Format("2006-01-02T15:04")
	if first.Rides != 4 || second.Rides != 1 || !strings.HasPrefix(second.From, begins) {
		t.Errorf("%d and %d rides; the month begins %s", first.Rides, second.Rides, second.From)
	}
}

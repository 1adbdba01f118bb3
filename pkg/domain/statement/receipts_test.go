package statement_test

import (
	"encoding/csv"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/statement"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// TestFaresAreThoseOfReceipts: in every month, fares, commission and outside are those
// of the receipts and their corrections, and the balances those of the ledger, in each
// form, whether or not a correction changes the driver's amount.
func TestFaresAreThoseOfReceipts(t *testing.T) {
	for _, currency := range []string{"USD", "JPY", "KWD"} {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(currency, " ", seed), func(t *testing.T) {
			w := newWorld(t, currency, "Europe/Berlin")
			rnd := rand.New(rand.NewPCG(seed, 0))
			var rides []trip.Trip
			for range 24 {
				w.Advance(time.Duration(rnd.IntN(120)) * time.Hour)
				w.op = w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, w.Now()), "MANAGE_WALLETS", "VIEW_WALLETS",
					"VIEW_TRIPS")
				rates := []string{"", "0", "1", "0.175", "0.5", "0.999"}
				rides = append(rides, w.ride(w.Now(), []string{"CASH", "CARD", "WALLET", ""}[rnd.IntN(4)], w.fare(rnd),
					rates[rnd.IntN(len(rates))]))
				if rnd.IntN(2) == 0 {
					rides = append(rides, w.fee(w.Now(), w.fare(rnd), rates[rnd.IntN(len(rates))]))
				}
				for range rnd.IntN(4) {
					w.Advance(time.Duration(1+rnd.IntN(1000)) * time.Second)
					if one := rides[rnd.IntN(len(rides))]; one.Status == trip.Completed {
						w.correct(one.ID, w.fare(rnd))
					}
				}
				w.post([]string{"TOP_UP", "ADJUSTMENT"}[rnd.IntN(2)], "7")
			}
			w.mine = w.Token(w.tenant, authz.Driver, w.driver)
			w.monthsAgree(rides)
			for it := range w.postings() { // builds up to 2026-11 made no posting of 0 for a correction
				var e wallet.Entry
				testkit.Must(t, it.Decode(&e))
				if e.By != nil && e.Amount == "0" && w.settledInMonthOf(rides, e) {
					tx := w.tenant.Write()
					tx.Delete(it.Key)
					testkit.Must(t, tx.Commit(t.Context()))
				}
			}
			w.monthsAgree(rides)
		})
	}
}

// fare returns a fare whose commission is often rounded to the same amount.
func (w *world) fare(rnd *rand.Rand) string {
	return string(money.Of(decimal.New(rnd.Int64N([]int64{4, 30, 20_000}[rnd.IntN(3)]), -money.Decimals(w.currency))))
}

// fee stores a ride that was cancelled for a fee at the time, and settles it.
func (w *world) fee(at time.Time, fee, rate string) trip.Trip {
	w.t.Helper()
	tr := w.unsettled(at, "CARD", "", rate)
	number := money.Amount(fee)
	tr.Status, tr.CompletedAt, tr.FinalFare, tr.CancellationFee = trip.Cancelled, nil, nil, &number
	return w.settle(tr, at)
}

// postings returns the items of the driver's postings.
func (w *world) postings() iter.Seq[table.Item] {
	return func(yield func(table.Item) bool) {
		key := wallet.Key(w.tenant, wallet.Driver, w.driver)
		for items, err := range w.tenant.Pages(w.t.Context(), key.PK, table.Query{Prefix: "POSTING#", Limit: 500,
			Consistent: true}) {
			testkit.Must(w.t, err)
			for _, it := range items {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// settledInMonthOf reports whether the trip of an entry was settled in the entry's month.
func (w *world) settledInMonthOf(rides []trip.Trip, e wallet.Entry) bool {
	i := slices.IndexFunc(rides, func(tr trip.Trip) bool { return tr.ID == *e.TripID })
	return w.monthOf(*rides[i].Charged().CompletedAt) == w.monthOf(e.CreatedAt)
}

func (w *world) monthOf(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	testkit.Must(w.t, err)
	zone, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(w.t, err)
	return at.In(zone).Format("2006-01")
}

// sums are what a statement says of one month.
type sums struct{ fares, outside, earnings decimal.Decimal }

// expected adds up receipts, their corrections and postings, by month.
func (w *world) expected(rides []trip.Trip) map[string]*sums {
	w.t.Helper()
	all := map[string]*sums{}
	of := func(at string) *sums {
		month := w.monthOf(at)
		if all[month] == nil {
			all[month] = &sums{}
		}
		return all[month]
	}
	add := func(at, payment string, fare decimal.Decimal) {
		s := of(at)
		s.fares = s.fares.Add(fare)
		if payment == "CASH" || payment == "" {
			s.outside = s.outside.Add(fare)
		}
	}
	for _, tr := range rides {
		versions, err := receipt.Earlier(w.t.Context(), w.tenant, tr.ID)
		testkit.Must(w.t, err)
		it, err := w.tenant.Get(w.t.Context(), receipt.Key(w.tenant, tr.ID))
		testkit.Must(w.t, err)
		newest, err := receipt.FromItem(it)
		testkit.Must(w.t, err)
		for i, v := range append(versions, newest) {
			if i == 0 {
				add(*v.CompletedAt, v.PaymentType, v.Total.Decimal())
				continue
			}
			add(v.IssuedAt, v.PaymentType, v.Total.Decimal().Sub(v.Correction.Was.Decimal()))
		}
	}
	for it := range w.postings() {
		var e wallet.Entry
		testkit.Must(w.t, it.Decode(&e))
		if s := of(e.CreatedAt); e.Type == wallet.TripPayment {
			s.earnings = s.earnings.Add(e.Amount.Decimal())
		}
	}
	return all
}

// monthsAgree compares each month's statement, as JSON and as a file, with what the
// receipts and the ledger say.
func (w *world) monthsAgree(rides []trip.Trip) {
	w.t.Helper()
	months := 0
	for month, want := range w.expected(rides) {
		months++
		got := w.month(month)
		commission := want.fares.Sub(want.outside).Sub(want.earnings)
		for name, pair := range map[string][2]decimal.Decimal{"fares": {got.Fares.Decimal(), want.fares},
			"outside": {got.Outside.Decimal(), want.outside}, "earnings": {got.Earnings.Decimal(), want.earnings},
			"commission": {got.Commission.Decimal(), commission}} {
			if !pair[0].Equal(pair[1]) {
				w.t.Errorf("%s: %s are %s, expected %s", month, name, pair[0], pair[1])
			}
		}
		w.fileAgrees(month, got)
	}
	if months < 2 {
		w.t.Errorf("only %d months", months)
	}
}

// fileAgrees adds up the columns of a statement's file.
func (w *world) fileAgrees(month string, s statement.Statement) {
	w.t.Helper()
	a := w.Want(200, nil, "GET", "/api/v1/me/statements/"+month, w.mine, "", "Accept", "text/csv")
	lines, err := csv.NewReader(strings.NewReader(a.Body)).ReadAll()
	testkit.Must(w.t, err)
	for name, want := range map[string]money.Amount{"fare": s.Fares, "commission": s.Commission, "outside": s.Outside} {
		column, sum := slices.Index(lines[0], name), decimal.Zero
		for _, line := range lines[1:] {
			if line[column] != "" {
				sum = sum.Add(money.Amount(line[column]).Decimal())
			}
		}
		if !sum.Equal(want.Decimal()) {
			w.t.Errorf("%s: the column %s adds up to %s, not %s", month, name, sum, want)
		}
	}
}

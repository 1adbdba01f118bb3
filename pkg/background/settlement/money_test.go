package settlement_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// books are the operators of a fixture's money.
type books struct {
	*fixture
	flags table.Item
}

func (p *fixture) books() books {
	it, err := p.tenant.Get(p.t.Context(), authz.FlagsKey(p.tenant, 0))
	testkit.Must(p.t, err)
	return books{p, it}
}

func commit(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }

func (b books) store() receipt.Store {
	return receipt.Store{Tenant: b.tenant, By: audit.By{Who: "svc:test", At: start.Add(time.Hour)}, Flags: b.flags,
		Commit: commit}
}

func (b books) till() wallet.Till {
	return wallet.Till{Tenant: b.tenant, By: audit.By{Who: "svc:test", At: start.Add(time.Hour)}, Flags: b.flags,
		Commit: commit}
}

// expected fails the test for an error that is not a 409.
func (b books) expected(err error) bool {
	if err != nil && !errors.Is(err, fault.InvalidState("")) && !errors.Is(err, &fault.Error{Kind: fault.KindBalance}) {
		b.t.Errorf("unexpected: %v", err)
	}
	return err == nil
}

// checked puts the wallets in their places, as the projection does, and checks the
// fixture.
func (b books) checked(correct bool) []reconcile.Difference {
	b.t.Helper()
	step := projection.Step{Now: func() time.Time { return start }}
	for _, actor := range append(slices.Clone(b.drivers), b.riders...) {
		for _, side := range wallet.Sides {
			_, err := step.Tenant(b.t.Context(), b.tenant, []table.Key{wallet.Key(b.tenant, side, actor)})
			testkit.Must(b.t, err)
		}
	}
	return b.fixture.checked(correct)
}

func (b books) correct(ctx context.Context, id, fare string) error {
	it, err := b.tenant.Get(ctx, trip.Key(b.tenant, id))
	if err == nil {
		_, err = b.store().Correct(ctx, it, receipt.Fare{FinalFare: money.Amount(fare), Reason: "A typo"})
	}
	return err
}

// account is an independent account of a fixture's money.
type account struct {
	books
	rnd            *rand.Rand
	want, refunded map[string]decimal.Decimal // by actor, by trip
	fares          map[string]*money.Amount
	settled        map[string]bool
	asked          []*wallet.Withdrawal
}

// count adds the entries of a trip to the balances, or takes them away.
func (a *account) count(tr trip.Trip, sign int64) {
	e, err := receipt.EntriesOf(tr)
	testkit.Must(a.t, err)
	for actor, amount := range map[string]*decimal.Decimal{*tr.DriverID: e.Driver, tr.CustomerID: e.Rider} {
		if amount != nil {
			a.want[actor] = a.want[actor].Add(amount.Mul(decimal.NewFromInt(sign)))
		}
	}
}

// settle counts a trip once.
func (a *account) settle(tr trip.Trip) {
	if tr.FinalFare = a.fares[tr.ID]; !a.settled[tr.ID] {
		a.count(tr, 1)
		a.settled[tr.ID] = true
	}
}

func (a *account) settles(tr trip.Trip) {
	_, err := receipt.Settle(a.t.Context(), a.tenant, tr, start)
	testkit.Must(a.t, err)
	a.settle(tr)
}

// ride adds a completed trip, which is not always settled at once.
func (a *account) ride(string) {
	tr := a.fixture.ride(len(a.trips) + 1)
	a.load(tr.Item(a.tenant, 2))
	a.fares[tr.ID] = tr.FinalFare
	if a.rnd.IntN(3) > 0 {
		a.settles(tr)
	}
}

func (a *account) corrected(amount string) {
	if len(a.trips) == 0 {
		return
	}
	tr := a.trips[a.rnd.IntN(len(a.trips))]
	err := a.correct(a.t.Context(), tr.ID, amount)
	a.settle(tr) // a refused correction settles the trip too
	if a.expected(err) {
		tr.FinalFare = a.fares[tr.ID]
		a.count(tr, -1)
		a.fares[tr.ID] = money.Ptr(money.Amount(amount).Decimal())
		tr.FinalFare = a.fares[tr.ID]
		a.count(tr, 1)
	}
}

func (a *account) refund(amount string) {
	if len(a.trips) == 0 {
		return
	}
	tr, cents := a.trips[a.rnd.IntN(len(a.trips))], money.Amount("0"+amount[len(amount)-3:])
	_, err := a.store().Post(a.t.Context(), receipt.Post{CustomerID: &tr.CustomerID, Type: wallet.Refund,
		Amount: cents, Description: "Late", TripID: &tr.ID})
	if !errors.Is(err, fault.Field("", "")) && a.expected(err) { // 0.00 is an error of the field
		n := cents.Decimal()
		a.want[tr.CustomerID], a.refunded[tr.ID] = a.want[tr.CustomerID].Add(n), a.refunded[tr.ID].Add(n)
	}
}

// posting pays into or out of a driver's wallet.
func (a *account) posting(amount string) {
	driver := a.drivers[a.rnd.IntN(3)]
	kind, sign := wallet.TopUp, int64(1)
	if a.rnd.IntN(2) == 0 {
		kind, sign = wallet.Payout, -1
	}
	_, err := a.store().Post(a.t.Context(), receipt.Post{DriverID: &driver, Type: kind, Amount: money.Amount(amount),
		Description: "x"})
	if !errors.Is(err, fault.Field("", "")) && a.expected(err) {
		a.want[driver] = a.want[driver].Add(money.Amount(amount).Decimal().Mul(decimal.NewFromInt(sign)))
	}
}

func (a *account) ask(amount string) {
	w, err := a.till().Ask(a.t.Context(), a.drivers[a.rnd.IntN(3)], money.Amount(amount))
	if !errors.Is(err, fault.Field("", "")) && a.expected(err) {
		a.asked = append(a.asked, w)
	}
}

// end pays, refuses or cancels the oldest withdrawal.
func (a *account) end(string) {
	if len(a.asked) == 0 {
		return
	}
	w, how := a.asked[0], []string{wallet.Paid, wallet.Refused, wallet.Cancelled}[a.rnd.IntN(3)]
	it, err := a.tenant.Get(a.t.Context(), wallet.WithdrawalKey(a.tenant, w.ID))
	testkit.Must(a.t, err)
	if _, err := a.till().End(a.t.Context(), it, "", how, nil); a.expected(err) {
		if a.asked = a.asked[1:]; how == wallet.Paid {
			a.want[w.DriverID] = a.want[w.DriverID].Sub(w.Amount.Decimal())
		}
	}
}

// TestMoneyAddsUp: after any sequence of rides, settlements, corrections, refunds,
// payouts and withdrawals, the balances are what an independent account says, the
// receipts have the fares of the trips, the report their sum, and svc verify finds
// no difference.
func TestMoneyAddsUp(t *testing.T) {
	testkit.LongHere(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			p := newFixture(t, testkit.Name(t, streamOff), 2)
			a := &account{books: p.books(), rnd: rnd, want: map[string]decimal.Decimal{}, fares: map[string]*money.Amount{},
				refunded: map[string]decimal.Decimal{}, settled: map[string]bool{}}
			for range 150 {
				amount := fmt.Sprintf("%d.%02d", rnd.IntN(30), rnd.IntN(100))
				[]func(amount string){a.ride, a.ride, a.corrected, a.refund, a.posting, a.ask, a.end}[rnd.IntN(7)](amount)
			}
			for _, tr := range p.trips { // what the stream would have done
				a.settles(tr)
			}
			for actor, balance := range a.want {
				a.holds(actor, balance)
			}
			a.receiptsAre(a.fares, a.refunded)
			if found := a.checked(false); len(found) > 0 {
				t.Errorf("verify: %+v", found)
			}
		})
	}
}

// TestCheckOfManyPostings: fares that were corrected make more postings of a page of
// trips than one request reads.
func TestCheckOfManyPostings(t *testing.T) {
	testkit.LongHere(t)
	p := newFixture(t, testkit.Name(t, streamOff), 2)
	a := &account{books: p.books(), rnd: rand.New(rand.NewPCG(9, 7)), want: map[string]decimal.Decimal{},
		fares: map[string]*money.Amount{}, refunded: map[string]decimal.Decimal{}, settled: map[string]bool{}}
	for i := range 40 {
		a.ride(fmt.Sprintf("%d.50", 5+i))
	}
	for i := range 120 {
		a.corrected(fmt.Sprintf("%d.25", 5+i%40))
	}
	for _, tr := range p.trips {
		a.settles(tr)
	}
	for _, correct := range []bool{false, true} {
		if found := a.checked(correct); len(found) > 0 {
			t.Errorf("correct %v: %+v", correct, found)
		}
	}
	for actor, balance := range a.want {
		a.holds(actor, balance)
	}
}

func (b books) holds(actor string, want decimal.Decimal) {
	b.t.Helper()
	for _, side := range wallet.Sides {
		it, err := b.tenant.Get(b.t.Context(), wallet.Key(b.tenant, side, actor))
		testkit.Must(b.t, err)
		if !it.Found() {
			continue
		}
		w, err := wallet.FromItem(it)
		if err != nil || !w.Balance.Equal(want) {
			b.t.Errorf("%s has %s, want %s (%v)", actor, w.Balance, want, err)
		}
	}
}

// receiptsAre checks the newest receipts, and that the report has their sum.
func (b books) receiptsAre(fares map[string]*money.Amount, refunded map[string]decimal.Decimal) {
	b.t.Helper()
	sum := decimal.Zero
	var keys []table.Key
	for id, fare := range fares {
		var items [2]table.Item
		for i, key := range []table.Key{receipt.Key(b.tenant, id), trip.Key(b.tenant, id)} {
			it, err := b.tenant.Get(b.t.Context(), key)
			testkit.Must(b.t, err)
			items[i] = it
		}
		keys = append(keys, items[1].Key)
		shown, err := receipt.Show(b.t.Context(), b.tenant, items[1], items[0], authz.Dashboard)
		testkit.Must(b.t, err)
		tr, err := trip.FromItem(items[1])
		testkit.Must(b.t, err)
		if text(shown.Total) != text(fare) || text(tr.FinalFare) != text(fare) ||
			!shown.Payment.Refunded.Decimal().Equal(refunded[id]) {
			b.t.Errorf("%s: total %s, fare %s, want %s; refunded %s, want %s", id, text(shown.Total), text(tr.FinalFare),
				text(fare), shown.Payment.Refunded, refunded[id])
		}
		if fare != nil {
			sum = sum.Add(fare.Decimal())
		}
	}
	step := projection.Step{Now: func() time.Time { return start }}
	for len(keys) > 0 {
		n := min(len(keys), 8)
		_, err := step.Tenant(b.t.Context(), b.tenant, keys[:n])
		testkit.Must(b.t, err)
		keys = keys[n:]
	}
	got, err := report.Summarize(b.t.Context(), b.tenant, start.Add(-time.Hour), start.Add(time.Hour), 2)
	testkit.Must(b.t, err)
	if got.Revenue != money.Of(sum) || int(got.CompletedTrips) != len(fares) {
		b.t.Errorf("report: %s of %d trips, want %s of %d", got.Revenue, got.CompletedTrips, sum, len(fares))
	}
}

func text(n *money.Amount) string {
	if n == nil {
		return "null"
	}
	return string(*n)
}

// TestCorrectionAfterACrash: a correction whose process dies before or after any of
// its requests is made once, when it is repeated.
func TestCorrectionAfterACrash(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 1)
	b := p.books()
	for at := range testkit.CrashPoints(t, 20) {
		tr := p.ride(4*at.N + 3) // paid from the wallet
		p.load(tr.Item(p.tenant, 1))
		err := b.correct(p.crash.CrashAt(t.Context(), at.N, at.Lost), tr.ID, "12.34")
		if crashed := at.Reached(p.crash.Revive()); crashed != (err != nil) {
			t.Fatalf("crashed %v, %v", crashed, err)
		}
		testkit.Must(t, b.correct(t.Context(), tr.ID, "12.34"))
		it, err := p.tenant.Get(t.Context(), receipt.Key(p.tenant, tr.ID))
		testkit.Must(t, err)
		if r, err := receipt.FromItem(it); err != nil || r.Version != 2 || text(r.Total) != "12.34" {
			t.Errorf("%v: %+v, %v", at, r, err)
		}
	}
	if found := b.checked(false); len(found) > 0 {
		t.Errorf("verify: %+v", found)
	}
}

// TestCorrectionsBesideSettlement: corrections, settlements and refunds of the same
// trips at once end with books that agree.
func TestCorrectionsBesideSettlement(t *testing.T) {
	p := newFixture(t, testkit.Name(t, streamOff), 1)
	b := p.books()
	var group sync.WaitGroup
	for i := range 6 {
		tr := p.ride(i)
		p.load(tr.Item(p.tenant, 1))
		for _, work := range []func() error{
			func() error { _, err := receipt.Settle(t.Context(), p.tenant, tr, start); return err },
			func() error { return b.correct(t.Context(), tr.ID, fmt.Sprint(20+i)) },
			func() error { return b.correct(t.Context(), tr.ID, fmt.Sprint(30+i)) },
			func() error {
				_, err := b.store().Post(t.Context(), receipt.Post{CustomerID: &tr.CustomerID, Type: wallet.Refund,
					Amount: "1", Description: "Late", TripID: &tr.ID})
				if errors.Is(err, fault.InvalidState("")) {
					return nil
				}
				return err
			},
		} {
			group.Go(func() {
				var err error
				for range 20 { // a busy table is a 503, after which a caller repeats
					if err = work(); err == nil {
						return
					}
				}
				t.Error(err)
			})
		}
	}
	group.Wait()
	if found := b.checked(false); len(found) > 0 {
		t.Errorf("verify: %+v", found)
	}
}

// TestCheckOfCorrections finds and corrects damage in what corrections and
// withdrawals wrote.
func TestCheckOfCorrections(t *testing.T) {
	for what, damage := range map[string]func(books, trip.Trip){
		"posting": func(b books, tr trip.Trip) { // and so the balance
			page, err := b.tenant.Query(t.Context(), wallet.Key(b.tenant, wallet.Driver, *tr.DriverID).PK,
				table.Query{From: wallet.PostedAt(start.Add(time.Minute)), To: wallet.Postings.To, Limit: 9})
			testkit.Must(t, err)
			b.remove(page.Items[0].Key)
		},
		"receipt": func(b books, tr trip.Trip) {
			b.change(receipt.Key(b.tenant, tr.ID), map[string]any{"version": 9})
			b.change(trip.Key(b.tenant, tr.ID), map[string]any{"version": 9})
			it, err := b.tenant.Get(t.Context(), receipt.Key(b.tenant, tr.ID))
			testkit.Must(t, err)
			r, err := receipt.FromItem(it)
			testkit.Must(t, err)
			*r.Total = "1"
			b.load(receipt.Item(b.tenant, r))
		},
		"held": func(b books, tr trip.Trip) {
			b.change(wallet.Key(b.tenant, wallet.Driver, *tr.DriverID), map[string]any{"held": money.Amount("3")})
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, testkit.Name(t, streamOff), 3)
			p.settled(12)
			b, tr := p.books(), p.trips[1]
			testkit.Must(t, b.correct(t.Context(), tr.ID, "44.44"))
			testkit.Must(t, b.correct(t.Context(), tr.ID, "33.33"))
			if found := b.checked(false); len(found) > 0 {
				t.Fatalf("without damage: %+v", found)
			}
			damage(b, tr)
			if found := b.checked(false); len(found) == 0 || found[0].What != what {
				t.Errorf("found %+v, want %s", found, what)
			}
			b.checked(true)
			if found := b.checked(false); len(found) > 0 {
				t.Errorf("left: %+v", found)
			}
		})
	}
}

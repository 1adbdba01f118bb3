package settlement_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/wallet"
)

// busyWallet is the wallet of a large customer: a charge is posted to it again and again.
type busyWallet struct {
	*fixture
	tenant table.Tenant // on a wire of its own
	rider  string
	posted int
}

// large gives a rider a wallet with postings of the month before.
func (p *fixture) large(postings int) *busyWallet {
	p.t.Helper()
	b := &busyWallet{fixture: p, rider: p.riders[0]}
	b.tenant = testkit.Open(p.t, p.name, &testkit.Wire{}).Tenant(p.tenant.ID())
	var items []table.Item
	sum := money.Amount("0").Decimal()
	for i := range postings {
		e := b.entry(start.Add(-30*24*time.Hour + time.Duration(i)*time.Second))
		items, sum = append(items, wallet.PostingItem(p.tenant, wallet.Customer, b.rider, e)), sum.Add(e.Amount.Decimal())
	}
	w := wallet.Wallet{Side: wallet.Customer, Actor: b.rider, Balance: sum, Currency: "USD",
		UpdatedAt: timestamp.Format(start), Version: 1}
	p.load(append(items, w.Item(p.tenant, 3))...)
	return b
}

func (b *busyWallet) entry(at time.Time) wallet.Entry {
	b.posted++
	return wallet.Entry{Posting: wallet.Posting{ID: fmt.Sprintf("txn_%026d", b.posted), Type: "TOP_UP", Amount: "1.25",
		Description: "charge", CreatedAt: timestamp.Format(at)}}
}

// charge posts to the wallet. Every fiftieth posting comes ten days late.
func (b *busyWallet) charge() {
	at := start.Add(time.Duration(b.posted) * time.Millisecond)
	if b.posted%50 == 0 {
		at = start.Add(-10 * 24 * time.Hour)
	}
	ctx, entry := context.Background(), b.entry(at)
	was, err := b.tenant.Get(ctx, wallet.Key(b.tenant, wallet.Customer, b.rider))
	testkit.Must(b.t, err)
	tx := b.tenant.Write()
	_, err = wallet.Move(tx, b.tenant, was, wallet.Movement{Side: wallet.Customer, Actor: b.rider, Currency: "USD",
		Entries: []wallet.Entry{entry}}, 3, nil)
	testkit.Must(b.t, err)
	testkit.Must(b.t, tx.Commit(ctx))
}

// beside charges the wallet before every so many requests of the check.
func (b *busyWallet) beside(requests int) {
	b.crash.Meanwhile(requests-1, func() {
		b.charge()
		b.beside(requests)
	})
}

// A check of a wallet with many postings ends beside any number of charges, and so does
// a correction unless the wallet changes at each request. Neither loses a posting nor
// reports what is right.
func TestCheckBesideCharges(t *testing.T) {
	testkit.LongHere(t)
	for _, c := range []struct {
		requests int
		correct  bool
	}{{1, false}, {2, false}, {3, true}, {7, true}} {
		t.Run(fmt.Sprintf("a charge each %d requests", c.requests), func(t *testing.T) {
			p := newFixture(t, testkit.Name(t, streamOff), 3)
			b := p.large(2500)
			key := wallet.Key(p.tenant, wallet.Customer, b.rider)
			b.beside(c.requests)
			if found := balances(p.checked(false)); len(found) > 0 {
				t.Errorf("nothing is wrong: %+v", found)
			}
			tx := b.tenant.Write()
			tx.Update(key, table.Change{Add: map[string]any{"balance": money.Amount("777"), "version": 1}})
			testkit.Must(t, tx.Commit(t.Context()))
			found := balances(p.checked(c.correct))
			if len(found) != 1 || found[0].Key != key.PK {
				t.Errorf("found %+v", found)
			}
			t.Logf("%d charges", b.posted-2500)
			p.crash.Meanwhile(0, func() {})
			if left := balances(p.checked(true)); (len(left) == 0) != c.correct {
				t.Errorf("left %+v", left)
			}
			b.total()
		})
	}
}

func balances(all []reconcile.Difference) (out []reconcile.Difference) {
	for _, d := range all {
		if d.What == "balance" {
			out = append(out, d)
		}
	}
	return out
}

// total checks that the balance is what was posted.
func (b *busyWallet) total() {
	b.t.Helper()
	it, err := b.tenant.Get(b.t.Context(), wallet.Key(b.tenant, wallet.Customer, b.rider))
	testkit.Must(b.t, err)
	w, err := wallet.FromItem(it)
	testkit.Must(b.t, err)
	if want := money.Amount("1.25").Decimal().Mul(money.Amount(fmt.Sprint(b.posted)).Decimal()); !w.Balance.Equal(want) {
		b.t.Errorf("balance %s, want %s", w.Balance, want)
	}
}

// A check of a customer with many trips, and a correction, end beside trips that are
// settled all the time.
func TestCheckBesideSettlements(t *testing.T) {
	testkit.LongHere(t)
	p := newFixture(t, testkit.Name(t, streamOff), 3)
	other := testkit.Open(t, p.name, &testkit.Wire{}).Tenant(p.tenant.ID())
	settle := func(at time.Time) {
		tr := p.ride(0)
		tr.ID, tr.CustomerID, tr.PaymentType = ids.New(ids.Trip, at), p.riders[0], "CASH"
		tr.RequestedAt, tr.CompletedAt = timestamp.Format(at), timestamp.Ptr(at)
		testkit.Must(t, other.Load(context.Background(), tr.Item(p.tenant, 3)))
		_, err := receipt.Settle(context.Background(), other, tr, start)
		testkit.Must(t, err)
	}
	for i := range 400 {
		settle(start.Add(-30*24*time.Hour + time.Duration(i)*time.Second))
	}
	settled := 0
	var beside func()
	beside = func() {
		p.crash.Meanwhile(9, func() {
			settled++
			settle(start.Add(time.Duration(settled) * time.Millisecond))
			beside()
		})
	}
	counts := func(correct bool) (out []reconcile.Difference) {
		for _, d := range p.checked(correct) {
			if d.What == "totalTrips" {
				out = append(out, d)
			}
		}
		return out
	}
	beside()
	if found := counts(false); len(found) > 0 {
		t.Errorf("nothing is wrong: %+v", found)
	}
	key, off := authz.ActorKey(p.tenant, authz.Rider, p.riders[0]), map[string]any{"totalTrips": 50, "version": 1}
	tx := other.Write()
	tx.Update(key, table.Change{Add: off})
	testkit.Must(t, tx.Commit(t.Context()))
	if found := counts(true); len(found) != 1 || found[0].Key != key.PK {
		t.Errorf("found %+v", found)
	}
	p.crash.Meanwhile(0, func() {})
	if left := counts(false); len(left) > 0 || settled < 10 {
		t.Errorf("left %+v after %d trips", left, settled)
	}
	it, err := other.Get(t.Context(), key)
	if testkit.Must(t, err); it.Int("totalTrips") != int64(400+settled) {
		t.Errorf("%d trips, want %d", it.Int("totalTrips"), 400+settled)
	}
}

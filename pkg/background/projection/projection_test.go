package projection_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/wallet"
	"svc/pkg/local/schema"
)

var streamOff = schema.Options{StreamOff: true}

func TestFunctionIsExactHoweverBadlyTheStreamComes(t *testing.T) {
	testkit.Long(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			name := streamtest.Table(t)
			w := newWorld(t, name, seed, 1+int(seed)*4)
			o := streamtest.Ordeal{Function: func() streamtest.Function { return w.function().Handle }, Rnd: w.rnd,
				Wire: w.crash, Requests: 14}
			all := o.Rounds(t, name, func() { w.change(60) })
			w.recount()
			w.now = w.now.Add(9 * 24 * time.Hour)
			o.Deliver(t, streamtest.Abuse(w.rnd, all, 2, 100))
			w.recount()
			if o.Crashes < 5 {
				t.Errorf("only %d crashes", o.Crashes)
			}
		})
	}
}

func TestStepsSideBySideWhileItemsChange(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 11, 1)
	step := projection.Step{Now: func() time.Time { return start }}
	var wait sync.WaitGroup
	var hear []chan table.Key
	for range 4 {
		keys := make(chan table.Key, 1000)
		hear = append(hear, keys)
		wait.Go(func() {
			for key := range keys {
				for range 20 { // after a failure, the stream delivers the record again
					if _, err := step.Tenant(t.Context(), w.tenant, []table.Key{key}); err == nil {
						break
					}
				}
			}
		})
	}
	w.changed = func(key table.Key) {
		for _, keys := range hear {
			keys <- key
		}
	}
	w.change(200)
	for _, keys := range hear {
		close(keys)
	}
	wait.Wait()
	w.recount()
}

// An outdated step must not overwrite the rows of a later one.
func TestStepLeftBehind(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 13, 1)
	c := customer.Record{Customer: customer.Customer{ID: "cus_1", CreatedAt: "2026-03-01T12:00:00.000Z",
		Email: "x@y.example"}}
	other := testkit.Open(t, w.name, nil).Tenant(w.tenant.ID())
	for p := range testkit.Points(t, 40) {
		w.now = w.now.Add(time.Second)
		w.rename(w.tenant, &c)
		w.crash.Meanwhile(p.N, func() {
			w.rename(other, &c)
			if _, err := w.step().Tenant(t.Context(), other, []table.Key{customer.Key(w.tenant, c.ID)}); err != nil {
				t.Error(err)
			}
		})
		if _, err := w.step().Tenant(t.Context(), w.tenant, []table.Key{customer.Key(w.tenant, c.ID)}); err != nil {
			t.Fatal(err)
		}
		p.Reached(w.crash.Interrupted())
		w.recount()
	}
}

func TestRebuild(t *testing.T) {
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			w := newWorld(t, testkit.Name(t, streamOff), 5, shards)
			w.change(200)
			first, err := w.step().Rebuild(t.Context(), w.tenant, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.recount()
			for kind, n := range map[string]int{"trip": len(w.trips), "driver": len(w.drivers), "customer": len(w.customers),
				"wallet": len(w.wallets)} {
				if first.Examined[kind] != n || first.Differed[kind] != n {
					t.Errorf("%d %ss: %d examined, %d differed", n, kind, first.Examined[kind], first.Differed[kind])
				}
			}
			again, err := w.step().Rebuild(t.Context(), w.tenant, nil)
			if err != nil || len(again.Keys) != 0 || again.Examined["trip"] != len(w.trips) {
				t.Errorf("again: %+v, %v", again, err)
			}
			w.moveTrip()
			w.changeDriver()
			if _, err = w.step().Rebuild(t.Context(), w.tenant, nil); err != nil {
				t.Fatal(err)
			}
			w.recount()
		})
	}
}

func TestStepOfACustomerAfterACrashBetweenAnyTwoRequests(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 9, 1)
	c := customer.Record{Customer: customer.Customer{ID: "cus_1", CreatedAt: "2026-03-01T12:00:00.000Z",
		Email: "x@y.example"}}
	step := func(ctx context.Context) error {
		_, err := w.step().Tenant(ctx, w.tenant, []table.Key{customer.Key(w.tenant, c.ID)})
		return err
	}
	for p := range testkit.CrashPoints(t, 40) {
		w.now = w.now.Add(time.Second)
		w.rename(w.tenant, &c)
		_ = step(w.crash.CrashAt(t.Context(), p.N, p.Lost))
		p.Reached(w.crash.Revive())
		if (p.N+len(c.FirstName))%3 == 0 { // renamed again before all rows of this name exist
			continue
		}
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.recountRows()
	}
	if err := step(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.recount()
}

func TestOddRecordsArePassedOver(t *testing.T) {
	name := streamtest.Table(t)
	w := newWorld(t, name, 1, 1)
	w.put(table.Item{Key: w.tenant.Key("TRIP", "x", "TRIP"), Type: "trip"}, // no document: cannot be counted
		table.Item{Key: w.tenant.Key("OTHER", "x", "OTHER"), Type: "other"})
	w.newTrip()
	records := streamtest.Records(t, name)
	answer, err := w.function().Handle(t.Context(), eventOf(records))
	if err != nil || len(answer.BatchItemFailures) != 1 {
		t.Fatalf("answer %+v, %v; want the one bad trip", answer, err)
	}
	w.recount() // the good item is still counted
}

func TestWalletFollowsTheName(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 2, 1)
	w.changeDriver()
	id, _ := pick(w, w.drivers)
	key := []table.Key{w.tenant.Key("DRIVER", id, "DRIVER")}
	run := func() {
		if _, err := w.step().Tenant(t.Context(), w.tenant, key); err != nil {
			t.Fatal(err)
		}
	}
	run()
	w.put(walletNamed(w, id, "Dana").Item(w.tenant, 1))
	d := w.drivers[id]
	d.LastName = "Reborn"
	w.put(driverItem(w, d))
	run()
	if got := w.walletName(id); got != "Dana Reborn" {
		t.Errorf("the wallet is listed as %q", got)
	}
}

func walletNamed(w *world, id, name string) wallet.Wallet {
	return wallet.Wallet{Side: wallet.Driver, Actor: id, Name: name, Currency: "USD", UpdatedAt: timestamp.Format(w.now),
		Version: 1}
}

func driverItem(w *world, d driver.Record) table.Item { return driver.Item(w.tenant, d, w.shards) }

func (w *world) walletName(id string) string {
	it, err := w.tenant.Get(w.t.Context(), wallet.Key(w.tenant, wallet.Driver, id))
	if err != nil {
		w.t.Fatal(err)
	}
	return it.Text("name")
}

// An outdated step must not give a wallet an old name: a later step has written
// the new one, and no other step follows.
func TestStepLeftBehindLeavesTheWalletItsName(t *testing.T) {
	for _, rows := range []bool{false, true} {
		t.Run(fmt.Sprint("rows ", rows), func(t *testing.T) {
			for p := range testkit.Points(t, 20) {
				namedMeanwhile(t, p, rows)
			}
		})
	}
}

// namedMeanwhile gives the owner of a wallet a new name. While a step takes it over,
// the owner gets another one at the point.
func namedMeanwhile(t *testing.T, p *testkit.Point, rows bool) {
	t.Helper()
	w := newWorld(t, testkit.Name(t, streamOff), 2, 1)
	other := testkit.Open(t, w.name, nil).Tenant(w.tenant.ID())
	key, side := w.tenant.Key("DRIVER", "id", "DRIVER"), wallet.Driver
	if rows {
		key, side = customer.Key(w.tenant, "id"), wallet.Customer
	}
	named := func(tn table.Tenant, name string) {
		it := driver.Item(tn, driver.Record{Driver: driver.Driver{ID: "id", FirstName: name}}, 1)
		if rows {
			it = customer.Item(tn, customer.Record{Customer: customer.Customer{ID: "id", FirstName: name, Name: name,
				CreatedAt: timestamp.Format(start)}}, 1)
		}
		if err := tn.Load(t.Context(), it); err != nil {
			t.Error(err)
		}
	}
	step := func(tn table.Tenant) {
		if _, err := w.step().Tenant(t.Context(), tn, []table.Key{key}); err != nil {
			t.Error(err)
		}
	}
	named(w.tenant, "Ann")
	step(w.tenant)
	one := walletNamed(w, "id", "Ann")
	one.Side = side
	w.put(one.Item(w.tenant, 1))
	named(w.tenant, "Bob")
	w.crash.Meanwhile(p.N, func() {
		named(other, "Eve")
		step(other)
	})
	step(w.tenant)
	want := "Bob"
	if p.Reached(w.crash.Interrupted()) {
		want = "Eve"
	}
	it, err := w.tenant.Get(t.Context(), wallet.Key(w.tenant, side, "id"))
	if err != nil || it.Text("name") != want {
		t.Errorf("Eve at %v: the wallet is listed as %q, want %s, %v", p, it.Text("name"), want, err)
	}
}

// TestShiftedWallet: a wallet whose balance changed without a read goes to its place in
// the list by balance, also if its owner gets a new name at the same time, or if other
// changes brought the balance back.
func TestShiftedWallet(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 33, 1)
	who, _ := w.pair()
	key := wallet.Key(w.tenant, wallet.Driver, who)
	w.put(wallet.Wallet{Side: wallet.Driver, Actor: who, Name: "Old", Balance: decimal.NewFromInt(100), Currency: "USD",
		Version: 1}.Item(w.tenant, 1))
	step := func() {
		t.Helper()
		_, err := w.step().Tenant(t.Context(), w.tenant, []table.Key{driver.Key(w.tenant, who), key})
		testkit.Must(t, err)
	}
	step()
	errPosted, errUnfit := errors.New("posted"), errors.New("unfit")
	shift := func(n int, amount string, least int64) error {
		tx := w.tenant.Write()
		wallet.Shift(tx, w.tenant, wallet.Movement{Side: wallet.Driver, Actor: who,
			Entries: []wallet.Entry{{Posting: wallet.Posting{ID: fmt.Sprint("p", n), Amount: money.Amount(amount),
				CreatedAt: "2026-03-01T12:00:00.000Z"}}}}, decimal.NewFromInt(least), errPosted, errUnfit)
		return tx.Commit(t.Context())
	}
	for n, amounts := range [][]string{{"-30.10"}, {"0.05"}, {"-10", "10"}, {"-200"}} {
		for i, amount := range amounts {
			testkit.Must(t, shift(10*n+i, amount, 0))
		}
		w.set(driver.Key(w.tenant, who), table.Change{Set: map[string]any{"doc": fmt.Sprintf(
			`{"id":%q,"firstName":"Dana","lastName":"%d"}`, who, n)}})
		step()
		it, err := w.tenant.Get(t.Context(), key)
		testkit.Must(t, err)
		if it.R != wallet.RankOf(it) || it.Text("name") != fmt.Sprint("Dana ", n) {
			t.Errorf("after %v: ranked %s, name %s", amounts, it.R, it.Text("name"))
		}
	}
	it, err := w.tenant.Get(t.Context(), key)
	testkit.Must(t, err)
	if it.Number("balance") != "-130.05" {
		t.Errorf("balance %s", it.Number("balance"))
	}
	if err := shift(0, "5", 0); !errors.Is(err, errPosted) {
		t.Errorf("a posting twice: %v", err)
	}
	if err := shift(90, "-5", 5); !errors.Is(err, errUnfit) {
		t.Errorf("more than there is: %v", err)
	}
	w.remove(key)
	if err := shift(91, "5", 0); !errors.Is(err, errUnfit) {
		t.Errorf("no wallet: %v", err)
	}
}

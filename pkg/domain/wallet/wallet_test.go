package wallet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

func TestRank(t *testing.T) {
	falling := []string{"1e30", "999999999999999999999999.999", "1000000000000", "100", "99.99", "10", "9.999", "9", "1",
		"0.01", "0.001", "0",
		"-0.001", "-0.01", "-1", "-9", "-10", "-99.99", "-100", "-1000000000000", "-999999999999999999999999"}
	for i := 1; i < len(falling); i++ {
		a, b := wallet.Rank(decimal.RequireFromString(falling[i-1])), wallet.Rank(decimal.RequireFromString(falling[i]))
		if a >= b || len(a) != len(b) {
			t.Errorf("%s ranks %q, %s ranks %q", falling[i-1], a, falling[i], b)
		}
	}
	if wallet.Rank(decimal.RequireFromString("1.10")) != wallet.Rank(decimal.RequireFromString("1.1")) ||
		wallet.Rank(decimal.Zero) != wallet.Rank(decimal.Zero.Neg()) {
		t.Error("equal balances rank apart")
	}
}

// move posts an amount to an actor's wallet.
func move(
	t *testing.T, tenant table.Tenant, side wallet.Side, actor, amount string, at time.Time, shards int,
) wallet.Posting {
	t.Helper()
	p := wallet.Posting{ID: ids.New(ids.Posting, at), Type: wallet.TripPayment, Amount: money.Amount(amount),
		Description: "Trip X: fare", CreatedAt: timestamp.Format(at)}
	err := table.Retry(context.Background(), func(ctx context.Context) error {
		was, err := tenant.Get(ctx, wallet.Key(tenant, side, actor))
		if err != nil {
			return err
		}
		tx := tenant.Write()
		if _, err := wallet.Move(tx, tenant, was, wallet.Movement{Side: side, Actor: actor, Name: "Name of " + actor,
			Currency: "USD", Entries: []wallet.Entry{{Posting: p}}}, shards, table.ErrConflict); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		t.Error(err)
	}
	return p
}

func TestMine(t *testing.T) {
	wire := &testkit.Wire{}
	stand := apitest.New(t, testkit.TableOnWire(t, wire), wallet.Rows()...)
	tenant := stand.Tenant("USD", 1)
	rider, driver := ids.New(ids.Customer, apitest.Start), ids.New(ids.Driver, apitest.Start)
	tokens := map[wallet.Side]string{wallet.Customer: stand.Token(tenant, authz.Rider, rider),
		wallet.Driver: stand.Token(tenant, authz.Driver, driver)}
	if err := tenant.Load(t.Context(), table.Item{Key: authz.ActorKey(tenant, authz.Rider, rider), Type: "customer"},
		table.Item{Key: authz.ActorKey(tenant, authz.Driver, driver), Type: "driver"}); err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		var got wallet.Mine
		a := stand.Want(200, &got, "GET", "/api/v1/me/wallet", token, "")
		if a.Body != `{"balance":0,"transactions":[]}` {
			t.Errorf("a wallet that was never used: %s", a.Body)
		}
	}
	var want []wallet.Posting
	for i := range 25 {
		want = append(want, move(t, tenant, wallet.Customer, rider, []string{"-3.1", "0", "2.05"}[i%3],
			apitest.Start.Add(time.Duration(i)*time.Second), 1))
		if n := len(want); n == 1 || n == 20 || n == 25 {
			slices.Reverse(want)
			var got wallet.Mine
			wire.Rounds(true)
			stand.Want(200, &got, "GET", "/api/v1/me/wallet", tokens[wallet.Customer], "")
			wire.Rounds(false)
			if diff := cmp.Diff(want[:min(n, 20)], got.Transactions); diff != "" {
				t.Errorf("after %d: %s", n, diff)
			}
			sum := decimal.Zero
			for _, p := range want {
				sum = sum.Add(p.Amount.Decimal())
			}
			if got.Balance != money.Of(sum) {
				t.Errorf("after %d: balance %s, want %s", n, got.Balance, sum)
			}
			if u := stand.Last().Usage; u.Sequential > 1 || u.Requests > 2 || u.ReadUnits > 5+3 {
				t.Errorf("after %d: %+v", n, u)
			}
			slices.Reverse(want)
		}
	}
	var other wallet.Mine
	stand.Want(200, &other, "GET", "/api/v1/me/wallet", tokens[wallet.Driver], "")
	if other.Balance != "0" || len(other.Transactions) != 0 {
		t.Errorf("the driver sees %+v", other)
	}
}

func TestMoveTogether(t *testing.T) {
	tenant := testkit.Table(t).Tenant("ten_1")
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			move(t, tenant, wallet.Driver, "drv_1", "0.1", apitest.Start.Add(time.Duration(i)*time.Second), 1)
		}()
	}
	for range 8 {
		<-done
	}
	got, err := wallet.Statement(t.Context(), tenant, wallet.Driver, "drv_1")
	if err != nil || got.Balance != "0.8" || len(got.Transactions) != 8 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTotals(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			wire := &testkit.Wire{}
			stand := apitest.New(t, testkit.TableOnWire(t, wire), wallet.Rows()...)
			tenant, other := stand.Tenant("EUR", shards), stand.Tenant("USD", shards)
			operator := stand.Token(tenant, authz.Dashboard, "usr_1", "VIEW_WALLETS")
			for i, amount := range []string{"10.5", "-3.25", "0"} {
				move(t, tenant, wallet.Driver, fmt.Sprint("drv_", i), amount, apitest.Start, shards)
			}
			move(t, tenant, wallet.Customer, "cus_1", "-20", apitest.Start, shards)
			move(t, other, wallet.Driver, "drv_x", "1000", apitest.Start, shards)
			step := projection.Step{Now: stand.Now}
			for _, place := range []table.Tenant{tenant, other} {
				if _, err := step.Rebuild(t.Context(), place, nil); err != nil {
					t.Fatal(err)
				}
			}
			wire.Rounds(true)
			for query, want := range map[string]string{
				"":               `{"currency":"EUR","drivers":{"count":3,"balance":7.25},"customers":{"count":1,"balance":-20}}`,
				"?limit=5":       `{"currency":"EUR","drivers":{"count":3,"balance":7.25},"customers":{"count":1,"balance":-20}}`,
				"?type=driver":   `{"currency":"EUR","drivers":{"count":3,"balance":7.25}}`,
				"?type=customer": `{"currency":"EUR","customers":{"count":1,"balance":-20}}`,
				"?type=customer&detail=1": `{"items":[{"id":"cus_1","name":"Name of cus_1","balance":-20,"currency":"USD",` +
					`"updatedAt":"` +
					timestamp.Format(apitest.Start) + `"}],"next_cursor":null}`,
			} {
				if a := stand.Want(200, nil, "GET", "/api/v1/wallets"+query, operator, ""); a.Body != want {
					t.Errorf("%s: %s, want %s", query, a.Body, want)
				}
				if u := stand.Last().Usage; u.Sequential > 2 || u.ReadUnits > 5+8 {
					t.Errorf("%s: %+v", query, u)
				}
			}
		})
	}
}

func TestOverviewRefuses(t *testing.T) {
	stand := apitest.New(t, testkit.Table(t), wallet.Rows()...)
	operator := stand.Token(stand.Tenant("EUR", 1), authz.Dashboard, "usr_1", "VIEW_WALLETS")
	for query, field := range map[string]string{"detail=1": "query.type", "detail=0&type=driver": "query.detail",
		"type=rider":                   "query.type",
		"type=driver&detail=1&limit=0": "query.limit", "type=driver&detail=1&limit=201": "query.limit",
		"type=driver&detail=1&cursor=x": "query.cursor",
		"type=driver&cursor=x":          "query.cursor", "side=driver": "query.side",
		"detail=1&limit=0&side=x": "query.limit query.side query.type", "limit=x&cursor=x": "query.cursor query.limit",
		"detail=0": "query.detail", "type=rider&detail=1": "query.type"} {
		var body struct{ Details []struct{ Field string } }
		stand.Want(400, &body, "GET", "/api/v1/wallets?"+query, operator, "")
		var fields []string
		for _, d := range body.Details {
			fields = append(fields, d.Field)
		}
		slices.Sort(fields)
		if got := strings.Join(fields, " "); got != field {
			t.Errorf("%s: %s, want %s", query, got, field)
		}
	}
}

type page struct {
	Items []wallet.Listed `json:"items"`
	Next  *string         `json:"next_cursor"`
}

// The list shows each wallet whose balance does not change once, and in order, also
// while the balances of other wallets change.
func TestListingWhileBalancesMove(t *testing.T) {
	testkit.LongHere(t)
	for _, shards := range []int{1, 3} {
		for _, limit := range []int{1, 7, 50} {
			t.Run(fmt.Sprint(shards, " shards, limit ", limit), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(shards), uint64(limit)))
				stand := apitest.New(t, testkit.Table(t), wallet.Rows()...)
				tenant := stand.Tenant("USD", shards)
				operator := stand.Token(tenant, authz.Dashboard, "usr_1", "VIEW_WALLETS")
				var items []table.Item
				balances, moving := map[string]decimal.Decimal{}, []string{}
				for i := range 60 {
					actor := ids.New(ids.Driver, apitest.Start)
					balance := decimal.New(rnd.Int64N(9)-4, -1) // many are equal, half are negative
					items = append(items, wallet.Wallet{Side: wallet.Driver, Actor: actor, Name: "N", Balance: balance,
						Currency: "USD", UpdatedAt: timestamp.Format(apitest.Start), Version: 1}.Item(tenant, shards))
					if i%3 == 0 {
						moving = append(moving, actor)
						continue
					}
					balances[actor] = balance
				}
				if err := tenant.Load(t.Context(), items...); err != nil {
					t.Fatal(err)
				}
				var got []wallet.Listed
				q := url.Values{"type": {"driver"}, "detail": {"1"}, "limit": {fmt.Sprint(limit)}}
				for {
					var p page
					stand.Want(200, &p, "GET", "/api/v1/wallets?"+q.Encode(), operator, "")
					for _, listed := range p.Items {
						if _, stays := balances[listed.ID]; stays {
							got = append(got, listed)
						}
					}
					if p.Next == nil {
						break
					}
					q.Set("cursor", *p.Next)
					for range 2 {
						move(t, tenant, wallet.Driver, moving[rnd.IntN(len(moving))], fmt.Sprintf("%.1f", float64(rnd.IntN(9)-4)/10),
							apitest.Start, shards)
					}
				}
				if len(got) != len(balances) {
					t.Errorf("%d listed, %d stayed", len(got), len(balances))
				}
				for i, listed := range got {
					if balance := listed.Balance.Decimal(); !balance.Equal(balances[listed.ID]) {
						t.Errorf("%s has %s, want %s", listed.ID, balance, balances[listed.ID])
					}
					if i > 0 {
						a, b := got[i-1], listed
						if order := a.Balance.Decimal().Cmp(b.Balance.Decimal()); order < 0 || (order == 0 && a.ID >= b.ID) {
							t.Errorf("%s %s is listed before %s %s", a.Balance, a.ID, b.Balance, b.ID)
						}
					}
				}
			})
		}
	}
}

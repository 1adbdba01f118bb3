package receipt_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/domain/wallet"
	"svc/pkg/edge/api"
)

func (w *world) ask(amount string) apitest.Answer {
	return w.Insist("POST", "/api/v1/me/wallet/withdrawals", w.tokens[w.driver], fmt.Sprintf(`{"amount": %s}`, amount))
}

// asked asks for a withdrawal and returns its id.
func (w *world) asked(amount string) string {
	w.t.Helper()
	var out wallet.Withdrawal
	a := w.ask(amount)
	if a.Status != 201 {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.Decode(w.t, &out)
	return out.ID
}

func (w *world) end(who, id, how, body string) apitest.Answer {
	path := "/api/v1/withdrawals/"
	if who != "" {
		path = "/api/v1/me/wallet/withdrawals/"
	}
	return w.Insist("POST", path+id+"/"+how, w.tokens[who], body)
}

// held returns what the driver's wallet holds.
func (w *world) held() string {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), wallet.Key(w.tenant, wallet.Driver, w.driver))
	testkit.Must(w.t, err)
	return string(money.Of(it.Number("held").Decimal()))
}

func TestWithdraw(t *testing.T) {
	w := newWorldInRounds(t)
	if a := w.ask("1"); a.Status != 409 || a.Code() != "insufficient_balance" {
		t.Errorf("without a wallet: %d %s", a.Status, a.Body)
	}
	w.post(w.driver, "TOP_UP", "100")
	for amount, want := range map[string]int{"0": 400, "-5": 400, "0.001": 400, "100.01": 409, "1e13": 400, `"5"`: 400} {
		if a := w.ask(amount); a.Status != want {
			t.Errorf("%s: %d %s", amount, a.Status, a.Body)
		}
	}
	paid, refused, taken := w.asked("30"), w.asked("20"), w.asked("50")
	if a := w.ask("0.01"); a.Status != 409 || w.held() != "100" || w.balance(w.driver) != "100" {
		t.Errorf("%d %s: held %s of %s", a.Status, a.Body, w.held(), w.balance(w.driver))
	}
	if a := w.post(w.driver, "PAYOUT", "0.01"); a.Status != 409 {
		t.Errorf("a payout takes what is held: %d %s", a.Status, a.Body)
	}
	other := newWorldOn(t, w.DB, "USD")
	missing := w.end("", ids.New(ids.Payout, apitest.Start), "pay", "")
	if a := other.end("", paid, "pay", ""); a.Status != 404 || a.Body != missing.Body {
		t.Errorf("another company pays: %d %s", a.Status, a.Body)
	}
	mate := ids.New(ids.Driver, apitest.Start)
	w.people(mate, ids.New(ids.Customer, apitest.Start))
	if a := w.end(mate, taken, "cancel", ""); a.Status != 404 || a.Body != missing.Body {
		t.Errorf("another driver takes it back: %d %s", a.Status, a.Body)
	}
	for _, one := range []struct {
		who, id, how, body string
	}{{"", paid, "pay", ""}, {"", refused, "refuse", `{"reason": "No account"}`}, {w.driver, taken, "cancel", ""}} {
		if a := w.end(one.who, one.id, one.how, one.body); a.Status != 200 {
			t.Errorf("%s: %d %s", one.how, a.Status, a.Body)
		}
		if u := w.Last().Usage; u.Sequential > 2 {
			t.Errorf("%s: %d round trips", one.how, u.Sequential)
		}
		for _, again := range []apitest.Answer{w.end("", one.id, "pay", ""), w.end(w.driver, one.id, "cancel", ""),
			w.end("", one.id, "refuse", `{"reason": "x"}`)} {
			if again.Status != 409 {
				t.Errorf("after %s: %d %s", one.how, again.Status, again.Body)
			}
		}
	}
	if w.held() != "0" || w.balance(w.driver) != "70" {
		t.Errorf("held %s of %s", w.held(), w.balance(w.driver))
	}
	for path, want := range map[string]int{"/api/v1/withdrawals": 3, "/api/v1/withdrawals?status=PAID": 1,
		"/api/v1/withdrawals?status=REQUESTED": 0} {
		var page api.Page[wallet.Withdrawal]
		if w.Want(200, &page, "GET", path, w.tokens[""], ""); len(page.Items) != want {
			t.Errorf("%s: %+v", path, page)
		}
	}
	var own api.Page[wallet.Withdrawal]
	if w.Want(200, &own, "GET", "/api/v1/me/wallet/withdrawals", w.tokens[w.driver], ""); len(own.Items) != 3 {
		t.Errorf("the driver's: %+v", own)
	}
}

// TestWithdrawalsRace: of payouts and withdrawals at once, only as much is paid as
// the wallet has, and each withdrawal ends once.
func TestWithdrawalsRace(t *testing.T) {
	w := newWorld(t, "USD")
	w.post(w.driver, "TOP_UP", "100")
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []string
	out := 0
	for range 4 {
		group.Go(func() {
			var got wallet.Withdrawal
			if a := w.ask("30"); a.Status == 201 {
				testkit.Must(t, json.Unmarshal([]byte(a.Body), &got))
				mu.Lock()
				open = append(open, got.ID)
				mu.Unlock()
			}
		})
		group.Go(func() {
			if a := w.post(w.driver, "PAYOUT", "30"); a.Status == 201 {
				mu.Lock()
				out++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(open)+out != 3 {
		t.Errorf("%d withdrawals and %d payouts of 30 for 100", len(open), out)
	}
	ends := map[string]int{}
	for _, id := range open {
		for _, how := range []string{"pay", "pay", "cancel", "refuse"} {
			group.Go(func() {
				who, body := "", ""
				if how == "cancel" {
					who = w.driver
				}
				if how == "refuse" {
					body = `{"reason": "No"}`
				}
				if a := w.end(who, id, how, body); a.Status == 200 {
					mu.Lock()
					ends[id]++
					if how == "pay" {
						out++
					}
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	for _, id := range open {
		if ends[id] != 1 {
			t.Errorf("%s ended %d times", id, ends[id])
		}
	}
	if want := fmt.Sprint(100 - 30*out); w.balance(w.driver) != want || w.held() != "0" {
		t.Errorf("balance %s, want %s; held %s", w.balance(w.driver), want, w.held())
	}
}

// TestWithdrawAfterCommissions: a withdrawal never takes the wallet below zero,
// also if commissions took what it holds.
func TestWithdrawAfterCommissions(t *testing.T) {
	w := newWorld(t, "USD")
	w.post(w.driver, "TOP_UP", "20")
	id := w.asked("20")
	w.settled("CASH", "20") // commission of 3.5
	if a := w.end("", id, "pay", ""); a.Status != 409 || a.Code() != "insufficient_balance" ||
		w.balance(w.driver) != "16.5" {
		t.Errorf("%d %s: balance %s", a.Status, a.Body, w.balance(w.driver))
	}
	w.settled("CARD", "10")
	if a := w.end("", id, "pay", ""); a.Status != 200 || w.balance(w.driver) != "4.75" || w.held() != "0" {
		t.Errorf("%d %s: balance %s, held %s", a.Status, a.Body, w.balance(w.driver), w.held())
	}
}

package receipt_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/domain/wallet"
	"svc/pkg/edge/api"
)

func TestPost(t *testing.T) {
	w := newWorld(t, "USD")
	for _, tc := range []struct {
		actor, kind, amount string
		status              int
		balance             string
	}{
		{w.rider, "TOP_UP", "25.50", 201, "25.5"},
		{w.rider, "TOP_UP", "0.1", 201, "25.6"},
		{w.rider, "TOP_UP", "0.2", 201, "25.8"}, // no binary fractions
		{w.rider, "ADJUSTMENT", "-30", 201, "-4.2"},
		{w.rider, "TOP_UP", "4.2", 201, "0"},
		{w.rider, "PAYOUT", "0.01", 409, "0"},
		{w.driver, "TOP_UP", "12.440000000000001", 201, "12.44"}, // a client that computes in floats
		{w.driver, "PAYOUT", "12.45", 409, "12.44"},
		{w.driver, "PAYOUT", "12.44", 201, "0"},
		{w.driver, "TOP_UP", "0.001", 400, "0"},
		{w.driver, "TOP_UP", "0", 400, "0"},
		{w.driver, "TOP_UP", "-5", 400, "0"},
		{w.driver, "PAYOUT", "-5", 400, "0"},
		{w.driver, "TOP_UP", "1e4", 201, "10000"}, // the default limit is 10,000
		{w.driver, "ADJUSTMENT", "-10000.01", 400, "10000"},
		{w.driver, "TOP_UP", "1000000000000", 400, "10000"},
		{w.driver, "TRIP_PAYMENT", "1", 400, "10000"},
		{w.driver, "REFUND", "1", 400, "10000"},
		{ids.New(ids.Driver, apitest.Start), "TOP_UP", "1", 400, "none"},
	} {
		a := w.post(tc.actor, tc.kind, tc.amount)
		if got := w.balance(tc.actor); a.Status != tc.status || got != tc.balance {
			t.Errorf("%s %s: %d %s, balance %s, want %d and %s", tc.kind, tc.amount, a.Status, a.Body, got, tc.status,
				tc.balance)
		}
	}
}

// TestPostInCurrencies: an amount has the decimals of the currency.
func TestPostInCurrencies(t *testing.T) {
	for currency, tc := range map[string]struct{ good, bad string }{
		"JPY": {"5800", "5800.5"}, "KWD": {"295.991", "295.9915"}, "EUR": {"0.01", "0.005"}} {
		w := newWorld(t, currency)
		if a := w.post(w.rider, "TOP_UP", tc.good); a.Status != 201 || w.balance(w.rider) != tc.good {
			t.Errorf("%s %s: %d %s", currency, tc.good, a.Status, a.Body)
		}
		if a := w.post(w.rider, "TOP_UP", tc.bad); a.Status != 400 {
			t.Errorf("%s %s: %d %s", currency, tc.bad, a.Status, a.Body)
		}
	}
}

// TestPostingsOfTenants: another company's wallets and trips do not exist, and
// the answer is that for what exists nowhere.
func TestPostingsOfTenants(t *testing.T) {
	w := newWorld(t, "USD")
	other := newWorldOn(t, w.DB, "USD")
	tr := other.settled("CARD", "20")
	missing := w.post(ids.New(ids.Driver, apitest.Start), "TOP_UP", "5").Body
	if a := w.post(other.driver, "TOP_UP", "5"); a.Status != 400 || a.Body != missing {
		t.Errorf("another company's driver: %d %s, want %s", a.Status, a.Body, missing)
	}
	if a := w.post(w.rider, "REFUND", "5", `, "tripId": "`+tr.ID+`"`); a.Status != 400 {
		t.Errorf("another company's trip: %d %s", a.Status, a.Body)
	}
	if a := w.post(w.rider, "TOP_UP", "5", `, "tripId": "`+w.settledOf(other.rider).ID+`"`); a.Status != 400 {
		t.Errorf("another rider's trip: %d %s", a.Status, a.Body)
	}
	var page api.Page[wallet.Entry]
	w.Want(200, &page, "GET", "/api/v1/wallets/postings?driverId="+other.driver, w.tokens[""], "")
	if len(page.Items) != 0 {
		t.Errorf("another company's postings: %v", page.Items)
	}
}

func TestListPostings(t *testing.T) {
	w := newWorld(t, "USD")
	for i := range 5 {
		w.Advance(1e9)
		w.post(w.driver, "TOP_UP", fmt.Sprint(i+1)) // 12:00:01 … 12:00:05
	}
	w.Advance(1e9)
	tr := w.settled("CARD", "20")
	path := "/api/v1/wallets/postings?driverId=" + w.driver
	for query, want := range map[string]string{
		"": "16.5 5 4 3 2 1", "&limit=2": "16.5 5",
		"&from=2026-03-01T12:00:02Z&to=2026-03-01T12:00:04Z": "3 2", "&to=2026-03-01T12:00:02Z": "1",
		"&from=2026-03-02": "", "&from=2026-03-01&to=2026-03-01": "16.5 5 4 3 2 1"} {
		var page api.Page[wallet.Entry]
		w.Want(200, &page, "GET", path+query, w.tokens[""], "")
		var got []string
		for _, e := range page.Items {
			got = append(got, string(e.Amount))
			if (e.Type == wallet.TripPayment) != (e.TripID != nil && *e.TripID == tr.ID) {
				t.Errorf("trip of %+v", e)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
		if query == "&limit=2" {
			w.Want(200, &page, "GET", path+query+"&cursor="+*page.NextCursor, w.tokens[""], "")
			if page.Items[0].Amount != "4" {
				t.Errorf("the second page begins with %s", page.Items[0].Amount)
			}
		}
	}
	for _, query := range []string{"", "?driverId=" + w.driver + "&customerId=" + w.rider, "?driverId=" + w.driver +
		"&from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z"} {
		if a := w.Do("GET", "/api/v1/wallets/postings"+query, w.tokens[""], ""); a.Status != 400 {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	// The owner sees the postings without what concerns the company alone.
	a := w.Want(200, nil, "GET", "/api/v1/me/wallet", w.tokens[w.driver], "")
	if !strings.Contains(a.Body, `"TOP_UP"`) || strings.Contains(a.Body, `"by"`) || strings.Contains(a.Body, `"tripId"`) {
		t.Errorf("the driver's wallet: %s", a.Body)
	}
}

// TestRefund: the refunds of a trip never exceed what it took, in one step, in
// several, and with other amounts in between.
func TestRefund(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("CARD", "20")
	refund := func(amount string, want int) {
		t.Helper()
		if a := w.post(w.rider, "REFUND", amount, `, "tripId": "`+tr.ID+`"`); a.Status != want {
			t.Errorf("refund of %s: %d %s, want %d", amount, a.Status, a.Body, want)
		}
	}
	refund("20.01", 409)
	refund("19", 201)
	refund("1.01", 409)
	refund("-1", 400)
	refund("1", 201)
	refund("0.01", 409)
	if got := w.balance(w.rider); got != "20" {
		t.Errorf("refunded %s of 20", got)
	}
	for _, one := range []struct{ payment, fare string }{{"CASH", ""}, {"WALLET", "0"}} {
		tr = w.settled(one.payment, one.fare)
		refund("0.01", 409)
	}
	tr = w.completed("CARD", "20") // not settled yet
	refund("5", 409)
}

// TestRefundsRace: of many refunds at once, as many succeed as the trip took.
func TestRefundsRace(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("WALLET", "20")
	var group sync.WaitGroup
	var mu sync.Mutex
	paid := 0
	for range 8 {
		group.Go(func() {
			a := w.post(w.rider, "REFUND", "7", `, "tripId": "`+tr.ID+`"`)
			mu.Lock()
			defer mu.Unlock()
			switch a.Status {
			case 201:
				paid++
			case 409:
			default:
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	group.Wait()
	if got := w.balance(w.rider); paid != 2 || got != "-6" {
		t.Errorf("%d refunds of 7 for a fare of 20, balance %s", paid, got)
	}
}

// TestPostOnce: a repeated request posts once, also if the requests race.
func TestPostOnce(t *testing.T) {
	w := newWorld(t, "USD")
	body := fmt.Sprintf(`{"customerId":%q,"type":"TOP_UP","amount":5,"description":"Once"}`, w.rider)
	var group sync.WaitGroup
	answers := make([]apitest.Answer, 6)
	for i := range answers {
		group.Go(func() {
			answers[i] = w.Insist("POST", "/api/v1/wallets/postings", w.tokens[""], body, "Idempotency-Key", "once")
		})
	}
	group.Wait()
	for _, a := range answers {
		if a.Status != 201 || a.Body != answers[0].Body {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if got := w.balance(w.rider); got != "5" {
		t.Errorf("posted %s", got)
	}
}

// TestWalletFloor: a posting does not take a rider's wallet below the company's
// floor.
func TestWalletFloor(t *testing.T) {
	w := newWorld(t, "USD")
	w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
		"walletFloor": "-10", "maxPosting": "50"})
	for _, tc := range []struct {
		actor, amount string
		status        int
	}{{w.rider, "-10.01", 409}, {w.rider, "-10", 201}, {w.rider, "-0.01", 409}, {w.rider, "1", 201},
		{w.driver, "-49", 201}, {w.driver, "50.01", 400}} {
		if a := w.post(tc.actor, "ADJUSTMENT", tc.amount); a.Status != tc.status ||
			tc.status == 409 && a.Code() != "insufficient_balance" {
			t.Errorf("%s: %d %s, want %d", tc.amount, a.Status, a.Body, tc.status)
		}
	}
}

// settledOf returns a settled trip of another rider of the tenant.
func (w *world) settledOf(string) (out struct{ ID string }) {
	was := w.rider
	defer func() { w.rider = was }()
	w.rider = ids.New(ids.Customer, apitest.Start)
	w.people(w.driver, w.rider)
	out.ID = w.settled("CARD", "9").ID
	return out
}

// TestPostsRaceSettlement: postings and settlements of the same wallets lose
// nothing.
func TestPostsRaceSettlement(t *testing.T) {
	w := newWorld(t, "USD")
	var group sync.WaitGroup
	for i := range 5 {
		tr := w.completed("WALLET", fmt.Sprint(10+i))
		group.Go(func() {
			for range 20 {
				if settle(w, tr) == nil {
					return
				}
			}
			t.Error("not settled")
		})
		group.Go(func() {
			if a := w.post(w.rider, "TOP_UP", "0.1"); a.Status != 201 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	group.Wait()
	// 10 … 14, less 17.5 % in cents, half to even
	if rider, driver := w.balance(w.rider), w.balance(w.driver); rider != "-59.5" || driver != "49.5" {
		t.Errorf("rider %s, driver %s", rider, driver)
	}
}

// TestFloorOfRides: a ride that is paid from a wallet leaves the company's floor.
func TestFloorOfRides(t *testing.T) {
	w := newWorldInRounds(t)
	booker := w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "CREATE_TRIPS")
	ride := func(payment string, want int) {
		t.Helper()
		body := `"originAddress":"A","originLat":1,"originLng":2,"paymentType":"` + payment + `"}`
		for path, ask := range map[string][2]string{"/api/v1/me/trips": {w.tokens[w.rider], "{" + body},
			"/api/v1/trips": {booker, `{"customerId":"` + w.rider + `",` + body}} {
			a := w.Insist("POST", path, ask[0], ask[1])
			if a.Status != want || want == 409 && a.Code() != "insufficient_balance" {
				t.Errorf("%s %s: %d %s, want %d", path, payment, a.Status, a.Body, want)
			}
			if u := w.Last().Usage; want == 201 && u.Sequential > 2 {
				t.Errorf("%s takes %d round trips", path, u.Sequential)
			}
		}
	}
	ride("WALLET", 201) // without a floor
	w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
		"walletFloor": "0"})
	ride("WALLET", 409)
	ride("CASH", 201)
	w.post(w.rider, "TOP_UP", "0.01")
	ride("WALLET", 201)
	for floor, want := range map[string]int{"0.01": 409, "0.02": 409, "0.005": 201, "-1": 201} {
		w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
			"walletFloor": floor})
		ride("WALLET", want)
	}
	w.rider = ids.New(ids.Customer, apitest.Start) // without a wallet
	w.people(ids.New(ids.Driver, apitest.Start), w.rider)
	for floor, want := range map[string]int{"0": 409, "-0.01": 201} {
		w.Flags(w.tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
			"walletFloor": floor})
		ride("WALLET", want)
	}
}

package receipt_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// TestMoneyOfTornReads: a batch read may find one item as it was before a change. The
// second of two changes then notices it: it posts no wrong amount and returns none.
func TestMoneyOfTornReads(t *testing.T) {
	type change func(w *world, tr trip.Trip) apitest.Answer
	correct := func(fare string) change {
		return func(w *world, tr trip.Trip) apitest.Answer { return w.correct(tr.ID, fare) }
	}
	post := func(of func(*world) string, kind, amount string) change {
		return func(w *world, tr trip.Trip) apitest.Answer {
			return w.post(of(w), kind, amount, `, "tripId": "`+tr.ID+`"`)
		}
	}
	ofTrip := func(w *world, tr trip.Trip) table.Key { return trip.Key(w.tenant, tr.ID) }
	ofReceipt := func(w *world, tr trip.Trip) table.Key { return receipt.Key(w.tenant, tr.ID) }
	ofRider := func(w *world, _ trip.Trip) table.Key { return wallet.Key(w.tenant, wallet.Customer, w.rider) }
	ofDriver := func(w *world, _ trip.Trip) table.Key { return wallet.Key(w.tenant, wallet.Driver, w.driver) }
	rider, driver := func(w *world) string { return w.rider }, func(w *world) string { return w.driver }
	withdraw := func(w *world, _ trip.Trip) apitest.Answer { return w.ask("10") }
	for name, tt := range map[string]struct {
		first, second change
		old           func(*world, trip.Trip) table.Key
		status        int
		answer        string // a part of it
		rider, driver string // balances after it
	}{
		"corrected to the same, old receipt": {correct("30"), correct("30"), ofReceipt,
			200, `"finalFare":30,"previousFare":20,`, "-30", "24.75"},
		"corrected to the same, old trip": {correct("30"), correct("30"), ofTrip, 200, `"version":2`, "-30", "24.75"},
		"corrected back, old trip": {correct("30"), correct("20"), ofTrip,
			200, `"finalFare":20,"previousFare":30,`, "-20", "16.5"},
		"corrected, old receipt": {correct("30"), correct("40"), ofReceipt, 200, `"version":3`, "-40", "33"},
		"refunded twice, old receipt": {post(rider, "REFUND", "20"), post(rider, "REFUND", "20"), ofReceipt, 409,
			"20 are refunded", "0", "16.5"},
		"refunded twice, old wallet": {post(rider, "REFUND", "5"), post(rider, "REFUND", "5"), ofRider,
			201, `"balance":-10`, "-10", "16.5"},
		"refunded, then less fare, old receipt": {post(rider, "REFUND", "20"), correct("5"), ofReceipt,
			409, "refunded already", "0", "16.5"},
		"paid out twice, old wallet": {post(driver, "PAYOUT", "10"), post(driver, "PAYOUT", "10"), ofDriver, 409,
			"At most 6.5", "-20", "6.5"},
		"withdrawn twice, old wallet": {withdraw, withdraw, ofDriver, 409, "withdrawals hold 10", "-20", "16.5"},
		"withdrawn, then paid out, old wallet": {withdraw, post(driver, "PAYOUT", "10"), ofDriver,
			409, "At most 6.5", "-20", "16.5"},
	} {
		wire := &testkit.Wire{}
		w := newWorldOn(t, testkit.TableOnWire(t, wire), "USD")
		tr := w.settled("WALLET", "20")
		older := wire.Older(func() {
			_, err := w.tenant.Batch(t.Context(), ofTrip(w, tr), ofReceipt(w, tr), ofRider(w, tr), ofDriver(w, tr))
			testkit.Must(t, err)
		})
		if a := tt.first(w, tr); a.Status >= 300 {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		older.Serve(tt.old(w, tr))
		a := tt.second(w, tr)
		if !older.Served() {
			t.Errorf("%s: the second change did not read the item in its batch", name)
		}
		if a.Status != tt.status || !strings.Contains(a.Body, tt.answer) {
			t.Errorf("%s: %d %s, want %d with %s", name, a.Status, a.Body, tt.status, tt.answer)
		}
		if got := fmt.Sprint(w.balance(w.rider), " ", w.balance(w.driver)); got != tt.rider+" "+tt.driver {
			t.Errorf("%s: rider and driver have %s, want %s %s", name, got, tt.rider, tt.driver)
		}
	}
}

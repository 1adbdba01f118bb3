package receipt_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// correct corrects a fare as the operator.
func (w *world) correct(id, fare string, headers ...string) apitest.Answer {
	return w.Insist("POST", "/api/v1/trips/"+id+"/fare", w.tokens[""], fmt.Sprintf(
		`{"finalFare": %s, "reason": "A typo"}`, fare), headers...)
}

func (w *world) receipt(id, who string) receipt.Shown {
	w.t.Helper()
	path := "/api/v1/me/trips/"
	if who == "" {
		path = "/api/v1/trips/"
	}
	var out receipt.Shown
	w.Want(200, &out, "GET", path+id+"/receipt", w.tokens[who], "")
	return out
}

// TestCorrect: the wallets have what the last fare gives, and the receipt tells
// every correction.
func TestCorrect(t *testing.T) {
	w := newWorldInRounds(t)
	tr := w.settled("WALLET", "1850")
	for i, fare := range []string{"18.50", "20", "0", "18.5"} {
		w.Advance(1e9)
		var got receipt.Corrected
		a := w.correct(tr.ID, fare)
		a.Decode(t, &got)
		if a.Status != 200 || got.Version != i+2 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if u := w.Last().Usage; u.Sequential > 2 {
			t.Errorf("%d round trips", u.Sequential)
		}
	}
	if a := w.correct(tr.ID, "18.50"); a.Status != 200 || !strings.Contains(a.Body, `"version":5`) { // nothing to correct
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if rider, driver := w.balance(w.rider), w.balance(w.driver); rider != "-18.5" || driver != "15.26" {
		t.Errorf("rider %s, driver %s", rider, driver)
	}
	shown := w.receipt(tr.ID, w.rider)
	var story []string
	for _, c := range shown.Corrections {
		story = append(story, fmt.Sprintf("%d: %s to %s", c.Version, *c.Was, *c.Total))
	}
	if diff := cmp.Diff([]string{"2: 1850 to 18.5", "3: 18.5 to 20", "4: 20 to 0", "5: 0 to 18.5"}, story); diff != "" ||
		*shown.Total != "18.5" || shown.Version != 5 || shown.Driver.Value != nil {
		t.Errorf("receipt %+v: %s", shown, diff)
	}
	if pay := w.receipt(tr.ID, w.driver).Driver.Value; pay == nil || *pay.Amount != "15.26" || *pay.Commission != "3.24" {
		t.Errorf("the driver got %+v", pay)
	}
	log := w.receiptLog(tr.ID)
	if len(log) != 9 || log[8].Type != trip.EventFareCorrected || *log[8].Data.PreviousFare != "0" ||
		*log[4].Data.FinalFare != "1850" {
		t.Errorf("log: %+v", log)
	}
}

func (w *world) receiptLog(id string) []trip.LogEntry {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), trip.Key(w.tenant, id))
	testkit.Must(w.t, err)
	tr, err := trip.FromItem(it)
	testkit.Must(w.t, err)
	return tr.Log()
}

// TestCorrectRefuses: only a fare that was settled can be corrected.
func TestCorrectRefuses(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("CARD", "50")
	if a := w.post(w.rider, "REFUND", "40", `, "tripId": "`+tr.ID+`"`); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	open := w.completed("CASH", "5")
	open.Status, open.CompletedAt, open.FinalFare = trip.InProgress, nil, nil
	w.load(open.Item(w.tenant, 1))
	other := newWorldOn(t, w.DB, "USD").settled("CARD", "9")
	for _, tc := range []struct {
		id, fare string
		want     int
	}{{tr.ID, "39.99", 409}, {tr.ID, "40", 200}, {tr.ID, "-1", 400}, {tr.ID, "18.505", 400}, {tr.ID, "2001", 400},
		{open.ID, "5", 409}, {other.ID, "5", 404}, {ids.New(ids.Trip, apitest.Start), "5", 404}, {"trp_x", "5", 404}} {
		if a := w.correct(tc.id, tc.fare); a.Status != tc.want {
			t.Errorf("%s of %s: %d %s, want %d", tc.fare, tc.id, a.Status, a.Body, tc.want)
		}
	}
	for who, id := range map[string]string{w.rider: other.ID, w.driver: other.ID} {
		if a := w.Do("GET", "/api/v1/me/trips/"+id+"/receipt", w.tokens[who], ""); a.Status != 404 {
			t.Errorf("another's receipt: %d %s", a.Status, a.Body)
		}
	}
}

// TestCorrectUnsettled: a correction before the settlement loses nothing: the
// first fare is posted and reversed.
func TestCorrectUnsettled(t *testing.T) {
	w := newWorld(t, "JPY")
	for range 3 {
		tr := w.completed("CARD", "10500")
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for range 20 {
					if settle(w, tr) == nil {
						return
					}
				}
			})
		}
		group.Go(func() {
			if a := w.correct(tr.ID, "1050"); a.Status != 200 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
		group.Wait()
		if shown := w.receipt(tr.ID, w.rider); shown.Version != 2 || *shown.Total != "1050" {
			t.Errorf("receipt %+v", shown)
		}
	}
	if got := w.balance(w.driver); got != "2598" { // 1050 less 184 of 17.5 %, three times
		t.Errorf("driver %s", got)
	}
}

// TestCorrectUnsettledAtOnce: one transaction settles the trip and corrects it, in two
// round trips, and the settlement that comes later changes nothing.
func TestCorrectUnsettledAtOnce(t *testing.T) {
	w := newWorldInRounds(t)
	rules := settings.Default
	rules.Pricing.TaxRate = "0.1"
	w.load(settings.Kind.Item(w.tenant, "", rules))
	w.settled("WALLET", "10") // makes the wallets
	tr := w.completed("WALLET", "1850")
	a := w.correct(tr.ID, "20")
	if u := w.Last().Usage; a.Status != 200 || u.Sequential > 2 || !strings.Contains(a.Body, `"previousFare":1850,`) {
		t.Errorf("%d in %d round trips: %s", a.Status, u.Sequential, a.Body)
	}
	for range 2 {
		testkit.Must(t, settle(w, tr))
	}
	if rider, driver := w.balance(w.rider), w.balance(w.driver); rider != "-30" || driver != "24.75" {
		t.Errorf("rider %s, driver %s", rider, driver)
	}
	earlier, err := receipt.Earlier(t.Context(), w.tenant, tr.ID)
	testkit.Must(t, err)
	it, err := w.tenant.Get(t.Context(), receipt.Key(w.tenant, tr.ID))
	testkit.Must(t, err)
	now, err := receipt.FromItem(it)
	testkit.Must(t, err)
	if !receipt.Chain(append(earlier, now)) || *earlier[0].Total != "1850" || *now.TaxRate != "0.1" {
		t.Errorf("%+v, %+v", earlier, now)
	}
	for _, key := range []table.Key{customer.Key(w.tenant, w.rider), driver.Key(w.tenant, w.driver)} {
		it, err := w.tenant.Get(t.Context(), key)
		if testkit.Must(t, err); it.Int("totalTrips") != 2 {
			t.Errorf("%s has %d trips", key.PK, it.Int("totalTrips"))
		}
	}
	lost := w.settled("WALLET", "50") // a receipt that is lost is issued again, and nothing is posted twice
	tx := w.tenant.Write()
	tx.Delete(receipt.Key(w.tenant, lost.ID))
	testkit.Must(t, tx.Commit(t.Context()))
	if a := w.correct(lost.ID, "40"); a.Status != 200 || w.balance(w.rider) != "-70" {
		t.Errorf("%d %s: %s", a.Status, a.Body, w.balance(w.rider))
	}
	old := w.completed("CARD", "5")
	w.Advance(48 * time.Hour)
	w.tokens[""] = w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "MANAGE_WALLETS", "VIEW_TRIPS")
	if a := w.correct(old.ID, "4"); a.Status != 200 || w.balance(w.driver) != "61.05" {
		t.Errorf("%d %s: %s", a.Status, a.Body, w.balance(w.driver))
	}
}

// TestCorrectionsRace: concurrent corrections take effect one after the other, and
// a repeated correction takes effect once.
func TestCorrectionsRace(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("WALLET", "100")
	var group sync.WaitGroup
	for i := range 5 {
		for range 2 {
			group.Go(func() {
				if a := w.correct(tr.ID, fmt.Sprint(10+i), "Idempotency-Key", fmt.Sprint(i)); a.Status != 200 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
	}
	group.Wait()
	shown := w.receipt(tr.ID, "")
	if shown.Version != 6 || w.balance(w.rider) != "-"+string(*shown.Total) {
		t.Errorf("version %d of %s, balance %s", shown.Version, *shown.Total, w.balance(w.rider))
	}
	w.balance(w.driver)
}

// TestCorrectionsShown: a receipt shows its last hundred corrections, oldest first, as the
// document says.
func TestCorrectionsShown(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("CASH", "5")
	for n := range 102 {
		if a := w.correct(tr.ID, fmt.Sprint(10+n)); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if n != 98 && n != 99 && n != 101 {
			continue
		}
		shown := w.receipt(tr.ID, "").Corrections
		first, last := shown[0].Version, shown[len(shown)-1].Version
		if len(shown) != min(n+1, 100) || last != n+2 || first != last-len(shown)+1 {
			t.Errorf("after %d corrections: %d, from version %d to %d", n+1, len(shown), first, last)
		}
	}
}

// TestCorrectMakesWallet: a first fare that is posted to a wallet that does not exist
// yet makes it, with its owner's name.
func TestCorrectMakesWallet(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("WALLET", "") // nothing was posted to the rider
	if got := w.balance(w.rider); got != "none" {
		t.Fatalf("before: %s", got)
	}
	if a := w.correct(tr.ID, "20"); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	it, err := w.tenant.Get(t.Context(), wallet.Key(w.tenant, wallet.Customer, w.rider))
	testkit.Must(t, err)
	if rider, driver := w.balance(w.rider), w.balance(w.driver); rider != "-20" || driver != "16.5" ||
		it.Text("name") != "Rae Ride" || it.Text("currency") != "USD" {
		t.Errorf("rider %s (%s), driver %s", rider, it.Text("name"), driver)
	}
}

// TestTax: the lines of a receipt add up to its total, with the tax rate of the
// settlement.
func TestTax(t *testing.T) {
	w := newWorld(t, "USD")
	rules := settings.Default
	rules.Pricing.TaxRate = "0.08875"
	w.load(settings.Kind.Item(w.tenant, "", rules))
	tr := w.settled("CARD", "19.99")
	rules.Pricing.TaxRate = "0.2"
	w.load(settings.Kind.Item(w.tenant, "", rules))
	shown := w.receipt(tr.ID, w.rider)
	if tax := shown.Tax.Value; tax == nil || tax.Amount != "1.77" || tax.Net != "18.22" || len(shown.Lines) != 2 ||
		shown.Lines[1].Description != "Tax, 8.875 % of the total" {
		t.Errorf("%+v of %+v", tax, shown)
	}
	w.correct(tr.ID, "10")
	if *w.receipt(tr.ID, w.rider).Total != "10" || w.receipt(tr.ID, w.rider).Tax.Value.Amount != "0.89" {
		t.Errorf("corrected: %+v", w.receipt(tr.ID, w.rider).Tax.Value)
	}
}

// TestOldReceipt: a receipt of a build without versions is shown, corrected and
// refunded.
func TestOldReceipt(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.settled("WALLET", "20")
	it, err := w.tenant.Get(t.Context(), receipt.Key(w.tenant, tr.ID))
	testkit.Must(t, err)
	r, err := receipt.FromItem(it)
	testkit.Must(t, err)
	r.Version = 0
	old := table.Item{Key: it.Key, Type: "receipt", Doc: r}
	w.load(old)
	if shown := w.receipt(tr.ID, w.rider); shown.Version != 1 || *shown.Total != "20" || shown.Payment.Refunded != "0" {
		t.Errorf("%+v", shown)
	}
	if a := w.post(w.rider, "REFUND", "5", `, "tripId": "`+tr.ID+`"`); a.Status != 201 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	w.load(old)
	if a := w.correct(tr.ID, "30"); a.Status != 200 || w.receipt(tr.ID, w.rider).Version != 2 ||
		w.balance(w.rider) != "-25" {
		t.Errorf("%d %s, balance %s", a.Status, a.Body, w.balance(w.rider))
	}
}

// TestCorrectIfMatch: of two operators who saw the same fare, the second one's correction is refused.
func TestCorrectIfMatch(t *testing.T) {
	w := newWorld(t, "USD")
	id := w.settled("WALLET", "1850").ID
	tag := func() string {
		return w.Want(200, nil, "GET", "/api/v1/trips/"+id, w.tokens[""], "").Header.Get("ETag")
	}
	seen := tag()
	first := w.correct(id, "18.50", "If-Match", seen)
	if first.Status != 200 || first.Header.Get("ETag") != tag() {
		t.Errorf("%d, %s instead of %s", first.Status, first.Header.Get("ETag"), tag())
	}
	if a := w.correct(id, "20", "If-Match", seen); a.Status != 412 || w.balance(w.rider) != "-18.5" {
		t.Errorf("%d, the rider has %s", a.Status, w.balance(w.rider))
	}
	if a := w.correct(id, "18.5", "If-Match", tag()); a.Status != 200 || a.Header.Get("ETag") != tag() { // the same fare
		t.Errorf("%d, %s instead of %s", a.Status, a.Header.Get("ETag"), tag())
	}
}

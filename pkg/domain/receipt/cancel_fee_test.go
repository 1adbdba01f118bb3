package receipt_test

import (
	"fmt"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// charging sets the company's cancellation fee, and gives it a service type with a
// commission of a fifth. It returns the service type's id.
func (w *world) charging(fee string) string {
	w.t.Helper()
	rules := settings.Default
	rules.Pricing.CancellationFee, rules.Pricing.ChargeCancellation = "0", true
	if fee != "" {
		rules.Pricing.CancellationFee = money.Amount(fee)
	}
	s := settings.Service{ServiceType: settings.ServiceType{ID: ids.New(ids.Service, apitest.Start), Name: "Car",
		BaseFare: "1", Currency: w.currency(), Capacity: 4, Active: true}, CommissionRate: "0.2"}
	w.load(settings.Kind.Item(w.tenant, "", rules), settings.ServiceKind.Item(w.tenant, "", s))
	w.Advance(2e9) // a request may see settings that are a second old
	return s.ID
}

// requested requests a ride that is paid in cash, and lets the driver accept it and
// take the other steps.
func (w *world) requested(service string, steps ...string) trip.Trip {
	w.t.Helper()
	body := `{"originAddress":"A","originLat":1,"originLng":2`
	if service != "" {
		body += `,"serviceTypeId":"` + service + `"`
	}
	var tr trip.Trip
	w.Want(201, &tr, "POST", "/api/v1/me/trips", w.tokens[w.rider], body+"}")
	for _, step := range steps {
		w.Want(200, nil, "POST", "/api/v1/me/trips/"+tr.ID+"/"+step, w.tokens[w.driver], "")
	}
	return tr
}

func (w *world) cancels(id string) apitest.Answer {
	return w.Insist("POST", "/api/v1/me/trips/"+id+"/cancel", w.tokens[w.rider], "")
}

// now reads the trip from the table.
func (w *world) now(id string) trip.Trip {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), trip.Key(w.tenant, id))
	testkit.Must(w.t, err)
	tr, err := trip.FromItem(it)
	testkit.Must(w.t, err)
	return tr
}

// less returns a balance less an amount.
func less(balance, amount string) string {
	if balance == "none" {
		balance = "0"
	}
	return string(money.Of(money.Amount(balance).Decimal().Sub(money.Amount(amount).Decimal())))
}

// TestCancellationFee: a rider who cancels after a driver accepted owes the fee of the
// time of the request, once; the driver who came gets it less the commission.
func TestCancellationFee(t *testing.T) {
	w := newWorld(t, "USD")
	operator := w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "CREATE_TRIPS", "DELETE_TRIPS")
	service := w.charging("5.005") // rounded half to even
	for name, c := range map[string]struct {
		steps []string
		who   string // "" for the operator
		body  string
		want  int
		owes  bool
	}{
		"before a driver accepted": {nil, w.rider, "", 200, false},
		"after":                    {[]string{"accept"}, w.rider, `{"reason":"Late"}`, 200, true},
		"at the door":              {[]string{"accept", "arrived"}, w.rider, "", 200, true},
		"given back":               {[]string{"accept", "release"}, w.rider, "", 200, false},
		"under way":                {[]string{"accept", "arrived", "start"}, w.rider, "", 409, false},
		"by the operator":          {[]string{"accept"}, "", "", 200, false},
		"did not come":             {[]string{"accept", "arrived"}, "", `{"reason":"No show","fee":true}`, 200, true},
		"no driver, but a fee":     {nil, "", `{"fee":true}`, 409, false},
		"a fee under way":          {[]string{"accept", "arrived", "start"}, "", `{"fee":true}`, 409, false},
	} {
		tr := w.requested(service, c.steps...)
		if tr.CancellationFee == nil || *tr.CancellationFee != "5" {
			t.Fatalf("%s: requested %+v", name, tr)
		}
		path, token := "/api/v1/trips/", operator
		if c.who != "" {
			path, token = "/api/v1/me/trips/", w.tokens[c.who]
		}
		if a := w.Insist("POST", path+tr.ID+"/cancel", token, c.body); a.Status != c.want {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if now := w.now(tr.ID); now.Owes() != c.owes || now.Settles() != c.owes {
			t.Errorf("%s: owes %v", name, now.CancellationFee)
		}
		if c.owes {
			t.Run(name, func(t *testing.T) { w.paysFee(t, tr.ID, operator) })
		}
	}
	w.neverDrove()
}

// paysFee settles a cancelled trip, and checks that the rider has paid the fee of 5, once,
// and that only a refund gives it back.
func (w *world) paysFee(t *testing.T, id, operator string) {
	t.Helper()
	now, was, earned := w.now(id), w.balance(w.rider), w.balance(w.driver)
	for i := range 3 { // the stream repeats
		if done, err := receipt.Settle(t.Context(), w.tenant, now, w.Now()); err != nil || done != (i == 0) {
			t.Errorf("settled %v, %v", done, err)
		}
	}
	if w.balance(w.rider) != less(was, "5") || w.balance(w.driver) != less(earned, "-4") {
		t.Errorf("the rider had %s and has %s, the driver %s and %s", was, w.balance(w.rider), earned, w.balance(w.driver))
	}
	shown := w.receipt(id, w.rider)
	if len(shown.Lines) != 1 || shown.Lines[0].Type != "CANCELLATION_FEE" || *shown.Total != "5" ||
		shown.Payment.Type != "WALLET" || *shown.CompletedAt != now.UpdatedAt {
		t.Errorf("%+v", shown)
	}
	if a := w.correct(id, "1"); a.Status != 409 {
		t.Errorf("the fare of a cancelled trip: %d %s", a.Status, a.Body)
	}
	if a := w.Insist("DELETE", "/api/v1/trips/"+id, operator, ""); a.Status != 409 {
		t.Errorf("deleted: %d %s", a.Status, a.Body)
	}
	for _, refund := range []struct {
		amount string
		want   int
	}{{"5.01", 409}, {"5", 201}, {"0.01", 409}} {
		if a := w.post(w.rider, "REFUND", refund.amount, `, "tripId": "`+id+`"`); a.Status != refund.want {
			t.Errorf("%s refunded: %d %s", refund.amount, a.Status, a.Body)
		}
	}
}

// neverDrove checks that no trip counts for the driver or the rider.
func (w *world) neverDrove() {
	w.t.Helper()
	for _, key := range []table.Key{driver.Key(w.tenant, w.driver), customer.Key(w.tenant, w.rider)} {
		it, err := w.tenant.Get(w.t.Context(), key)
		testkit.Must(w.t, err)
		if n := it.Int("totalTrips"); n != 0 {
			w.t.Errorf("%s has %d trips", key.PK, n)
		}
	}
}

// TestNoFee: without a fee, and for rides that were requested before it, nothing is
// owed or shown.
func TestNoFee(t *testing.T) {
	w := newWorld(t, "JPY")
	w.charging("")
	before := w.requested("", "accept")
	w.charging("0.4") // no whole yen
	tiny := w.requested("", "accept")
	w.charging("1e12")
	typo := w.requested("", "accept")
	for _, tr := range []trip.Trip{before, tiny} {
		if a := w.cancels(tr.ID); a.Status != 200 || w.now(tr.ID).Settles() || tr.CancellationFee != nil {
			t.Errorf("%d %s: %+v", a.Status, a.Body, tr.CancellationFee)
		}
		if a := w.Do("GET", "/api/v1/me/trips/"+tr.ID+"/receipt", w.tokens[w.rider], ""); a.Status != 409 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if typo.CancellationFee == nil || *typo.CancellationFee != "310000" { // the largest fare
		t.Errorf("a typo: %v", typo.CancellationFee)
	}
}

// TestCancelAgainstStart: a rider's cancellation, an operator's and the driver's start at
// once: exactly one wins, and the fee is owed only if the rider's does.
func TestCancelAgainstStart(t *testing.T) {
	w := newWorld(t, "USD")
	operator := w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "CREATE_TRIPS")
	service, fees := w.charging("5"), 0
	for range 6 {
		tr := w.requested(service, "accept", "arrived")
		var group sync.WaitGroup
		var won [4]bool
		for i, one := range []struct{ path, token string }{
			{"/api/v1/me/trips/" + tr.ID + "/cancel", w.tokens[w.rider]},
			{"/api/v1/me/trips/" + tr.ID + "/cancel", w.tokens[w.rider]},
			{"/api/v1/me/trips/" + tr.ID + "/start", w.tokens[w.driver]},
			{"/api/v1/me/trips/" + tr.ID + "/release", w.tokens[w.driver]},
		} {
			group.Go(func() {
				a := w.Insist("POST", one.path, one.token, "")
				if won[i] = a.Status == 200; !won[i] && a.Status != 409 && a.Status != 404 {
					t.Errorf("%s: %d %s", one.path, a.Status, a.Body)
				}
			})
		}
		group.Wait()
		now := w.now(tr.ID)
		owes := (won[0] != won[1]) && !won[2] && !won[3]
		if won[0] && won[1] || won[2] && won[3] || now.Owes() != owes {
			t.Errorf("%v: %s, owes %v", won, now.Status, now.CancellationFee)
		}
		for range 4 {
			group.Go(func() {
				if now.Settles() {
					for range 20 { // a busy table is an error, after which the stream repeats
						if settle(w, now) == nil {
							return
						}
					}
				}
			})
		}
		if group.Wait(); owes {
			fees++
		}
		if now.Status == trip.InProgress || now.Status == trip.Searching {
			w.Want(200, nil, "POST", "/api/v1/trips/"+tr.ID+"/cancel", operator, "")
		}
	}
	rider, want := w.balance(w.rider), fmt.Sprint(-5*fees)
	if fees == 0 {
		want = "none"
	}
	if rider != want {
		t.Errorf("the rider has %s after %d fees", rider, fees)
	}
}

// TestFeeAfterNote: a note after the cancellation does not move the postings, and a
// receipt that is lost is written again without a second posting.
func TestFeeAfterNote(t *testing.T) {
	w := newWorld(t, "USD")
	tr := w.requested(w.charging("5"), "accept")
	w.cancels(tr.ID)
	owing := w.now(tr.ID)
	testkit.Must(t, settle(w, owing))
	rider := w.balance(w.rider)
	noted := owing.Note(trip.EventRated, trip.BySystem(), trip.LogData{}, w.Now().Add(1e9))
	w.load(noted.Item(w.tenant, 1))
	tx := w.tenant.Write()
	tx.Delete(receipt.Key(w.tenant, tr.ID))
	testkit.Must(t, tx.Commit(t.Context()))
	_, err := receipt.Resettle(t.Context(), w.tenant, w.now(tr.ID), w.Now())
	if err != nil || w.balance(w.rider) != rider {
		t.Errorf("%v: the rider had %s, and has %s", err, rider, w.balance(w.rider))
	}
	if it, err := w.tenant.Get(t.Context(), receipt.Key(w.tenant, tr.ID)); err != nil || !it.Found() {
		t.Errorf("no receipt: %v", err)
	}
}

package trip_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// exchange is an office of a company in Germany whose operator answers calls.
type exchange struct {
	*office
	t *testing.T
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	stand := apitest.New(t, db, slices.Concat(trip.Rows(), fleet.Rows(db), customer.Rows(), driver.Rows())...)
	w := &exchange{t: t, office: &office{town: settle(t, stand, 1, 0, 1), boss: ids.New(ids.Person, apitest.Start)}}
	w.wire = wire
	w.found(w.tenant, "DE")
	w.token = w.answers(w.tenant)
	return w
}

func (w *exchange) found(n table.Tenant, country string) {
	testkit.Must(w.t, n.Load(w.t.Context(), table.Item{Key: tenant.Key(n), Type: "tenant", Version: 1,
		Doc: tenant.Tenant{ID: n.ID(), Slug: "ort", Name: "Ort", Currency: "EUR", Timezone: "Europe/Berlin",
			Country: country}}))
}

func (w *exchange) answers(n table.Tenant) string {
	return w.Token(n, authz.Dashboard, ids.New(ids.Person, apitest.Start), "VIEW_TRIPS", "CREATE_TRIPS",
		"VIEW_CUSTOMERS", "CREATE_CUSTOMERS", "VIEW_DRIVERS", "CREATE_DRIVERS")
}

func call(phone, more string) string {
	return fmt.Sprintf(`{"phone":%q%s,`, phone, more) + strings.TrimPrefix(ride, "{")
}

// calls books for a caller and returns the rider.
func (w *exchange) calls(phone, more string) string {
	w.t.Helper()
	var got trip.Trip
	w.Want(http.StatusCreated, &got, "POST", "/api/v1/trips", w.token, call(phone, more))
	return got.CustomerID
}

// add adds a customer by the API.
func (w *exchange) add(body string) customer.Customer {
	w.t.Helper()
	var got customer.Customer
	w.Want(http.StatusCreated, &got, "POST", "/api/v1/customers", w.token, body)
	return got
}

// older stores a customer whom nobody has put into a row. Search rows are there.
func (w *exchange) older(name, phone string) string {
	w.t.Helper()
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: name, Phone: &phone,
		CreatedAt: "2026-01-01T00:00:00.000Z"}}
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), customer.Item(w.tenant, r, 1)))
	w.project(r.ID)
	return r.ID
}

// project writes the search rows of a customer, as the stream's reader does.
func (w *exchange) project(id string) {
	w.t.Helper()
	_, err := projection.Step{Now: w.Now}.Tenant(w.t.Context(), w.tenant, []table.Key{customer.Key(w.tenant, id)})
	testkit.Must(w.t, err)
}

// inTwo books for a caller in at most two round trips.
func (w *exchange) inTwo(phone string) string {
	w.t.Helper()
	id := w.calls(phone, "")
	if u := w.Last().Usage; u.Sequential > 2 {
		w.t.Errorf("%s: %d round trips", phone, u.Sequential)
	}
	return id
}

func (w *exchange) customers() (out []customer.Customer) {
	w.t.Helper()
	var page struct{ Items []customer.Customer }
	w.Want(http.StatusOK, &page, "GET", "/api/v1/customers?limit=200", w.token, "")
	return page.Items
}

// A new caller becomes a customer, whom the next call finds in any form of the number.
func TestCallerIsFoundAgain(t *testing.T) {
	w := newExchange(t)
	id := w.calls("030 901820", `,"name":"Iris Novak"`)
	for _, typed := range []string{"+4930901820", "+49 (0)30 90 18 20", "0049 30 901820", "(030) 901820", "030/90 18 20",
		"tel:+49-30-901820", "٠٣٠ ٩٠١٨٢٠", "+49 30 901820 ext. 5"} {
		if got := w.calls(typed, ""); got != id {
			t.Errorf("%s finds another customer", typed)
		}
	}
	list := w.customers()
	if len(list) != 1 || list[0].Name != "Iris Novak" || list[0].Email != "" || *list[0].Phone != "030 901820" {
		t.Errorf("customers: %+v", list)
	}
	other := w.calls("+49 30 901821", "")
	unnamed := func(c customer.Customer) bool { return c.ID == other && c.Name == "+4930901821" }
	if !slices.ContainsFunc(w.customers(), unnamed) {
		t.Errorf("another number: %+v", w.customers())
	}
}

// A booking by phone takes two round trips: for a new number and a known one, for an
// older customer, in national form and with the country code, also where rides must
// begin in a zone.
func TestCallerInTwoRoundTrips(t *testing.T) {
	w := newExchange(t)
	rules := settings.Default
	rules.Dispatch.ServiceArea = settings.StrictArea
	box, err := settings.Box("-75", "40", "-73", "41")
	testkit.Must(t, err)
	w.load(settings.Kind.Item(w.tenant, "", rules))
	_, err = settings.AddZone(t.Context(), w.tenant, audit.By{Who: "svc:test", At: apitest.Start},
		settings.Zone{Name: "Town", Active: true, Area: box})
	testkit.Must(t, err)
	w.wire.Rounds(true)
	for i, form := range []string{"+49 30 90185", "030 90185", "(030) 9 01 85-", "0049 30 90185"} {
		number := fmt.Sprintf("%s%d", form, i)
		id := w.inTwo(number)
		w.project(id)
		if got := w.inTwo(number); got != id {
			t.Errorf("%s finds %s", number, got)
		}
		for _, again := range []string{fmt.Sprintf("+49 30 90185%d", i), fmt.Sprintf("030 90185%d", i)} {
			if got := w.inTwo(again); got != id {
				t.Errorf("%s finds %s", again, got)
			}
		}
	}
	for i, form := range []string{"+49 30 90186%d", "030 90186%d"} {
		id := w.numbered(fmt.Sprintf("030/90186%d", i))
		for range 2 {
			if got := w.inTwo(fmt.Sprintf(form, i)); got != id {
				t.Errorf("an older customer: %s finds %s", form, got)
			}
		}
	}
	if n := len(w.customers()); n != 6 {
		t.Errorf("%d customers", n)
	}
}

// numbered stores an older customer whose number the projection has read.
func (w *exchange) numbered(phone string) string {
	w.t.Helper()
	r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "Berta",
		Phone: &phone, CreatedAt: "2026-01-01T00:00:00.000Z"}, Number: plans.Read(phone, "DE")}
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), customer.Item(w.tenant, r, 1)))
	w.project(r.ID)
	return r.ID
}

// If the last digits do not decide whose number it is, every customer who may have it is
// read: two customers with the same last digits, a longer number, a customer who is
// disabled or has another number by now.
func TestCallersWithTheSameLastDigits(t *testing.T) {
	w := newExchange(t)
	berlin, abroad := w.numbered("030 12345678"), w.numbered("+43 1 12345678")
	longer := w.numbered("030 123456789")
	for typed, want := range map[string]string{"030 12345678": berlin, "+43 1 12345678": abroad,
		"+49 30 12345678": berlin, "030 123456789": longer, "0043 1 12345678": abroad} {
		for range 2 {
			if got := w.calls(typed, ""); got != want {
				t.Errorf("%s finds %s, want %s", typed, got, want)
			}
		}
	}
	if got := w.calls("040 12345678", ""); slices.Contains([]string{berlin, abroad, longer}, got) {
		t.Error("another city finds the customer")
	}
	gone := w.numbered("030 23456789")
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+gone, w.token, `{"phone":"030 23456780"}`)
	if got := w.calls("030 23456789", ""); got == gone { // the search rows still say so
		t.Error("booked for a customer who has another number")
	}
	off := w.numbered("030 34567890")
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+off, w.token, `{"disabled":true}`)
	if a := w.Do("POST", "/api/v1/trips", w.token, call("030 34567890", "")); a.Status != http.StatusConflict {
		t.Errorf("disabled: %d %s", a.Status, a.Body)
	}
	added, twin := w.add(`{"name":"Ada","phone":"030 45678901"}`).ID, w.numbered("+49 30 45678901")
	for _, typed := range []string{"030 45678901", "+49 30 45678901"} {
		if a := w.Do("POST", "/api/v1/trips", w.token, call(typed, "")); a.Status != http.StatusConflict ||
			!strings.Contains(a.Body, added) || !strings.Contains(a.Body, twin) {
			t.Errorf("two customers: %d %s", a.Status, a.Body)
		}
	}
}

// Whoever answers the phones at once makes one customer for one caller.
func TestRaceCallersMakeOneCustomer(t *testing.T) {
	w := newExchange(t)
	w.allow(-1)
	for round := range 5 {
		number := fmt.Sprintf("+49 30 90183%d", round)
		forms := []string{number, strings.Replace(number, "+49 ", "0", 1)}
		byStatus, answers := together(10, func(i int) apitest.Answer {
			return w.Insist("POST", "/api/v1/trips", w.token, call(forms[i%2], ""))
		})
		if byStatus[http.StatusCreated] != 10 {
			t.Fatalf("%v: %s", byStatus, answers[0].Body)
		}
		riders := map[string]bool{}
		for _, a := range answers {
			var one trip.Trip
			a.Decode(t, &one)
			riders[one.CustomerID] = true
		}
		if len(riders) != 1 || len(w.customers()) != round+1 {
			t.Errorf("%d riders of %d customers", len(riders), len(w.customers()))
		}
	}
}

// An operator who adds a customer and one who books for the same caller at once make
// one customer, or two of whom the next booking asks.
func TestRaceCallerAndNewCustomer(t *testing.T) {
	w := newExchange(t)
	for round := range 10 {
		number := fmt.Sprintf("+49 30 90184%d", round)
		_, answers := together(2, func(i int) apitest.Answer {
			if i == 0 {
				return w.Insist("POST", "/api/v1/customers", w.token, fmt.Sprintf(`{"name":"Ada","phone":%q}`, number))
			}
			return w.Insist("POST", "/api/v1/trips", w.token, call(number, ""))
		})
		var added customer.Customer
		var booked trip.Trip
		answers[0].Decode(t, &added)
		answers[1].Decode(t, &booked)
		a := w.Insist("POST", "/api/v1/trips", w.token, call(number, ""))
		var again trip.Trip
		switch same := added.ID == booked.CustomerID; {
		case same && a.Status == http.StatusCreated:
			if a.Decode(t, &again); again.CustomerID != added.ID {
				t.Errorf("booked for %s, not %s", again.CustomerID, added.ID)
			}
		case same || a.Status != http.StatusConflict || !strings.Contains(a.Body, added.ID) ||
			!strings.Contains(a.Body, booked.CustomerID):
			t.Errorf("%v: %d %s", same, a.Status, a.Body)
		}
	}
}

// A retry with the same key makes one customer and one trip.
func TestRaceSameKeyOfACaller(t *testing.T) {
	w := newExchange(t)
	byStatus, answers := together(10, func(int) apitest.Answer {
		return w.Insist("POST", "/api/v1/trips", w.token, call("030 901825", ""), "Idempotency-Key", "call-1")
	})
	if byStatus[http.StatusCreated] != 10 || len(w.customers()) != 1 || len(w.mineOf(w.customers()[0].ID)) != 1 {
		t.Errorf("%v, %d customers: %s", byStatus, len(w.customers()), answers[0].Body)
	}
}

func (w *exchange) mineOf(rider string) []trip.Trip {
	w.t.Helper()
	var page struct{ Items []trip.Trip }
	w.Want(http.StatusOK, &page, "GET", "/api/v1/trips?customerId="+rider, w.token, "")
	return page.Items
}

// Customers from before callers had rows are found by the search, also one whose
// number nobody has read yet.
func TestOlderCustomerCalls(t *testing.T) {
	w := newExchange(t)
	w.wire.Rounds(true)
	id := w.older("Berta", "030 - 90 18 26")
	if got := w.calls("+4930901826", `,"name":"Somebody"`); got != id {
		t.Errorf("booked for %s", got)
	}
	if u := w.Last().Usage; u.Sequential > 5 {
		t.Errorf("the first call of an older customer takes %d round trips", u.Sequential)
	}
	if got := w.calls("0049 30 901826", ""); got != id {
		t.Errorf("booked for %s", got)
	}
	if longer := w.calls("+49309018261", ""); longer == id {
		t.Error("a longer number finds the customer")
	}
}

// Two customers with one number: the operator is asked, with both identifiers.
func TestSharedPhone(t *testing.T) {
	w := newExchange(t)
	older := w.older("Berta", "030 901827")
	added := w.add(`{"name":"Carl","phone":"+49 30 901827"}`).ID
	var body struct {
		Error   string
		Details []struct{ Field, Message string }
	}
	w.Want(http.StatusConflict, &body, "POST", "/api/v1/trips", w.token, call("030 901827", ""))
	got := []string{}
	for _, d := range body.Details {
		if got = append(got, d.Message); d.Field != "body.customerId" {
			t.Errorf("%+v", d)
		}
	}
	if slices.Sort(got); body.Error != "invalid_state" || !slices.Equal(got, slices.Sorted(slices.Values([]string{older,
		added}))) {
		t.Errorf("%+v", body)
	}
	w.Want(http.StatusCreated, nil, "POST", "/api/v1/trips", w.token, w.booking(added, ""))
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+older, w.token, `{"disabled":true}`)
	if got := w.calls("030 901827", ""); got != added {
		t.Errorf("booked for %s", got)
	}
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+added, w.token, `{"disabled":true}`)
	if a := w.Do("POST", "/api/v1/trips", w.token, call("030 901827", "")); a.Status != http.StatusConflict ||
		!strings.Contains(a.Body, "disabled") {
		t.Errorf("all are disabled: %d %s", a.Status, a.Body)
	}
}

// A number that moves from one customer to another moves the bookings, and a number
// that is given up is free.
func TestPhoneMoves(t *testing.T) {
	w := newExchange(t)
	ada := w.calls("030 901828", `,"name":"Ada"`)
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+ada, w.token, `{"phone":"030 901829"}`)
	if got := w.calls("030 901829", ""); got != ada {
		t.Errorf("the new number finds %s", got)
	}
	bob := w.calls("030 901828", `,"name":"Bob"`)
	if bob == ada {
		t.Error("the old number still finds Ada")
	}
	for body, want := range map[string]int{`{"phone":null}`: http.StatusBadRequest, `{"phone":"030 1"}`: http.StatusOK} {
		w.Want(want, nil, "PATCH", "/api/v1/customers/"+bob, w.token, body) // he has no mail address
	}
	w.Want(http.StatusOK, nil, "PATCH", "/api/v1/customers/"+ada, w.token, `{"phone":"+49 30 901828"}`)
	if got := w.calls("030 901828", ""); got != ada {
		t.Errorf("the number finds %s", got)
	}
}

// A booking says who it is for in one way, with a number that exists.
func TestCallerInput(t *testing.T) {
	w := newExchange(t)
	id := w.calls("030 901830", "")
	for name, tt := range map[string]struct{ body, field string }{
		"neither":            {ride, "body.customerId"},
		"both":               {w.booking(id, `,"phone":"030 901830"`), "body.phone"},
		"name alone":         {w.booking(id, `,"name":"Ada"`), "body.name"},
		"no number":          {call("call me", ""), "body.phone"},
		"too short":          {call("030", ""), "body.phone"},
		"zero in the middle": {call("+49 030 9018", `,"name":"\u0000"`), "body.name"},
		"vanity":             {call("0800 FLOWERS1", ""), "body.phone"},
		"control":            {call("030 90\n1830", ""), "body.phone"},
	} {
		if a := w.Do("POST", "/api/v1/trips", w.token, tt.body); a.Status != http.StatusBadRequest ||
			!strings.Contains(a.Body, tt.field) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if n := len(w.customers()); n != 1 {
		t.Errorf("%d customers", n)
	}
}

// A company without a country learns why it must dial the country code, and what to do.
func TestCallerWithoutCountry(t *testing.T) {
	w := newExchange(t)
	abroad := w.Stand.Tenant("EUR", 1)
	w.found(abroad, "")
	token := w.answers(abroad)
	a := w.Want(http.StatusBadRequest, nil, "POST", "/api/v1/trips", token, call("030 901831", ""))
	if !strings.Contains(a.Body, "the company has no country (svc tenant set SLUG --country)") {
		t.Error(a.Body)
	}
	w.Want(http.StatusCreated, nil, "POST", "/api/v1/trips", token, call("+49 30 901831", ""))
}

// Another company's caller is another customer.
func TestCallersOfTwoCompanies(t *testing.T) {
	w := newExchange(t)
	here := w.calls("030 901831", "")
	other := w.Stand.Tenant("EUR", 1)
	w.found(other, "DE")
	token, there := w.answers(other), trip.Trip{}
	w.Want(http.StatusCreated, &there, "POST", "/api/v1/trips", token, call("030 901831", ""))
	if there.CustomerID == here {
		t.Error("the other company found our customer")
	}
	if a := w.Do("GET", "/api/v1/customers/"+here, token, ""); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Whom an operator has added is found at once, also before search rows are written.
func TestAddedCustomerCalls(t *testing.T) {
	w := newExchange(t)
	added := w.add(`{"name":"Carl","phone":"0170 1234567"}`)
	if got := w.calls("+49 170 1234567", ""); got != added.ID || added.Email != "" {
		t.Errorf("booked for %s, added %+v", got, added)
	}
	if a := w.Do("POST", "/api/v1/customers", w.token, `{"name":"Nobody"}`); a.Status != http.StatusBadRequest ||
		!strings.Contains(a.Body, "body.email") {
		t.Errorf("neither mail address nor phone: %d %s", a.Status, a.Body)
	}
	w.Advance(time.Second)
	if a := w.Do("PATCH", "/api/v1/customers/"+added.ID, w.token, `{"disabled":true}`); a.Status != http.StatusOK {
		t.Errorf("disabled: %d %s", a.Status, a.Body)
	}
	if a := w.Do("PATCH", "/api/v1/customers/"+added.ID, w.token, `{"disabled":false}`); a.Status != http.StatusOK {
		t.Errorf("enabled: %d %s", a.Status, a.Body)
	}
}

// Whoever is erased has no number, so the next call makes a new customer.
func TestErasedCallerIsFree(t *testing.T) {
	w := newExchange(t)
	gone, stays := w.calls("030 901832", ""), w.add(`{"name":"Ada","phone":"030 901833"}`).ID
	shares := w.add(`{"name":"Bea","phone":"030 901833"}`).ID
	for _, id := range []string{gone, shares} {
		it, err := w.tenant.Get(t.Context(), customer.Key(w.tenant, id))
		testkit.Must(t, err)
		erased, err := customer.Erased(w.tenant, it, "2026-03-01T12:00:00.000Z")
		testkit.Must(t, err)
		had, err := customer.FromItem(it)
		testkit.Must(t, err)
		tx := w.tenant.Write()
		tx.Replace(erased)
		testkit.Must(t, tx.Commit(t.Context()))
		testkit.Must(t, customer.Forget(t.Context(), w.tenant, id, had.Number.E164))
	}
	row, err := w.tenant.Get(t.Context(), customer.CallerKey(w.tenant, "4930901832"))
	if testkit.Must(t, err); row.Found() {
		t.Error("the row of an erased customer is still there")
	}
	if got := w.calls("030 901832", ""); got == gone {
		t.Error("booked for an erased customer")
	}
	if got := w.calls("030 901833", ""); got != stays {
		t.Errorf("booked for %s", got)
	}
}

package statement_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/statement"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// world is a tenant with one driver.
type world struct {
	*apitest.Stand
	t                testing.TB
	tenant           table.Tenant
	driver, op, mine string // the driver's id, and tokens
	currency         string
}

func newWorld(t testing.TB, currency, zone string) *world {
	t.Helper()
	rows := append(receipt.WalletRows(), receipt.TripRows()...)
	stand := apitest.New(t, testkit.Table(t), append(rows, statement.Rows()...)...)
	w := &world{Stand: stand, t: t, tenant: stand.Tenant(currency, 1), driver: ids.New(ids.Driver, apitest.Start),
		currency: currency}
	name, color := "Metro", "#0a7"
	testkit.Must(t, w.tenant.Load(t.Context(),
		driver.Item(w.tenant, driver.Record{Driver: driver.Driver{ID: w.driver, FirstName: "=Dana", LastName: "<Drive>",
			Email: "d@x.example", Status: driver.Online}}, 1),
		table.Item{Key: tenant.Key(w.tenant), Type: "tenant", Doc: tenant.Tenant{Name: "Metro", Timezone: zone}},
		table.Item{Key: branding.Key(w.tenant), Type: "branding", Doc: branding.Branding{AppName: &name,
			PrimaryColor: &color}}))
	w.op = stand.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "MANAGE_WALLETS", "VIEW_WALLETS")
	w.mine = stand.Token(w.tenant, authz.Driver, w.driver)
	testkit.InRounds(t, w.DB)
	return w
}

// ride stores a trip that was completed at the time, and settles it. A rate of "" is
// none.
func (w *world) ride(at time.Time, payment, fare, rate string) trip.Trip {
	w.t.Helper()
	return w.settle(w.unsettled(at, payment, fare, rate), at)
}

func (w *world) settle(tr trip.Trip, at time.Time) trip.Trip {
	w.t.Helper()
	testkit.Must(w.t, w.tenant.Load(w.t.Context(), tr.Item(w.tenant, 1)))
	if done, err := receipt.Settle(w.t.Context(), w.tenant, tr, at.Add(time.Second)); err != nil || !done {
		w.t.Fatalf("settle: %v, %v", done, err)
	}
	return tr
}

func (w *world) unsettled(at time.Time, payment, fare, rate string) trip.Trip {
	text := timestamp.Format(at)
	tr := trip.Trip{ID: ids.New(ids.Trip, at), TripCode: ids.Code(), Status: trip.Completed, DriverID: &w.driver,
		CustomerID: ids.New(ids.Customer, at), OriginAddress: "a", OriginLat: "1", OriginLng: "2", PaymentType: payment,
		Currency: w.currency, RequestedAt: text, AcceptedAt: &text, ArrivedAt: &text, StartedAt: &text, CompletedAt: &text,
		UpdatedAt: text, Version: 5}
	number := func(s string) *money.Amount {
		if s == "" {
			return nil
		}
		n := money.Amount(s)
		return &n
	}
	tr.FinalFare, tr.CommissionRate = number(fare), number(rate)
	return tr
}

func (w *world) post(kind, amount string) {
	w.t.Helper()
	w.Want(201, nil, "POST", "/api/v1/wallets/postings", w.op, fmt.Sprintf(
		`{"driverId":%q,"type":%q,"amount":%s,"description":"=HYPERLINK(1);x"}`, w.driver, kind, amount))
}

func (w *world) correct(id, fare string) {
	w.t.Helper()
	w.Want(200, nil, "POST", "/api/v1/trips/"+id+"/fare", w.op, `{"finalFare":`+fare+`,"reason":"A typo"}`)
}

func (w *world) month(month string) (s statement.Statement) {
	w.t.Helper()
	w.Want(200, &s, "GET", "/api/v1/me/statements/"+month, w.mine, "")
	w.agrees(s)
	return s
}

// agrees checks that a statement's sums are those of its entries.
func (w *world) agrees(s statement.Statement) {
	w.t.Helper()
	sum := s.OpeningBalance.Decimal()
	for _, e := range s.Entries {
		if sum = sum.Add(e.Amount.Decimal()); !sum.Equal(e.Balance.Decimal()) {
			w.t.Errorf("%s: %s after %+v, not %s", s.Month, e.Balance, e, sum)
		}
		if e.Fare != nil && !e.Fare.Decimal().Sub(e.Commission.Decimal()).Sub(e.Outside.Decimal()).
			Equal(e.Amount.Decimal()) {
			w.t.Errorf("%s: the parts of %+v", s.Month, e)
		}
	}
	closing := s.ClosingBalance.Decimal()
	parts := decimal.Sum(s.OpeningBalance.Decimal(), s.Earnings.Decimal(), s.TopUps.Decimal(),
		s.Payouts.Decimal(), s.Adjustments.Decimal())
	shares := s.Fares.Decimal().Sub(s.Commission.Decimal()).Sub(s.Outside.Decimal())
	if !sum.Equal(closing) || !parts.Equal(closing) || !shares.Equal(s.Earnings.Decimal()) {
		w.t.Errorf("%s: entries %s, parts %s, closing %s, shares %s of %+v", s.Month, sum, parts, closing, shares, s)
	}
}

// A month is the tenant's, its sums are those of the ledger, and one month closes
// with the balance with which the next one opens.
func TestMonths(t *testing.T) {
	w := newWorld(t, "USD", "Pacific/Auckland") // 13 hours ahead of UTC in January
	zone, err := time.LoadLocation("Pacific/Auckland")
	testkit.Must(t, err)
	local := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, zone)
	}
	w.Advance(local(4, 2, 12, 0).Sub(apitest.Start))
	w.ride(local(1, 31, 23, 59), "CASH", "20.05", "0.175")
	typo := w.ride(local(2, 1, 0, 0), "CARD", "1000", "0.2")
	w.ride(local(2, 28, 23, 59), "WALLET", "10.01", "0.333")
	w.ride(local(3, 1, 0, 0), "CARD", "7", "")
	w.ride(local(3, 5, 0, 0), "CARD", "", "0.2")
	w.correct(typo.ID, "10")
	w.correct(typo.ID, "12.34")
	w.post("TOP_UP", "50")
	w.post("PAYOUT", "1.5")
	w.post("ADJUSTMENT", "-0.25")
	for _, want := range []statement.Statement{
		{Month: "2025-12", OpeningBalance: "0", ClosingBalance: "0", Fares: "0", Commission: "0", Outside: "0"},
		{Month: "2026-01", Rides: 1, OpeningBalance: "0", ClosingBalance: "-3.51", Fares: "20.05", Commission: "3.51",
			Outside: "20.05"},
		{Month: "2026-02", Rides: 2, OpeningBalance: "-3.51", ClosingBalance: "803.17", Fares: "1010.01",
			Commission: "203.33", Outside: "0"},
		{Month: "2026-03", Rides: 2, OpeningBalance: "803.17", ClosingBalance: "803.17", Fares: "7", Commission: "7",
			Outside: "0"},
		{Month: "2026-04", OpeningBalance: "803.17", ClosingBalance: "61.29", Fares: "-987.66", Commission: "-197.53",
			Outside: "0"},
	} {
		got := w.month(want.Month)
		if got.Rides != want.Rides || got.OpeningBalance != want.OpeningBalance || got.Fares != want.Fares ||
			got.ClosingBalance != want.ClosingBalance || got.Commission != want.Commission || got.Outside != want.Outside {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if trips := w.Last().Usage.Sequential; trips > 2 && want.Month != "2026-02" && want.Month != "2026-04" {
			t.Errorf("%s: %d round trips", want.Month, trips)
		}
	}
	if s := w.month("2026-01"); s.From != "2025-12-31T11:00:00.000Z" || s.To != "2026-01-31T11:00:00.000Z" {
		t.Errorf("%s to %s", s.From, s.To)
	}
	var operators statement.Statement
	w.Want(200, &operators, "GET", "/api/v1/drivers/"+w.driver+"/statements/2026-02", w.op, "")
	if w.agrees(operators); operators.DriverName != "=Dana <Drive>" {
		t.Errorf("%+v", operators)
	}
}

// TestReversalComesFirst: a correction takes the old amount back before it posts the new one,
// so no entry shows a balance that the driver never had.
func TestReversalComesFirst(t *testing.T) {
	w := newWorld(t, "USD", "UTC")
	for range 8 { // the identifiers of the two postings are in either order
		ride := w.ride(w.Now(), "CASH", "18.5", "0.2")
		w.Advance(time.Minute)
		w.correct(ride.ID, "17.5")
		w.Advance(time.Minute)
	}
	entries := w.month(w.Now().Format("2006-01")).Entries
	if len(entries) != 24 {
		t.Fatalf("%d entries", len(entries))
	}
	for i := 0; i < len(entries); i += 3 {
		if was, back, now := entries[i].Amount, entries[i+1].Amount, entries[i+2].Amount; was != "-3.7" ||
			back != "3.7" || now != "-3.5" {
			t.Errorf("the ride's entries are %s, %s, %s", was, back, now)
		}
	}
}

// The file of a statement has a line for each entry, and nothing that a spreadsheet
// computes. The page has the same sums.
func TestForms(t *testing.T) {
	w := newWorld(t, "JPY", "Asia/Tokyo")
	w.ride(w.Now(), "CASH", "1801", "0.175")
	w.Advance(time.Minute) // the order of what is posted at once follows from the identifiers
	w.post("TOP_UP", "12000")
	month := w.Now().Format("2006-01")
	path := "/api/v1/drivers/" + w.driver + "/statements/" + month
	a := w.Want(200, nil, "GET", path, w.op, "", "Accept", "text/csv")
	lines, err := csv.NewReader(strings.NewReader(a.Body)).ReadAll()
	if err != nil || len(lines) != 5 || lines[1][2] != "OPENING" || lines[4][2] != "CLOSING" ||
		lines[2][5] != "1801" || lines[2][8] != "-315" || lines[4][9] != "11685" || lines[3][3] != "'=HYPERLINK(1);x" ||
		!strings.HasSuffix(a.Body, "\r\n") || lines[2][0] != w.Now().Add(9*time.Hour).Format(time.DateOnly) {
		t.Errorf("%v %q", err, lines)
	}
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv; charset=utf-8") || a.Header.Get("Vary") != "Accept" ||
		a.Header.Get("Content-Disposition") != `attachment; filename="statement-`+w.driver+"-"+month+`.csv"` {
		t.Errorf("%v", a.Header)
	}
	page := w.Want(200, nil, "GET", path, w.op, "", "Accept", "text/html", "Accept-Language", "de")
	for _, want := range []string{"11.685\u00a0JPY", "=Dana &lt;Drive&gt;", "Endsaldo", "Asia/Tokyo", "−315"} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("no %q in %s", want, page.Body)
		}
	}
	if w.Last().Usage.Sequential > 2 {
		t.Errorf("%d round trips", w.Last().Usage.Sequential)
	}
}

// A caller who may not read a statement gets the same response as for an unknown driver.
func TestOthers(t *testing.T) {
	w, other := newWorld(t, "USD", "UTC"), newWorld(t, "EUR", "UTC")
	month := w.Now().Format("2006-01")
	want := w.Want(404, nil, "GET", "/api/v1/drivers/"+ids.New(ids.Driver, apitest.Start)+"/statements/"+month, w.op, "")
	for _, id := range []string{other.driver, "drv_x", ids.New(ids.Customer, apitest.Start)} {
		for _, accept := range []string{"*/*", "text/csv", "text/html"} {
			a := w.Do("GET", "/api/v1/drivers/"+id+"/statements/"+month, w.op, "", "Accept", accept)
			if a.Status != 404 || a.Body != want.Body {
				t.Errorf("%s: %v", id, a)
			}
		}
	}
	for _, wrong := range []string{"2026-13", "2026-1", "1999-12", "9999-12", "2026", "x", "2026-0%31"} {
		if a := w.Do("GET", "/api/v1/me/statements/"+wrong, w.mine, ""); a.Status != 400 && wrong != "2026-0%31" {
			t.Errorf("%s: %v", wrong, a)
		}
	}
}

// While postings are made, every statement is of one moment: its sums agree.
func TestWhilePosting(t *testing.T) {
	w := newWorld(t, "USD", "UTC")
	month := w.Now().Format("2006-01")
	var group sync.WaitGroup
	group.Go(func() {
		for range 15 {
			w.post("TOP_UP", "1.01")
		}
	})
	group.Go(func() {
		for range 15 {
			if a := w.Do("GET", "/api/v1/me/statements/"+month, w.mine, ""); a.Status == 200 {
				var s statement.Statement
				a.Decode(t, &s)
				if w.agrees(s); s.OpeningBalance != "0" {
					t.Errorf("opens with %s", s.OpeningBalance)
				}
			} else if a.Status != 503 {
				t.Errorf("%v", a)
			}
		}
	})
	group.Wait()
	if s := w.month(month); s.ClosingBalance != "15.15" {
		t.Errorf("closes with %s", s.ClosingBalance)
	}
}

// A month with more postings than a statement has is a 409 that says what to do.
func TestTooMany(t *testing.T) {
	w := newWorld(t, "USD", "UTC")
	var items []table.Item
	for i := range 2001 {
		at := w.Now().Add(time.Duration(i) * time.Millisecond)
		items = append(items, wallet.PostingItem(w.tenant, wallet.Driver, w.driver, wallet.Entry{Posting: wallet.Posting{
			ID: ids.New(ids.Posting, at), Type: wallet.TopUp, Amount: "1", CreatedAt: timestamp.Format(at)}}))
	}
	testkit.Must(t, w.tenant.Load(t.Context(), items...))
	a := w.Do("GET", "/api/v1/me/statements/"+w.Now().Format("2006-01"), w.mine, "")
	if a.Status != 409 || !strings.Contains(a.Body, "/api/v1/exports") {
		t.Errorf("%v", a)
	}
}

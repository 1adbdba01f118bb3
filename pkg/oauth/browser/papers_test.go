package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/base/money"
	"svc/pkg/domain/page"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/statement"
	"svc/pkg/domain/wallet"
)

// Receipts and statements in every language, as TestLanguages does with the others.
func TestPapers(t *testing.T) {
	testkit.Long(t)
	inEveryLanguage(t, map[string]page.Content{"receipt": aReceipt(), "statement": aStatement()})
}

func ptr[T any](v T) *T { return &v }

// aReceipt returns the receipt of a ride with a tax and two corrections.
func aReceipt() page.Paper {
	n := ptr[money.Amount]
	to, at := "Aéroport international, Terminal 3, Niveau Départs", "2026-01-31T23:30:00.000Z"
	r := &receipt.Shown{ID: "rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV", TripCode: "7K3M9QXZ", Version: 3, IssuedAt: at,
		CompletedAt: &at, OriginAddress: "شارع الميناء ١٢", DestAddress: &to, Currency: "USD", Total: n("1234.5"),
		Lines:   []receipt.Portion{{Type: "FARE", Amount: "1124.94"}, {Type: "TAX", Amount: "109.56"}},
		Payment: receipt.Payment{Type: "WALLET", Refunded: "100"}, Corrections: []receipt.Change{
			{Version: 2, At: at, Reason: "One zero too many", Was: n("12345000"), Total: n("1234.55")},
			{Version: 3, At: at, Reason: strings.Repeat("Rounded. ", 20), Was: n("1234.55"), Total: n("1234.5")}}}
	r.Tax.Value = &receipt.Tax{Rate: "0.08875"}
	r.Driver.Value = &receipt.Pay{Commission: n("246.9"), Amount: n("987.6")}
	return page.Paper{Kind: "receipt", Of: r, Currency: "USD", Zone: time.UTC}
}

// aStatement returns the statement of a month with large amounts, long texts and
// every type of posting.
func aStatement() page.Paper {
	s := &statement.Statement{DriverID: "drv_01ARZ3NDEKTSV4RRFFQ69G5FAV", DriverName: "عمر Østergård-Hohenstein",
		Month: "2026-01", IssuedAt: "2026-02-01T05:00:00.000Z", Currency: "USD", OpeningBalance: "-12.5", Rides: 19,
		Fares: "1234567.89", Commission: "12345.67", Outside: "250", Earnings: "1221972.22", TopUps: "0", Payouts: "-1000",
		Adjustments: "-3.3", ClosingBalance: "1220956.42"}
	for i := range 40 {
		e := statement.StatementEntry{TripCode: ptr("7K3M9QXZ"), Fare: ptr(money.Amount("1234567.5")),
			Commission: ptr(money.Amount("-12345.67")), Balance: "12345678.9", Corrects: i%5 == 0}
		e.CreatedAt, e.Type, e.Amount = fmt.Sprintf("2026-01-%02dT12:30:00.000Z", i/2+1), wallet.TripPayment, "-1222221.83"
		if i%4 == 3 {
			e = statement.StatementEntry{Posting: e.Posting, Balance: e.Balance}
			e.Type, e.Description = wallet.Payout, strings.Repeat("Withdrawal ", i%9)+"wdr_01ARZ3NDEKTSV4RRFFQ69G5FAV"
		}
		s.Entries = append(s.Entries, e)
	}
	paper := s.Paper()
	paper.Zone = time.UTC
	return paper
}

// A paper is printed dark on white, also by a company with a dark theme.
func TestPapersPrintLight(t *testing.T) {
	testkit.Long(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content := map[string]page.Content{"/receipt": aReceipt(), "/statement": aStatement()}[r.URL.Path]
		if content == nil {
			return
		}
		if err := page.Write(w, http.StatusOK, page.Frame{Lang: "de", Brand: page.Brand{Name: "Metro", Theme: "dark",
			Primary: "#0a7"}}, content); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	in := tab(t, desktop.in("dark"))
	for _, name := range []string{"receipt", "statement"} {
		run(t, in, chromedp.Navigate(server.URL+"/"+name), browsing.WaitVisible(chromedp.CSS("h1")),
			command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
		got := get(t, in, chromedp.Evaluate[string](`(s => s.getPropertyValue("--card") + s.getPropertyValue("--ink") +
			getComputedStyle(document.querySelector("h1")).color)(getComputedStyle(document.documentElement))`))
		if want := "#ffffff#16181drgb(22, 24, 29)"; got != want {
			t.Errorf("%s: printed in %s, want %s", name, got, want)
		}
		if *pictures != "" {
			savePicture(t, in, filepath.Join(*pictures, name+"-print.png"))
		}
	}
}

package receipt_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/page"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// company gives the world's tenant a name, a time zone and a look.
func (w *world) company(zone string) {
	w.t.Helper()
	logo, color := "https://cdn.metro.example/logo.svg", "#0a7"
	w.load(table.Item{Key: tenant.Key(w.tenant), Type: "tenant", Doc: tenant.Tenant{Name: "Metro & Söhne",
		Timezone: zone}},
		table.Item{Key: branding.Key(w.tenant), Type: "branding", Doc: branding.Branding{LogoURL: &logo,
			PrimaryColor: &color}})
}

const chromium = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// text returns the text of a page, with single blanks.
func text(body string) string {
	body = regexp.MustCompile(`(?s)<style>.*</style>|<[^>]*>`).ReplaceAllString(body, " ")
	return strings.Join(strings.FieldsFunc(body, func(r rune) bool { return r == ' ' || r == '\n' }), " ")
}

// The receipt is a page for who asks for HTML, and the JSON as before for anybody
// else, byte for byte.
func TestReceiptAsPage(t *testing.T) {
	w := newWorldInRounds(t)
	w.company("America/New_York")
	rules := settings.Default
	rules.Pricing.TaxRate = "0.08875"
	w.load(settings.Kind.Item(w.tenant, "", rules))
	tr := w.settled("CARD", "1234.5")
	w.Advance(time.Hour)
	w.Want(200, nil, "POST", "/api/v1/trips/"+tr.ID+"/fare", w.tokens[""],
		`{"finalFare":1000,"reason":"One <zero> too & many"}`)
	path, own := "/api/v1/trips/"+tr.ID+"/receipt", "/api/v1/me/trips/"+tr.ID+"/receipt"
	json := w.Want(200, nil, "GET", path, w.tokens[""], "")
	for _, accept := range []string{"*/*", "application/json", "application/json, text/html", "text/html;q=0.5, */*",
		"text/html;q=0", "application/pdf", "", ";;,q=1", "text/plain, */*"} {
		a := w.Want(200, nil, "GET", path, w.tokens[""], "", "Accept", accept)
		if a.Body != json.Body || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Vary") != "Accept" {
			t.Errorf("%q: %v %s", accept, a.Header, a.Body)
		}
	}
	for audience, token := range map[string]string{"operator": w.tokens[""], "rider": w.tokens[w.rider],
		"driver": w.tokens[w.driver]} {
		path := path
		if audience != "operator" {
			path = own
		}
		for _, accept := range []string{chromium, "text/html", "Text/HTML; charset=utf-8", "text/html, */*"} {
			a := w.Want(200, nil, "GET", path, token, "", "Accept", accept)
			if trips := w.Last().Usage.Sequential; trips > 2 {
				t.Errorf("%s: %d round trips", audience, trips)
			}
			got := text(a.Body)
			for _, want := range []string{"Metro &amp; Söhne", tr.TripCode, "911.25\u00a0USD", "88.75\u00a0USD",
				"8.875\u00a0%", "Total 1,000.00\u00a0USD", "One &lt;zero&gt; too &amp; many", "1,234.50\u00a0USD",
				"America/New_York", "Version 2", "Paid by Card"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: no %q in %s", audience, want, got)
				}
			}
			if strings.Contains(got, "Commission") != (audience != "rider") {
				t.Errorf("%s: the driver's share: %s", audience, got)
			}
			policy := a.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "script") ||
				a.Header.Get("Content-Type") != "text/html; charset=utf-8" || a.Header.Get("Cache-Control") != "no-store" ||
				strings.Join(a.Header.Values("Vary"), ", ") != "Accept, Accept-Language" || a.Header.Get("Etag") != "" {
				t.Errorf("%v", a.Header)
			}
			if strings.Contains(a.Body, "<script") || strings.Count(a.Body, "https://") != 1 {
				t.Errorf("%s: more than the logo is loaded: %s", audience, a.Body)
			}
		}
	}
	head := w.Do("HEAD", own, w.tokens[w.rider], "", "Accept", "text/html")
	if head.Status != 200 || head.Body != "" || head.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("HEAD: %v", head)
	}
}

// A receipt is in the person's language, in the currency's own decimals, and
// without a fare says so.
func TestReceiptAsPageInLanguages(t *testing.T) {
	for _, c := range []struct{ currency, fare, language, want, lang string }{
		{"EUR", "1234567.5", "de-AT,de;q=0.9", "Gesamtbetrag 1.234.567,50\u00a0EUR", `<html lang="de" dir="ltr">`},
		{"JPY", "1800", "ja", "Total 1,800\u00a0JPY", `<html lang="en" dir="ltr">`},
		{"KWD", "12.5", "ar-KW", "الإجمالي 12.500\u00a0KWD", `<html lang="ar" dir="rtl">`},
		{"CLP", "25000", "es-CL", "Total 25.000\u00a0CLP", `<html lang="es" dir="ltr">`},
		{"XOF", "12500", "fr", "Total 12\u202f500\u00a0XOF", `<html lang="fr" dir="ltr">`},
		{"BRL", "0", "pt-BR", "Total 0,00\u00a0BRL", `<html lang="pt" dir="ltr">`},
		{"USD", "", "en", "This ride has no fare.", `<html lang="en" dir="ltr">`},
	} {
		t.Run(fmt.Sprint(c.currency, c.fare), func(t *testing.T) {
			w := newWorld(t, c.currency)
			w.company("UTC")
			tr := w.settled("CASH", c.fare)
			a := w.Want(200, nil, "GET", "/api/v1/me/trips/"+tr.ID+"/receipt", w.tokens[w.rider], "", "Accept", chromium,
				"Accept-Language", c.language)
			if !strings.Contains(text(a.Body), c.want) || !strings.Contains(a.Body, c.lang) {
				t.Errorf("no %q in %s", c.want, text(a.Body))
			}
		})
	}
}

// Errors are JSON, the same for a page: a receipt of somebody else, of another
// company and of nobody cannot be told apart.
func TestReceiptAsPageOfOthers(t *testing.T) {
	w := newWorld(t, "USD")
	w.company("UTC")
	tr := w.settled("CASH", "10")
	open := w.completed("CASH", "10")
	stranger := ids.New(ids.Customer, apitest.Start)
	w.people(ids.New(ids.Driver, apitest.Start), stranger)
	foreign := newWorldOn(t, w.DB, "EUR").settled("CARD", "9")
	want := w.Do("GET", "/api/v1/me/trips/"+ids.New(ids.Trip, apitest.Start)+"/receipt", w.tokens[stranger], "")
	if want.Status != 404 {
		t.Fatal(want)
	}
	for _, accept := range []string{page.MediaType, "*/*"} {
		for path, token := range map[string]string{"/api/v1/me/trips/" + tr.ID: w.tokens[stranger],
			"/api/v1/me/trips/" + foreign.ID: w.tokens[w.rider], "/api/v1/trips/" + foreign.ID: w.tokens[""]} {
			a := w.Do("GET", path+"/receipt", token, "", "Accept", accept)
			if a.Status != 404 || a.Body != want.Body || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v", accept, a)
			}
		}
		a := w.Do("GET", "/api/v1/me/trips/"+open.ID+"/receipt", w.tokens[w.rider], "", "Accept", accept)
		if a.Status != 409 {
			t.Errorf("%s: %v", accept, a)
		}
	}
}

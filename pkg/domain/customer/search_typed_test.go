package customer_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/nyaruka/phonenumbers"

	"svc/internal/test/testkit"
	"svc/pkg/base/phone/plans"
	"svc/pkg/domain/customer"
)

// finds reports whether a search finds the customer.
func (h *hall) finds(q, id string) bool {
	var got found
	h.Want(200, &got, "GET", "/api/v1/customers?"+url.Values{"q": {q}}.Encode(), h.operator, "")
	return slices.ContainsFunc(got.Items, func(c customer.Customer) bool { return c.ID == id })
}

// A number of each country is found in every form, whichever form was stored.
func TestPhonesAreNumbers(t *testing.T) {
	testkit.Long(t)
	h := newHall(t)
	for _, country := range []string{"AE", "UY", "AT", "AU", "BD", "BE", "BG", "BR", "CA", "CH", "CL", "CN", "CO", "CZ",
		"DE", "DK", "EG", "ES", "FI", "FR", "GB", "GR", "HK", "HR", "HU", "ID", "IE", "IL", "IN", "IT", "JP", "KE", "KR",
		"KZ", "MA", "MX", "MY", "NG", "NL", "NO", "NZ", "PE", "PH", "PK", "PL", "PT", "RO", "RU", "SE", "SG", "TH", "TR",
		"UA", "US", "VN", "ZA"} {
		number := phonenumbers.GetExampleNumberForType(country, phonenumbers.MOBILE)
		as := func(f phonenumbers.PhoneNumberFormat) string { return phonenumbers.Format(number, f) }
		e164, national := as(phonenumbers.E164), as(phonenumbers.NATIONAL)
		for _, typed := range []string{e164, national} {
			p := person("Pat", country, "pat@x.example", typed)
			p.Number = plans.Read(typed, country)
			h.save(p)
			for _, q := range []string{e164, national, as(phonenumbers.INTERNATIONAL), "00" + e164[1:], "011 " + e164[1:],
				"tel:" + as(phonenumbers.RFC3966)[len("tel:"):], e164 + " ext. 12"} {
				if !h.finds(q, p.ID) {
					t.Errorf("%s, stored as %q: %q does not find it", country, typed, q)
				}
			}
		}
	}
}

func TestSearchFindsAsPeopleType(t *testing.T) {
	h := newHall(t)
	for typed, queries := range map[string][]string{
		"İpek Yıldız": {"ipek", "IPEK", "ıpek", "yildiz", "YILDIZ", "Yıldız ipek"},
		"Γιώργος Παπαδόπουλος": {"γιωργοσ", "ΓΙΩΡΓΟΣ", "παπαδοπουλος"},
		"Łukasz Wójcik":        {"lukasz", "wojcik", "WÓJCIK łukasz"},
		"Đorđe Šarić":          {"dorde saric", "šarić đorđe"},
		"Søren Øst":            {"soren", "ost soren"},
		"Zoë O’Neil-Smith":     {"zoe o'neil", "o`neil–smith", "smith zoe"},
		"Nguyễn Văn An":        {"nguyen", "an nguyen"},
		"Anna\u200b Sofia":     {"anna sofia", "  sofia   anna "},
		"Иван Ёлкин":           {"елкин иван"},
	} {
		p := person(typed, "", "x@y.example", "")
		h.save(p)
		for _, q := range append(queries, typed) {
			if !h.finds(q, p.ID) {
				t.Errorf("%q does not find %q", q, typed)
			}
		}
	}
	p := person("Ada", "", "x@y.example", "+49 (0)151–12345678")
	p.Number = plans.Read(*p.Phone, "DE")
	h.save(p)
	for _, q := range []string{"0151 12345678", "+49 (0) 151 12345678", "٠١٥١ ١٢٣٤٥٦٧٨", "\u200e0151‑123‑45678",
		"004915112345678", "0151 1234", "12345678"} {
		if !h.finds(q, p.ID) {
			t.Errorf("%q does not find %s", q, *p.Phone)
		}
	}
}

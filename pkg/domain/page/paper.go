package page

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/edge/api"
)

// MediaType is the media type of pages.
const MediaType = "text/html"

// Paper is a page to print: a receipt or a driver's statement. It has no form. The file
// contains its content security policy, because people save it without the headers.
type Paper struct {
	Kind     string // the name of its template: "receipt" or "statement"
	Of       any    // the receipt or statement that the template shows
	Currency string // of all amounts, ISO 4217
	Zone     *time.Location
}

// template implements Content.
func (p Paper) template() string { return p.Kind }

//go:embed paper.css
var paperSheet string

// paperStyle returns the style that a Paper has beside the style of every page. In print,
// the colours are those of the light scheme.
func (b Brand) paperStyle() string {
	return paperSheet + "@media print{:root{" + b.colors(light) + "}}\n"
}

// BrandOf returns the branding of a tenant's pages. it is the item of the branding. name
// is the tenant's name, used if the branding has no app name.
func BrandOf(it table.Item, name string) (Brand, error) {
	b, err := branding.Kind.FromItem(it)
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	out := Brand{Name: text(b.AppName), Primary: text(b.PrimaryColor), Secondary: text(b.SecondaryColor),
		IconBackground: text(b.IconBackgroundColor), Theme: text(b.ThemeMode), LogoURL: text(b.LogoURL),
		FaviconURL: text(b.FaviconURL), SupportURL: text(b.SupportURL), TermsURL: text(b.TermsURL),
		PrivacyURL: text(b.PrivacyURL)}
	if out.Name == "" {
		out.Name = name
	}
	return out, err
}

// Document returns the paper as the response of an endpoint.
func (p Paper) Document(lang Lang, brand Brand) (*api.Document, error) {
	body, policy, err := render(Frame{Lang: lang, Brand: brand}, p)
	if err != nil {
		return nil, err
	}
	out := &api.Document{Header: http.Header{}, Body: body}
	setHeader(out.Header, lang, policy, "no-store")
	out.Header.Set("Vary", "Accept-Language")
	return out, nil
}

// paper returns the Paper that the view shows, or the zero Paper on any other page.
func (v view) paper() Paper {
	p, _ := v.C.(Paper)
	return p
}

// Amount returns an amount of a Paper as text, with the currency's code. It returns "–" for
// null.
func (v view) Amount(n any) (string, error) { return v.amount(n, decimal.NewFromInt(1), true) }

// Negative is like Amount, but with the opposite sign, for an amount that is subtracted.
func (v view) Negative(n any) (string, error) { return v.amount(n, decimal.NewFromInt(-1), true) }

// Digits is like Amount, but without the currency's code.
func (v view) Digits(n any) (string, error) { return v.amount(n, decimal.NewFromInt(1), false) }

// amount returns the amount n, multiplied by sign, as text: with the separators of the
// language, all the decimals of its currency and, if named is true, the currency's code. It
// never rounds.
func (v view) amount(n any, sign decimal.Decimal, named bool) (string, error) {
	number, err := numberOf(n)
	if number == nil || err != nil {
		return "–", err
	}
	currency := v.paper().Currency
	text := v.separated(number.Mul(sign).StringFixed(max(money.Decimals(currency), -number.Exponent())))
	if named {
		text += "\u00a0" + currency
	}
	return text, nil
}

// Percent returns a share such as 0.2 as a percentage. It returns "–" for null.
func (v view) Percent(n any) (string, error) {
	number, err := numberOf(n)
	if number == nil || err != nil {
		return "–", err
	}
	return v.separated(number.Shift(2).String()) + "\u00a0%", nil
}

// separated returns a number, given as digits with a decimal point, with the separators of
// the language.
func (v view) separated(digits string) string {
	texts := languages[v.Lang]()
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "−", rest
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + texts["number.group"] + whole[at:]
	}
	if fraction != "" {
		whole += texts["number.decimal"] + fraction
	}
	return sign + whole
}

// numberOf returns the decimal of a money.Amount or *money.Amount, nil for null. Other
// types are an error.
func numberOf(n any) (*decimal.Decimal, error) {
	switch n := n.(type) {
	case *money.Amount:
		if n == nil {
			return nil, nil
		}
		return numberOf(*n)
	case money.Amount:
		return new(n.Decimal()), nil
	}
	return nil, fmt.Errorf("%T is not an amount", n)
}

// Time returns a stored time (timestamp.Format) in the paper's time zone, to the minute. at
// is a string or *string. Time returns "–" for null.
func (v view) Time(at any) (string, error) {
	if text, ok := at.(*string); ok {
		if text == nil {
			return "–", nil
		}
		at = *text
	}
	text, _ := at.(string)
	t, err := timestamp.Parse(text)
	if err != nil {
		return "", err
	}
	return t.In(v.paper().Zone).Format("2006-01-02 15:04"), nil
}

// ZoneName returns the name of the paper's time zone.
func (v view) ZoneName() string { return v.paper().Zone.String() }

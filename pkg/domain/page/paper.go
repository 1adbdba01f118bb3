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

// Paper is a page to print: a receipt or a driver's statement. It has no form, and
// contains its policy, because people save it as a file.
type Paper struct {
	Kind     string // "receipt" or "statement": the template
	Of       any    // what the template shows
	Currency string // of all amounts, ISO 4217
	Zone     *time.Location
}

func (p Paper) template() string { return p.Kind }

//go:embed paper.css
var paperSheet string

// paperStyle returns the style that a Paper has in addition. Its sheet of paper has
// the light colours, whatever the screen has.
func (b Brand) paperStyle() string {
	return paperSheet + "@media print{:root{" + b.colors(light) + "}}\n"
}

// BrandOf returns the branding of the pages of a tenant. it is the item of the
// tenant's branding, and name the tenant's name.
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

// paper returns the Paper that is shown.
func (v view) paper() Paper {
	p, _ := v.C.(Paper)
	return p
}

// Amount writes an amount with the currency's code. It returns "–" for null.
func (v view) Amount(n any) (string, error) { return v.amount(n, decimal.NewFromInt(1), true) }

// Negative is Amount for an amount that is taken away.
func (v view) Negative(n any) (string, error) { return v.amount(n, decimal.NewFromInt(-1), true) }

// Digits is Amount without the currency.
func (v view) Digits(n any) (string, error) { return v.amount(n, decimal.NewFromInt(1), false) }

// amount writes an amount with the separators of the language and all the decimals
// of its currency. It never rounds.
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

// Percent writes a share as a percentage.
func (v view) Percent(n any) (string, error) {
	number, err := numberOf(n)
	if number == nil || err != nil {
		return "–", err
	}
	return v.separated(number.Shift(2).String()) + "\u00a0%", nil
}

// separated writes the digits of a number with the separators of the language.
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

// Time writes a time in the paper's time zone, to the minute. It returns "–" for
// null.
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

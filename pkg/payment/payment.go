package payment

import (
	"strings"
	"time"
	"unicode/utf8"

	"svc/pkg/fault"
	"svc/pkg/table"
)

// Method is a payment method (decisions, "Shapes not shown").
type Method struct {
	ID        string `json:"id"`
	Type      string `json:"type" enum:"CARD"`
	Brand     string `json:"brand" example:"visa"`
	Last4     string `json:"last4" example:"4242" doc:"The card number's last four digits; no more of it is kept."`
	ExpMonth  int    `json:"expMonth" minimum:"1" maximum:"12"`
	ExpYear   int    `json:"expYear"`
	IsDefault bool   `json:"isDefault"`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

// Of reads a payment method of its item; fault.NotFound when there is none.
func Of(it table.Item) (Method, error) {
	if !it.Found() {
		return Method{}, fault.NotFound()
	}
	var m Method
	return m, it.Decode(&m)
}

func (m *Method) normal(now time.Time) error {
	m.Brand = strings.ToLower(strings.TrimSpace(m.Brand))
	digits := !strings.ContainsFunc(m.Last4, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case m.Type != "CARD":
		return fault.Field("type", "expected CARD")
	case m.Brand == "" || utf8.RuneCountInString(m.Brand) > 100:
		return fault.Field("brand", "expected 1 to 100 characters")
	case len(m.Last4) != 4 || !digits:
		return fault.Field("last4", "expected the last four digits")
	case m.ExpMonth < 1 || m.ExpMonth > 12 || m.ExpYear < 2000 || m.ExpYear > now.Year()+50:
		return fault.Field("exp", "expected a month and a year, as in 04/2030")
	}
	return nil
}

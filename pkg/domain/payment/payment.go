package payment

import (
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
)

// Method is a rider's payment method as the API shows it.
type Method struct {
	ID        string `json:"id" doc:"Identifier of the payment method."`
	Type      string `json:"type" enum:"CARD" doc:"Kind of the payment method."`
	Brand     string `json:"brand" example:"visa" doc:"The card's brand."`
	Last4     string `json:"last4" example:"4242" doc:"The card number's last four digits; no more of it is kept."`
	ExpMonth  int    `json:"expMonth" minimum:"1" maximum:"12" doc:"Month in which the card expires."`
	ExpYear   int    `json:"expYear" doc:"Year in which the card expires."`
	IsDefault bool   `json:"isDefault" doc:"Whether it is the rider's default."`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"When it was added."`
}

// normalize puts the brand in small letters, and checks the payment method. Errors: a 400
// with every fault.
func (m *Method) normalize(now time.Time) error {
	m.Brand = strings.ToLower(strings.TrimSpace(m.Brand))
	digits := !strings.ContainsFunc(m.Last4, func(r rune) bool { return r < '0' || r > '9' })
	var wrong fault.Faults
	wrong.Unless(m.Type == "CARD", "type", "expected CARD")
	wrong.Unless(plaintext.IsLine(m.Brand, 100), "brand", "expected %s", plaintext.Rule(100))
	wrong.Unless(len(m.Last4) == 4 && digits, "last4", "expected the last four digits of the card number")
	wrong.Unless(m.ExpMonth >= 1 && m.ExpMonth <= 12 && m.ExpYear >= 2000 && m.ExpYear <= now.Year()+50, "exp",
		"expected a month and a year, as in 04/2030")
	return wrong.Err()
}

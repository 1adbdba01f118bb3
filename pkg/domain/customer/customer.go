package customer

import (
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/email"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
)

// Customer is a rider in the shape of the operator's list.
type Customer struct {
	ID         string        `json:"id" doc:"Identifier of the rider."`
	Name       string        `json:"name" doc:"The name to show."`
	FirstName  string        `json:"firstName" doc:"First name."`
	LastName   string        `json:"lastName" doc:"Last name."`
	Email      string        `json:"email" doc:"Email address. Empty for a customer who was added by phone, who cannot sign in."`
	Phone      *string       `json:"phone" doc:"Phone number."`
	TotalTrips int64         `json:"totalTrips" doc:"Completed trips."`
	Rating     *money.Amount `json:"rating" nullable:"true" doc:"Mean rating, 0 to 5; null before the first rating."`
	CreatedAt  string        `json:"createdAt" format:"date-time" doc:"When the account was created."`
	ErasedAt   *string       `json:"erasedAt,omitempty" format:"date-time" doc:"When the person was erased; absent otherwise. Name and address are then empty. An extension of the specification."`
	external.Members
}

// Record is a customer with the fields that the API does not show.
type Record struct {
	Customer
	Disabled bool `json:"disabled"`
	// Agreed is what the customer agreed to at the sign-up; nil for a customer whom
	// others added.
	Agreed *Agreement `json:"agreed,omitempty"`
	// Number is the number that Phone stands for. Only programs that link the
	// numbering plans of all countries write it.
	Number *phone.Number `json:"number,omitempty"`
	// RatingSum and RatingCount are the sum and the number of the drivers' ratings. The
	// projection counts them. After the first rating, Rating is their mean.
	RatingSum   int64 `json:"-"`
	RatingCount int64 `json:"-"`
}

// Agreement says to which terms and privacy policy a customer agreed, and when.
type Agreement struct {
	At      string `json:"at"`
	Version string `json:"version,omitempty"` // the tenant's TermsVersion
	Terms   string `json:"terms,omitempty"`   // address
	Privacy string `json:"privacy,omitempty"` // address
}

// FromItem decodes a customer from the item. It returns fault.NotFound if there
// is none. TotalTrips, Disabled and the sums of ratings are attributes of the
// item; everything else is in its document.
func FromItem(it table.Item) (Record, error) {
	r, err := table.DecodeDoc[Record](it)
	r.TotalTrips, r.Disabled = it.Int("totalTrips"), it.Flag("disabled")
	if r.RatingSum, r.RatingCount = it.Int("ratingSum"), it.Int("ratingCount"); r.RatingCount > 0 {
		r.Rating = money.Ptr(decimal.NewFromInt(r.RatingSum).DivRound(decimal.NewFromInt(r.RatingCount), 2))
	}
	return r, err
}

// FullName returns the name to show of a customer who has chosen none.
func FullName(first, last string) string { return strings.TrimSpace(first + " " + last) }

func (r *Record) normalize() error {
	for _, s := range []*string{&r.Name, &r.FirstName, &r.LastName, &r.Email} {
		*s = strings.TrimSpace(*s)
	}
	if r.Name == "" {
		r.Name = FullName(r.FirstName, r.LastName)
	}
	if r.Phone != nil && strings.TrimSpace(*r.Phone) == "" {
		r.Phone = nil
	}
	var wrong fault.Faults
	wrong.Unless(!plaintext.IsBlank(r.Name), "firstName", "expected a first or last name")
	wrong.Unless(r.Email == "" && r.Phone != nil || email.Valid(email.Fold(r.Email)), "email",
		"expected a mail address, or a phone without one")
	if r.Rating != nil {
		d := r.Rating.Decimal()
		wrong.Unless(!d.IsNegative() && !d.GreaterThan(decimal.NewFromInt(5)), "rating", "expected 0 to 5")
		r.Rating = money.Ptr(d)
	}
	for _, label := range []struct {
		field string
		text  *string
	}{{"firstName", &r.FirstName}, {"lastName", &r.LastName}, {"name", &r.Name}} {
		wrong.Unless(label.text == nil || plaintext.IsOptional(*label.text, 100), label.field,
			"expected at most 100 characters, none of them a control character")
	}
	if !r.Number.Of(r.Phone) {
		r.Number = nil
	}
	wrong.Unless(r.Phone == nil || phone.Is(*r.Phone) ||
		(r.Number != nil && plaintext.IsOptional(*r.Phone, 40)), "phone", "expected a phone number, as in +1 212 555 0181")
	return wrong.Err()
}

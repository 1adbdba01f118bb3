package customer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Customer is a rider as the operator's list shows one (decisions, "Shapes not
// shown").
type Customer struct {
	ID         string       `json:"id"`
	Name       string       `json:"name" doc:"The name to show."`
	FirstName  string       `json:"firstName"`
	LastName   string       `json:"lastName"`
	Email      string       `json:"email"`
	Phone      *string      `json:"phone"`
	TotalTrips int64        `json:"totalTrips" doc:"Completed trips."`
	Rating     *json.Number `json:"rating" nullable:"true" doc:"Mean rating, 0 to 5; null before the first."`
	CreatedAt  string       `json:"createdAt" format:"date-time"`
}

// Record is a customer with what the API does not show.
type Record struct {
	Customer
	Disabled bool `json:"disabled"`
}

// Of reads a customer of the item; fault.NotFound when there is none. Trips
// and the disabled flag are attributes; the rest is the document.
func Of(it table.Item) (Record, error) {
	if !it.Found() {
		return Record{}, fault.NotFound()
	}
	var r Record
	if err := it.Decode(&r); err != nil {
		return Record{}, err
	}
	r.TotalTrips, r.Disabled = it.Int("totalTrips"), it.Flag("disabled")
	return r, nil
}

func (r *Record) normal() error {
	for _, s := range []*string{&r.Name, &r.FirstName, &r.LastName, &r.Email} {
		*s = strings.TrimSpace(*s)
	}
	if r.Name == "" {
		r.Name = strings.TrimSpace(r.FirstName + " " + r.LastName)
	}
	if r.Phone != nil && strings.TrimSpace(*r.Phone) == "" {
		r.Phone = nil
	}
	switch {
	case r.Name == "":
		return fault.Field("name", "expected a first or last name")
	case !email.Valid(email.Fold(r.Email)):
		return fault.Field("email", "expected a mail address")
	}
	if r.Rating != nil {
		d, err := money.Parse(*r.Rating)
		if err != nil || d.IsNegative() || d.GreaterThan(money.Must("5")) {
			return fault.Field("rating", "expected 0 to 5")
		}
		r.Rating = money.Ptr(d)
	}
	for _, label := range []struct {
		field string
		text  *string
	}{{"firstName", &r.FirstName}, {"lastName", &r.LastName}, {"name", &r.Name}, {"phone", r.Phone}} {
		if label.text != nil && utf8.RuneCountInString(*label.text) > 100 {
			return fault.Field(label.field, "expected at most 100 characters")
		}
	}
	return nil
}

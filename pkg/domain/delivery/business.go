package delivery

import (
	"cmp"
	"encoding/json"
	"strings"

	"golang.org/x/text/cases"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/phone"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/external"
)

// Business is a business that the tenant delivers for.
type Business struct {
	ID       string      `json:"id" doc:"Identifier of the business."`
	Name     string      `json:"name" doc:"Name of the business."`
	Category string      `json:"category" example:"restaurant" doc:"What kind of business it is."`
	Address  string      `json:"address" doc:"Address of the business as text."`
	Lat      json.Number `json:"lat" doc:"Degrees."`
	Lng      json.Number `json:"lng" doc:"Degrees."`
	Phone    *string     `json:"phone" doc:"Phone number."`
	LogoURL  *string     `json:"logoUrl" format:"uri" doc:"An https URL of the logo."`
	Active   bool        `json:"active" doc:"Always true here, because lists contain only active businesses."`

	DeliveryFee money.Amount `json:"-"` // of a rider's order, currency units
	external.Members
}

// ManagedBusiness is a business as those who manage it see it. It has no opening hours:
// holidays, breaks and a full kitchen would need the switch Active anyway.
type ManagedBusiness struct {
	Business
	Active      bool         `json:"active" doc:"Whether riders see the business and may order."`
	DeliveryFee money.Amount `json:"deliveryFee" example:"3.99" doc:"Fee of each order that a rider places, currency units."`
}

// Managed returns the business with everything.
func (b Business) Managed() ManagedBusiness { return ManagedBusiness{b, b.Active, b.DeliveryFee} }

// BusinessKey returns the key of a business.
func BusinessKey(t table.Tenant, id string) table.Key { return t.Key("BUSINESS", id, "BUSINESS") }

// BusinessKind stores businesses. by-g1 lists the active ones by name, by-g2 all of them.
// DeliveryFee is an attribute of the item, and not in its document.
var BusinessKind = table.Kind[Business]{Type: "business", Personal: "nothing",
	Row: func(t table.Tenant, shard string, b Business) table.Item {
		it := table.Item{Key: BusinessKey(t, b.ID), Version: 1, R: byName(b.Name) + "#" + b.ID,
			Attrs: map[string]any{"deliveryFee": cmp.Or(b.DeliveryFee, "0")}}
		it.G[1] = t.Partition("BUSINESSES", "ALL", shard)
		if b.Active {
			it.G[0] = t.Partition("BUSINESSES", shard)
		}
		return it
	},
	Read: func(it table.Item) (Business, error) {
		b, err := table.DecodeDoc[Business](it)
		b.DeliveryFee = cmp.Or(it.Number("deliveryFee"), "0")
		return b, err
	}}

// BusinessIDs are the identifiers of businesses in other systems.
var BusinessIDs = external.Kind{Name: "business", Key: BusinessKey}

// byName returns a name's sort key in lists, cut to 64 characters.
func byName(name string) string {
	folded := []rune(cases.Fold().String(name))
	return string(folded[:min(len(folded), 64)])
}

// typed checks a phone that is not what it was.
func (b Business) typed(was *string) error {
	if b.Phone != nil && (was == nil || *was != *b.Phone) && phone.Several(*b.Phone) {
		return fault.Field("phone", "expected one phone number; this looks like several")
	}
	return nil
}

// normalize converts a business to its stored form and validates it. Its fee is in
// the currency.
func (b *Business) normalize(currency string) error {
	b.Name, b.Category, b.Address = strings.TrimSpace(b.Name), strings.TrimSpace(b.Category), strings.TrimSpace(b.Address)
	if !ids.Valid(ids.Business, b.ID) {
		return fault.NotFound()
	}
	var wrong fault.Faults
	wrong.Unless(plaintext.IsLine(b.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(plaintext.IsLine(b.Category, 100), "category", "expected %s", plaintext.Rule(100))
	wrong.Unless(plaintext.IsLine(b.Address, 300), "address", "expected %s", plaintext.Rule(300))
	wrong.Unless(money.Within(&b.Lat, 90) && money.Within(&b.Lng, 180), "lat",
		"expected a latitude and a longitude in degrees")
	wrong.Unless(b.Phone == nil || phone.Is(*b.Phone), "phone", "expected a phone number, as in +1 212 555 0181")
	fee, err := money.Accept(cmp.Or(b.DeliveryFee, "0"), currency)
	wrong.Unless(err == nil, "deliveryFee", "%v", err)
	b.DeliveryFee = money.Of(fee)
	if b.LogoURL != nil {
		message, uri := branding.CheckURL(*b.LogoURL), branding.URI(*b.LogoURL)
		b.LogoURL = &uri
		wrong.Unless(message == "", "logoUrl", "%s", message)
	}
	return wrong.Err()
}

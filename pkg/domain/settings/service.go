package settings

import (
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
)

// ServiceType is a kind of ride that the tenant offers. Amounts are in currency units.
type ServiceType struct {
	ID          string       `json:"id" doc:"The value of serviceTypeId in a ride request."`
	Name        string       `json:"name" doc:"Name of the service type."`
	Description *string      `json:"description" doc:"What riders get."`
	BaseFare    money.Amount `json:"baseFare" doc:"Start of every fare, currency units."`
	PerKm       money.Amount `json:"perKm" doc:"Price of a kilometre, currency units."`
	PerMinute   money.Amount `json:"perMinute" doc:"Price of a minute, currency units."`
	MinimumFare money.Amount `json:"minimumFare" doc:"The least fare, currency units."`
	Currency    string       `json:"currency" doc:"ISO 4217 code."`
	Capacity    int          `json:"capacity" doc:"Passengers. For apps."`
	IconURL     *string      `json:"iconUrl" format:"uri" doc:"An https URL of the icon."`
	Active      bool         `json:"active" doc:"Whether riders may request rides of this type."`
}

// Service is a service type with its commission rate, which the API does not
// show.
type Service struct {
	ServiceType
	CommissionRate money.Amount `json:"-"` // share of the fare, 0 to 1
}

// ManagedService is a service type as operators who manage it see it: with the commission
// rate.
type ManagedService struct {
	ServiceType
	CommissionRate money.Amount `json:"commissionRate" example:"0.2" doc:"The company's share of a fare, 0 to 1. It applies to trips that are requested at least a second after a change."`
}

// Managed returns the service type with its commission rate.
func (s Service) Managed() ManagedService { return ManagedService(s) }

// ServiceKey returns the key of a service type.
func ServiceKey(t table.Tenant, id string) table.Key { return t.Key("SETTINGS", "SERVICE#"+id) }

// ServiceKind stores service types. Active and CommissionRate are attributes of the item;
// everything else is in its document.
var ServiceKind = table.Kind[Service]{Type: "service", Personal: "nothing",
	Row: func(t table.Tenant, _ string, s Service) table.Item {
		return table.Item{Key: ServiceKey(t, s.ID), Version: 1, Doc: s.ServiceType,
			Attrs: map[string]any{"active": s.Active, "commissionRate": s.CommissionRate}}
	},
	Read: func(it table.Item) (Service, error) {
		kind, err := table.DecodeDoc[ServiceType](it)
		kind.Active = it.Flag("active")
		return Service{ServiceType: kind, CommissionRate: it.Number("commissionRate")}, err
	}}

// normalize trims and rounds the members of a service type, and checks them. Errors: a
// 400 with every fault.
func (s *Service) normalize(l Limits) error {
	s.Name = strings.TrimSpace(s.Name)
	var wrong fault.Faults
	wrong.Unless(ids.Valid(ids.Service, s.ID), "id", "expected the id of a service type")
	wrong.Unless(plaintext.IsLine(s.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(s.Description == nil || plaintext.IsText(*s.Description, 1000), "description",
		"expected at most 1,000 characters, and no control characters but line breaks and tabs")
	if s.IconURL != nil {
		message, uri := branding.CheckURL(*s.IconURL), branding.URI(*s.IconURL)
		s.IconURL = &uri
		wrong.Unless(message == "", "iconUrl", "%s", message)
	}
	wrong.Unless(s.Capacity >= 1 && s.Capacity <= 1000, "capacity", "expected 1 to 1,000 passengers")
	s.prices(&wrong, l)
	d := s.CommissionRate.Decimal()
	wrong.Unless(!d.IsNegative() && !d.GreaterThan(decimal.NewFromInt(1)), "commissionRate",
		"expected a share between 0 and 1")
	s.CommissionRate = money.Of(d)
	return wrong.Err()
}

// isFree reports whether no price is above zero.
func (s Service) isFree() bool {
	for _, price := range []money.Amount{s.BaseFare, s.PerKm, s.PerMinute, s.MinimumFare} {
		if !price.Decimal().IsZero() {
			return false
		}
	}
	return true
}

// errFree is the 400 for a service type without any price.
var errFree = fault.Field("baseFare", "expected one price above 0: baseFare, perKm, perMinute or minimumFare")

// prices checks the prices and converts them to their stored form. It adds faults to wrong.
// The prices of a kilometre and of a minute may have more decimals than the currency.
func (s *Service) prices(wrong *fault.Faults, l Limits) {
	most := money.MaxFare(l.Largest, l.Currency).Decimal()
	for _, price := range []struct {
		field string
		n     *money.Amount
		fine  bool // may have more decimals than the currency
	}{{"baseFare", &s.BaseFare, false}, {"perKm", &s.PerKm, true}, {"perMinute", &s.PerMinute, true},
		{"minimumFare", &s.MinimumFare, false}} {
		if !price.fine && *price.n != "" {
			l.amount(wrong, price.field, price.n)
		}
		d := price.n.Decimal()
		valid := !d.IsNegative() && !d.GreaterThan(most)
		wrong.Unless(valid || !price.fine, price.field, "expected an amount from 0 to %s, the company's largest fare", most)
		*price.n = money.Of(d)
	}
}

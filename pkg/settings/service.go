package settings

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"svc/pkg/branding"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// ServiceType is a kind of ride the tenant offers (decisions, "Shapes not
// shown"). Amounts are in currency units.
type ServiceType struct {
	ID          string      `json:"id" doc:"The value of serviceTypeId in a ride request."`
	Name        string      `json:"name"`
	Description *string     `json:"description"`
	BaseFare    json.Number `json:"baseFare"`
	PerKm       json.Number `json:"perKm"`
	PerMinute   json.Number `json:"perMinute"`
	MinimumFare json.Number `json:"minimumFare"`
	Currency    string      `json:"currency"`
	Capacity    int         `json:"capacity" doc:"Passengers."`
	IconURL     *string     `json:"iconUrl" format:"uri"`
	Active      bool        `json:"active"`
}

// Service is a service type with its commission rate, which riders never see.
type Service struct {
	ServiceType
	CommissionRate json.Number `json:"-"` // share of the fare, 0 to 1
}

// ServiceKey is the key of a service type.
func ServiceKey(t table.Tenant, id string) table.Key { return t.Key("SERVICE#"+id, "SETTINGS") }

// ServiceOf reads a service type of its item; fault.NotFound when there is
// none. Attributes: active, commissionRate.
func ServiceOf(it table.Item) (Service, error) {
	if !it.Found() {
		return Service{}, fault.NotFound()
	}
	var s Service
	if err := it.Decode(&s.ServiceType); err != nil {
		return Service{}, err
	}
	s.Active, s.CommissionRate = it.Flag("active"), it.Number("commissionRate")
	return s, nil
}

// ServiceItem is the stored form of a service type.
func ServiceItem(t table.Tenant, s Service) table.Item {
	return table.Item{Key: ServiceKey(t, s.ID), Type: "service", Version: 1, Doc: s.ServiceType,
		Attrs: map[string]any{"active": s.Active, "commissionRate": s.CommissionRate}}
}

func (s *Service) normal() error {
	s.Name = strings.TrimSpace(s.Name)
	if !ids.Valid(ids.Service, s.ID) || s.Name == "" || utf8.RuneCountInString(s.Name) > 100 {
		return fault.Field("name", "expected 1 to 100 characters")
	}
	if s.Description != nil && utf8.RuneCountInString(*s.Description) > 1000 {
		return fault.Field("description", "expected at most 1,000 characters")
	}
	if s.IconURL != nil {
		if message := branding.CheckURL(*s.IconURL); message != "" {
			return fault.Field("iconUrl", "%s", message)
		}
	}
	if s.Capacity < 1 || s.Capacity > 1000 {
		return fault.Field("capacity", "expected 1 to 1,000 passengers")
	}
	if err := s.prices(); err != nil {
		return err
	}
	if s.CommissionRate == "" {
		s.CommissionRate = "0"
	}
	d, err := money.Parse(s.CommissionRate)
	if err != nil || d.IsNegative() || d.GreaterThan(decimal.NewFromInt(1)) {
		return fault.Field("commission", "expected a share between 0 and 1")
	}
	s.CommissionRate = money.Number(d)
	return nil
}

// prices puts the prices into their stored form; at least one is above zero.
func (s *Service) prices() error {
	free := true
	for _, price := range []struct {
		field string
		n     *json.Number
	}{{"baseFare", &s.BaseFare}, {"perKm", &s.PerKm}, {"perMinute", &s.PerMinute}, {"minimumFare", &s.MinimumFare}} {
		if *price.n == "" {
			*price.n = "0"
		}
		d, err := money.Parse(*price.n) // per kilometre and minute may be finer than the currency
		if err != nil || d.IsNegative() || d.GreaterThan(money.Max) {
			return fault.Field(price.field, "expected an amount of 0 or more")
		}
		*price.n, free = money.Number(d), free && d.IsZero()
	}
	if free {
		return fault.Field("prices", "expected one above 0: a base fare, one for each kilometre or minute, or a least fare")
	}
	return nil
}

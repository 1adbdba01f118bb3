package settings

import (
	"encoding/json"

	"svc/pkg/branding"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Overview is the answer of GET /settings.
type Overview struct {
	Company  Company  `json:"company"`
	Settings Settings `json:"settings"`
}

// Company is who the tenant is and how it looks.
type Company struct {
	ID           string  `json:"id"`
	Slug         string  `json:"slug"`
	Name         string  `json:"name"`
	Currency     string  `json:"currency" example:"USD" doc:"ISO 4217."`
	Timezone     string  `json:"timezone" example:"America/New_York" doc:"IANA name."`
	CustomDomain *string `json:"customDomain"`
	branding.Branding
}

// Settings are the tenant's flags and settings.
type Settings struct {
	TaxiEnabled     bool `json:"taxiEnabled"`
	DeliveryEnabled bool `json:"deliveryEnabled"`
	Document
}

// Document is what is stored of the settings; the flags are the tenant's.
type Document struct {
	Pricing  Pricing  `json:"pricing"`
	Payments Payments `json:"payments"`
	Dispatch Dispatch `json:"dispatch"`
}

// Pricing is how fares are made beyond the service type's rates.
type Pricing struct {
	TaxRate             json.Number `json:"taxRate" minimum:"0" maximum:"1" doc:"Share of the fare that is tax."`
	CancellationFee     json.Number `json:"cancellationFee" minimum:"0" doc:"Currency units."`
	FreeWaitingMinutes  int         `json:"freeWaitingMinutes" minimum:"0"`
	WaitingPerMinute    json.Number `json:"waitingPerMinute" minimum:"0" doc:"Currency units."`
	RoundFareToMultiple json.Number `json:"roundFareToMultiple" minimum:"0" doc:"Currency units; 0 is no rounding."`
}

// Payments is how riders may pay.
type Payments struct {
	Cash   bool `json:"cash"`
	Card   bool `json:"card"`
	Wallet bool `json:"wallet"`
}

// Dispatch is how trips find their drivers.
type Dispatch struct {
	AutoAssign          bool        `json:"autoAssign"`
	SearchRadiusKm      json.Number `json:"searchRadiusKm" minimum:"0"`
	OfferTimeoutSeconds int         `json:"offerTimeoutSeconds" minimum:"0"`
	ScheduledRides      bool        `json:"scheduledRides"`
}

// Default is the document of a tenant that has set none.
var Default = Document{
	Pricing:  Pricing{TaxRate: "0", CancellationFee: "0", FreeWaitingMinutes: 5, WaitingPerMinute: "0", RoundFareToMultiple: "0"},
	Payments: Payments{Cash: true, Card: true, Wallet: true},
	Dispatch: Dispatch{AutoAssign: false, SearchRadiusKm: "5", OfferTimeoutSeconds: 30, ScheduledRides: false},
}

// Key is the key of the tenant's settings document.
func Key(t table.Tenant) table.Key { return t.Key("SETTINGS", "SETTINGS") }

// Of reads the document of its item, Default where there is none.
func Of(it table.Item) (Document, error) {
	d := Default
	if !it.Found() {
		return d, nil
	}
	return d, it.Decode(&d)
}

// Item is the stored form of the document.
func Item(t table.Tenant, d Document) table.Item {
	return table.Item{Key: Key(t), Type: "settings", Version: 1, Doc: d}
}

func overview(t tenant.Tenant, b branding.Branding, d Document) Overview {
	out := Overview{Company: Company{ID: t.ID, Slug: t.Slug, Name: t.Name, Currency: t.Currency, Timezone: t.Timezone, Branding: b},
		Settings: Settings{TaxiEnabled: t.TaxiEnabled, DeliveryEnabled: t.DeliveryEnabled, Document: d}}
	if t.CustomDomain != "" {
		out.Company.CustomDomain = &t.CustomDomain
	}
	return out
}

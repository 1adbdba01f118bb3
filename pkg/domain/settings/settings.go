package settings

import (
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/tenant"
)

// Overview is the response of GET /settings.
type Overview struct {
	Company  Company  `json:"company" doc:"The tenant's identity and branding."`
	Settings Settings `json:"settings" doc:"The tenant's features and settings."`
}

// Company is the tenant's identity and look.
type Company struct {
	ID           string  `json:"id" doc:"Identifier of the tenant."`
	Slug         string  `json:"slug" doc:"Short name of the tenant."`
	Name         string  `json:"name" doc:"Name of the company."`
	Currency     string  `json:"currency" example:"USD" doc:"ISO 4217."`
	Timezone     string  `json:"timezone" example:"America/New_York" doc:"IANA name."`
	CustomDomain *string `json:"customDomain" doc:"The company's own domain."`
	branding.Branding
}

// Settings are the tenant's feature flags and its settings document, as the API shows
// them.
type Settings struct {
	TaxiEnabled     bool `json:"taxiEnabled" doc:"Whether riders may request rides."`
	DeliveryEnabled bool `json:"deliveryEnabled" doc:"Whether delivery is enabled. While it is false, requests for businesses and orders get a 403."`
	Document
}

// Defaults returns the values that members get when a change sets them to null. The
// default of a feature is off.
func (Settings) Defaults() any { return Settings{Document: Default} }

// Document is the settings document as it is stored. The feature flags are stored in the
// tenant's record.
type Document struct {
	Pricing  Pricing  `json:"pricing" doc:"Fares beyond the rates of the service types. Waiting and rounding apply to estimates and to fares that the service computes. taxRate shows the tax on receipts."`
	Payments Payments `json:"payments" doc:"How riders may pay. A request with another payment type gets a 409."`
	Dispatch Dispatch `json:"dispatch" doc:"How trips find their drivers."`
	Routing  Routing  `json:"routing" doc:"How distances and durations of rides are estimated. An extension of the specification."`
	Map      BaseMap  `json:"map" doc:"The map below drivers and trips in the console. An extension of the specification."`
}

// Pricing configures fares beyond the rates of the service type.
type Pricing struct {
	TaxRate             money.Amount  `json:"taxRate" minimum:"0" maximum:"1" doc:"Share of the fare that is tax. Receipts of trips that are settled from now on show it."`
	CancellationFee     money.Amount  `json:"cancellationFee" minimum:"0" doc:"What a rider owes who cancels while a driver has the trip, currency units; 0 is none. It is only shown unless chargeCancellation is on."`
	NoShowFee           *money.Amount `json:"noShowFee" nullable:"true" minimum:"0" doc:"What a rider owes who does not come while waiting is free, currency units; 0 is none. If it is null, the rider owes the cancellationFee if chargeCancellation is on. It applies to trips that are requested from now on."`
	FreeWaitingMinutes  int           `json:"freeWaitingMinutes" minimum:"0" doc:"Minutes for which waiting is free."`
	WaitingPerMinute    money.Amount  `json:"waitingPerMinute" minimum:"0" doc:"Price of a minute of waiting, currency units."`
	RoundFareToMultiple money.Amount  `json:"roundFareToMultiple" minimum:"0" doc:"Fares are rounded to a multiple of this amount, currency units; 0 is no rounding."`
	ChargeCancellation  bool          `json:"chargeCancellation" doc:"Whether settlement posts the cancellationFee from the rider's wallet, for trips that are requested while it is on."`
}

// Payments configures how riders may pay.
type Payments struct {
	Cash   bool `json:"cash" doc:"Whether riders may pay in cash. Else a request gets a 409."`
	Card   bool `json:"card" doc:"Whether riders may pay by card. Else a request gets a 409."`
	Wallet bool `json:"wallet" doc:"Whether riders may pay from the wallet. Else a request gets a 409."`
}

// Dispatch configures how trips find their drivers.
type Dispatch struct {
	Mode                string       `json:"mode" enum:"manual,open,offers" doc:"With manual, nothing is dispatched. With open, drivers see the open trips around them. With offers, the nearest drivers get offers, in waves. Trips that are PENDING when manual ends are dispatched too."`
	AutoAssign          bool         `json:"autoAssign" doc:"With the mode offers: whether the nearest driver gets the trip without being asked. Who cannot drive it releases it."`
	SearchRadiusKm      money.Amount `json:"searchRadiusKm" minimum:"0" doc:"How far from the origin to search for drivers, and from the driver for open trips, kilometres. The service searches at most 60 km."`
	OfferTimeoutSeconds int          `json:"offerTimeoutSeconds" minimum:"0" doc:"How long an offer to a driver stands, seconds. The service takes at least 5 and at most 900."`
	WaveSize            int          `json:"waveSize" minimum:"1" maximum:"20" doc:"How many drivers get an offer at the same time. With more than one, the trip is in COLLECTING_OFFERS meanwhile, in which its rider cannot cancel it."`
	MaxWaves            int          `json:"maxWaves" minimum:"1" maximum:"50" doc:"After so many waves without success the trip is PENDING again, and nobody is asked any more."`
	ScheduledLead       int          `json:"scheduledLeadMinutes" minimum:"0" maximum:"1440" doc:"How many minutes before its time a scheduled trip becomes PENDING."`
	ScheduledRides      bool         `json:"scheduledRides" doc:"Whether rides for a later time are taken. Else a booking with scheduledFor gets a 409."`
	EarlyArrival        int          `json:"earlyArrivalMinutes" minimum:"0" maximum:"86400" doc:"How many minutes before its booked time a driver may arrive for a ride and start it, at the earliest. Before, the response is a 409."`
	DriverStatus        string       `json:"driverStatus" enum:"free,strict" doc:"With strict, only a driver who is ONLINE and has no other ride gets one, is BUSY until it ends, and ONLINE again then. With free, trips do not change the status of drivers."`
	DriverLicence       string       `json:"driverLicence" enum:"any,valid" doc:"With valid, a driver whose driving licences have all expired or been rejected cannot go online. With any, documents do not matter."`
	ServiceArea         string       `json:"serviceArea" enum:"off,strict" doc:"With strict, estimates and rides must begin in an active zone; else they get a 409. With off, they may begin anywhere."`
}

// The values of Dispatch.Mode.
const (
	Manual = "manual"
	Open   = "open"
	Offers = "offers"
)

// The values of Dispatch.DriverStatus.
const (
	FreeStatus   = "free"
	StrictStatus = "strict"
)

// The values of Dispatch.DriverLicence.
const (
	AnyLicence   = "any"
	ValidLicence = "valid"
)

// The values of Dispatch.ServiceArea.
const (
	AnyArea    = "off"
	StrictArea = "strict"
)

// The values of Routing.Engine: the interfaces of routing engines.
const (
	OSRM     = "osrm"
	Valhalla = "valhalla"
)

// Routing configures how distances and durations of rides are estimated.
type Routing struct {
	URL          *string      `json:"url" format:"uri" doc:"An https address of a routing engine. Without one, or while it does not answer, estimates follow from the straight line."`
	Engine       string       `json:"engine" enum:"osrm,valhalla" doc:"The interface of the routing engine."`
	DetourFactor money.Amount `json:"detourFactor" minimum:"1" maximum:"10" doc:"How much longer a ride is than the straight line."`
	AverageSpeed money.Amount `json:"averageSpeedKmh" minimum:"1" maximum:"200" doc:"Average speed of a ride, kilometres per hour."`
}

// BaseMap configures the map that the console shows.
type BaseMap struct {
	Tiles  *string `json:"tiles" maxLength:"2000" doc:"An https address of images of the map, with {z}, {x} and {y}, or of a style of MapLibre whose parts are at the same origin. Without one, the console asks no other host."`
	Credit *string `json:"credit" maxLength:"200" doc:"Whose data the map shows, as its licence asks for it."`
}

// Default is the settings document of a tenant that has not stored one.
var Default = Document{
	Pricing: Pricing{TaxRate: "0", CancellationFee: "0", FreeWaitingMinutes: 5, WaitingPerMinute: "0",
		RoundFareToMultiple: "0"},
	Payments: Payments{Cash: true, Card: true, Wallet: true},
	Dispatch: Dispatch{Mode: Manual, AutoAssign: false, SearchRadiusKm: "5", OfferTimeoutSeconds: 30, WaveSize: 1,
		MaxWaves: 10, ScheduledLead: 15, ScheduledRides: true, EarlyArrival: tenant.DefaultEarlyMinutes,
		DriverStatus: FreeStatus, DriverLicence: AnyLicence, ServiceArea: AnyArea},
	Routing: Routing{Engine: OSRM, DetourFactor: "1.3", AverageSpeed: "30"},
}

// Key returns the key of the tenant's settings document.
func Key(t table.Tenant) table.Key { return t.Key("SETTINGS", "SETTINGS") }

// Kind stores the settings document. A tenant without a stored one has Default.
var Kind = table.Kind[Document]{Type: "settings", Personal: "nothing",
	Row:  func(t table.Tenant, _ string, _ Document) table.Item { return table.Item{Key: Key(t), Version: 1} },
	Read: func(it table.Item) (Document, error) { return table.DecodeOr(it, Default) }}

// overview returns the response of GET /settings.
func overview(t tenant.Tenant, b branding.Branding, d Document) Overview {
	out := Overview{Company: Company{ID: t.ID, Slug: t.Slug, Name: t.Name, Currency: t.Currency, Timezone: t.Timezone,
		Branding: b}, Settings: Settings{TaxiEnabled: t.TaxiEnabled, DeliveryEnabled: t.DeliveryEnabled, Document: d}}
	if t.CustomDomain != "" {
		out.Company.CustomDomain = &t.CustomDomain
	}
	return out
}

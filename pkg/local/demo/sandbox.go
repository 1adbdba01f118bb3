package demo

import (
	"encoding/json"

	"svc/pkg/base/ids"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// robots is how many drivers of the sandbox are robots.
const robots = 40

// toy is the sandbox. Its trips are those that its robots drive.
var toy = demoTenant{
	tenant: tenant.Tenant{ID: id(ids.Tenant, "sandbox", 1), Slug: "sandbox", Name: "Sandbox Rides", Currency: "USD",
		Timezone: "America/Chicago", Country: "US", TaxiEnabled: true, MaxFare: "1000",
		MaxOpenTrips: tenant.MostOpenTrips, Sandbox: true},
	branding: map[string]string{"appName": "Sandbox Rides", "primaryColor": "#7C3AED", "secondaryColor": "#2E1065",
		"iconBackgroundColor": "#EDE9FE", "themeMode": "system"},
	settings: settings.Document{
		Pricing: settings.Pricing{TaxRate: "0.1", CancellationFee: "3", FreeWaitingMinutes: 2, WaitingPerMinute: "0.4",
			RoundFareToMultiple: "0.05"},
		Payments: settings.Payments{Cash: true, Card: true, Wallet: true},
		Dispatch: settings.Dispatch{Mode: settings.Offers, WaveSize: 1, MaxWaves: 10, ScheduledLead: 15,
			SearchRadiusKm: "6", OfferTimeoutSeconds: 20, ScheduledRides: true, DriverStatus: settings.StrictStatus,
			ServiceArea: settings.AnyArea},
		Routing: settings.Default.Routing,
	},
	services: []settings.Service{
		service("sandbox", 1, "Standard", "An everyday car for up to four.", "3", "1.4", "0.3", "6", 4, "0.2", "USD"),
		service("sandbox", 2, "Comfort", "A newer, roomier car.", "5", "2", "0.5", "10", 4, "0.225", "USD"),
	},
	zones: []settings.Zone{box("sandbox", 1, "Robot town", 10, "-87.71", "41.878", "-87.65", "41.923")},
	drivers: []driver.Record{
		car("sandbox", driver.Offline, "SBX-2041", "Kia Niro", "Blue", "+1 312 555 0101", "4.9", "41.9", "-87.68"),
	},
	phones:  []string{"+1 312 555 0181"},
	ratings: []json.Number{"4.9"},
	spots:   []spot{{"1 Sandbox Square", "41.9", "-87.68"}},
}

package demo

import (
	"encoding/json"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// demoTenant is one tenant of the demo.
type demoTenant struct {
	tenant     tenant.Tenant
	branding   map[string]string
	settings   settings.Document
	services   []settings.Service
	zones      []settings.Zone
	drivers    []driver.Record // their names and email addresses are in People
	phones     []string        // of the riders
	ratings    []json.Number   // of the riders
	spots      []spot          // start and end points of trips; the fifth is the airport
	shift      time.Duration   // added to the age of trips in rides that are older than an hour
	notes      map[int]string  // texts to drivers, by number of the trip, from 1
	reasons    []string        // reasons of cancelled trips
	businesses []delivery.Business
	menus      map[int][]dish // by number of the business, from 1
	orders     []order
}

// spot is an address with its coordinates.
type spot struct {
	address  string
	lat, lng json.Number
}

func text(s string) *string                      { return &s }
func ago(now time.Time, d time.Duration) *string { return timestamp.Ptr(now.Add(-d)) }

func service(slug string, n int, name, about string, base, km, minute, least json.Number, seats int,
	commission json.Number, currency string) settings.Service {
	return settings.Service{CommissionRate: commission, ServiceType: settings.ServiceType{ID: id(ids.Service, slug, n),
		Name: name, Description: &about,
		BaseFare: base, PerKm: km, PerMinute: minute, MinimumFare: least, Currency: currency, Capacity: seats, Active: true,
		IconURL: text("https://cdn." + slug + ".example/services/" + name + ".svg")}}
}

func car(slug, status, plate, model, color, phone string, rating, lat, lng json.Number) driver.Record {
	return driver.Record{Driver: driver.Driver{Status: status, VehiclePlate: &plate, VehicleModel: &model,
		VehicleColor: &color, Phone: &phone,
		Rating: &rating, CurrentLat: &lat, CurrentLng: &lng, PhotoURL: text("https://cdn." + slug + ".example/drivers/" +
			plate + ".jpg")}}
}

func business(slug string, n int, name, category, address string, lat, lng json.Number, phone string,
	active bool) delivery.Business {
	return delivery.Business{ID: id(ids.Business, slug, n), Name: name, Category: category, Address: address, Lat: lat,
		Lng:   lng,
		Phone: &phone, LogoURL: text("https://cdn." + slug + ".example/logos/" + category + ".png"), Active: active}
}

// box returns the rectangle of a zone.
func box(slug string, n int, name string, priority int, west, south, east, north json.Number) settings.Zone {
	area, err := settings.Box(west, south, east, north)
	if err != nil {
		panic(err)
	}
	return settings.Zone{ID: id(ids.Zone, slug, n), Name: name, Active: true, Priority: priority, Area: area}
}

var demoTenants = []demoTenant{metro, harbor, toy}

var metro = demoTenant{
	tenant: tenant.Tenant{ID: id(ids.Tenant, "metro", 1), Slug: "metro", Name: "Metro Rides", Currency: "USD",
		Timezone: "America/New_York", Country: "US",
		TaxiEnabled: true, DeliveryEnabled: true, MaxFare: "1000", MaxOpenTrips: tenant.MostOpenTrips},
	branding: map[string]string{"appName": "Metro Rides", "primaryColor": "#0B5FFF", "secondaryColor": "#0A2540",
		"iconBackgroundColor": "#E8F0FF", "logoUrl": metroLogo, "faviconUrl": metroIcon, "themeMode": "system",
		"supportUrl": "https://metro.example/help",
		"termsUrl":   "https://metro.example/terms", "privacyUrl": "https://metro.example/privacy"},
	settings: settings.Document{
		Pricing: settings.Pricing{TaxRate: "0.08875", CancellationFee: "5", FreeWaitingMinutes: 5, WaitingPerMinute: "0.45",
			RoundFareToMultiple: "0.05"},
		Payments: settings.Payments{Cash: true, Card: true, Wallet: true},
		Dispatch: settings.Dispatch{Mode: settings.Manual, WaveSize: 1, MaxWaves: 10, ScheduledLead: 15,
			AutoAssign: false, SearchRadiusKm: "6", OfferTimeoutSeconds: 20, ScheduledRides: true,
			DriverStatus: settings.FreeStatus, ServiceArea: settings.AnyArea},
		Routing: settings.Default.Routing,
	},
	services: []settings.Service{
		service("metro", 1, "Standard", "An everyday car for up to four.", "3", "1.45", "0.35", "6.5", 4, "0.2", "USD"),
		service("metro", 2, "Comfort", "A newer, roomier car and a quiet ride.", "5", "2.1", "0.5", "10", 4, "0.225", "USD"),
	},
	zones: []settings.Zone{box("metro", 1, "Downtown", 10, "-74.0205", "40.7", "-73.969", "40.742"),
		box("metro", 2, "Airport", 20, "-73.83", "40.62", "-73.74", "40.67")},
	drivers: []driver.Record{
		car("metro", driver.Busy, "MTR-4821", "Toyota Camry", "Silver", "+1 212 555 0101", "4.92", "40.7129", "-74.0058"),
		car("metro", driver.Busy, "MTR-1190", "Hyundai Ioniq 5", "White", "+1 212 555 0102", "4.81", "40.7068", "-73.9212"),
		car("metro", driver.Online, "MTR-7734", "Honda Accord", "Black", "+1 212 555 0103", "4.67", "40.7189", "-74.0031"),
	},
	phones:  []string{"+1 212 555 0181", "+1 212 555 0182", "+1 212 555 0183"},
	ratings: []json.Number{"4.9", "4.75", "5"},
	spots: []spot{
		{"12 Harbour Street", "40.7128", "-74.006"}, {"1 Station Square", "40.7306", "-73.9866"}, {"88 Canal Row", "40.7194",
			"-74.0019"},
		{"240 Orchard Avenue", "40.7411", "-73.9897"}, {"Terminal 4, International Airport", "40.6437",
			"-73.7822"}, {"17 Museum Mile", "40.7794", "-73.9632"},
		{"5 Battery Place", "40.7041", "-74.0165"}, {"301 Riverside Walk", "40.8011", "-73.9723"},
	},
	notes: map[int]string{3: "Just landed, Terminal 4, door 3", 10: "Three suitcases", 15: "Ring 4B, please",
		21: "A flight to catch, please hurry", 24: "For my sister; she waits in the lobby",
		25: "For two guests, at the taxi rank"},
	reasons: []string{"Found another way", "Waited too long", "Plans changed"},
	businesses: []delivery.Business{
		business("metro", 1, "Corner Deli", "restaurant", "91 Canal Row", "40.7196", "-74.0013", "+1 212 555 0141", true),
		business("metro", 2, "Green Basket", "grocery", "33 Orchard Avenue", "40.7392", "-73.991", "+1 212 555 0142", true),
		business("metro", 3, "Noodle House Ōtori", "restaurant", "7 Station Square", "40.7309", "-73.9871", "+1 212 555 0143",
			true),
		business("metro", 4, "Sunrise Bakery", "bakery", "60 Harbour Street", "40.7135", "-74.0049", "+1 212 555 0144",
			false),
	},
	menus: map[int][]dish{
		1: {{"Sandwiches", "Pastrami on rye", "14.5"}, {"Sandwiches", "Reuben", "15.5"},
			{"Soups", "Matzo ball soup", "9.5"}, {"Sides", "Half-sour pickles", "4.25"}},
		2: {{"Fruit", "Oranges, 1 kg", "4.1"}, {"Dairy", "Oat milk", "3.49"}, {"Bread", "Sourdough", "6"},
			{"Ready to eat", "Salad box", "11.2"}},
		3: {{"Ramen", "Tonkotsu ramen", "16.75"}, {"Ramen", "Shoyu ramen", "15.25"}, {"Sides", "Gyoza", "8"}},
	},
	orders: []order{
		{1, 1, 1, "DELIVERED", 30 * time.Hour, "3.99", []delivery.Line{{Name: "Pastrami on rye", Quantity: 2,
			UnitPrice: "14.5"}, {Name: "Half-sour pickles", Quantity: 1, UnitPrice: "4.25"}}},
		{3, 1, 2, "DELIVERED", 26 * time.Hour, "2.99", []delivery.Line{{Name: "Tonkotsu ramen", Quantity: 1,
			UnitPrice: "16.75"}}},
		{2, 2, 1, "DELIVERED", 20 * time.Hour, "0", []delivery.Line{{Name: "Oranges, 1 kg", Quantity: 2, UnitPrice: "4.1"},
			{Name: "Oat milk", Quantity: 3, UnitPrice: "3.49"}, {Name: "Sourdough", Quantity: 1, UnitPrice: "6"}}},
		{1, 3, 0, "CANCELLED", 8 * time.Hour, "3.99", []delivery.Line{{Name: "Matzo ball soup", Quantity: 1,
			UnitPrice: "9.5"}}},
		{3, 2, 3, "PICKED_UP", 50 * time.Minute, "2.99", []delivery.Line{{Name: "Shoyu ramen", Quantity: 2,
			UnitPrice: "15.25"}, {Name: "Gyoza", Quantity: 1, UnitPrice: "8"}}},
		{2, 1, 0, "READY", 35 * time.Minute, "1.99", []delivery.Line{{Name: "Salad box", Quantity: 1, UnitPrice: "11.2"}}},
		{1, 3, 0, "PREPARING", 15 * time.Minute, "3.99", []delivery.Line{{Name: "Reuben", Quantity: 1, UnitPrice: "15"},
			{Name: "Cream soda", Quantity: 2, UnitPrice: "2.75"}}},
		{3, 1, 0, "PENDING", 3 * time.Minute, "2.99", []delivery.Line{{Name: "Miso soup", Quantity: 1, UnitPrice: "4.5"},
			{Name: "Donburi", Quantity: 1, UnitPrice: "13.9"}}},
	},
}

var harbor = demoTenant{
	tenant: tenant.Tenant{ID: id(ids.Tenant, "harbor", 1), Slug: "harbor", Name: "Harbor Cabs", Currency: "EUR",
		Timezone: "Europe/Lisbon", Country: "PT",
		TaxiEnabled: true, MaxFare: "1000", MaxOpenTrips: tenant.MostOpenTrips},
	branding: map[string]string{"appName": "Harbor Cabs", "primaryColor": "#0F766E", "secondaryColor": "#134E4A",
		"iconBackgroundColor": "#CCFBF1", "logoUrl": harborLogo, "faviconUrl": harborIcon, "themeMode": "light",
		"supportUrl": "https://harbor.example/help",
		"termsUrl":   "https://harbor.example/terms", "privacyUrl": "https://harbor.example/privacy"},
	settings: settings.Document{
		Pricing: settings.Pricing{TaxRate: "0.06", CancellationFee: "3.5", FreeWaitingMinutes: 3, WaitingPerMinute: "0.3",
			RoundFareToMultiple: "0.1"},
		Payments: settings.Payments{Cash: true, Card: true, Wallet: false},
		Dispatch: settings.Dispatch{Mode: settings.Manual, WaveSize: 1, MaxWaves: 10, ScheduledLead: 15,
			AutoAssign: false, SearchRadiusKm: "4", OfferTimeoutSeconds: 30, ScheduledRides: false,
			DriverStatus: settings.FreeStatus, ServiceArea: settings.AnyArea},
		Routing: settings.Default.Routing,
	},
	services: []settings.Service{
		service("harbor", 1, "Cab", "A harbour cab for up to four.", "3.25", "0.95", "0.25", "5", 4, "0.15", "EUR"),
		service("harbor", 2, "Van", "For six, or for much luggage.", "5.5", "1.4", "0.35", "9", 6, "0.18", "EUR"),
	},
	zones: []settings.Zone{box("harbor", 1, "Old Port", 5, "-9.16", "38.7", "-9.12", "38.722"),
		box("harbor", 2, "Aeroporto", 10, "-9.145", "38.762", "-9.122", "38.79")},
	drivers: []driver.Record{
		car("harbor", driver.Busy, "HB-21-QX", "Škoda Octavia", "Teal", "+351 21 555 0101", "4.88", "38.7079", "-9.1366"),
		car("harbor", driver.Busy, "HB-09-LT", "Mercedes Vito", "Black", "+351 21 555 0102", "4.79", "38.7421", "-9.1298"),
		car("harbor", driver.Online, "HB-55-AA", "Renault Zoe", "White", "+351 21 555 0103", "4.95", "38.6972", "-9.2048"),
	},
	phones:  []string{"+351 91 555 0181", "+351 91 555 0182", "+351 91 555 0183"},
	ratings: []json.Number{"4.8", "4.6", "4.95"},
	spots: []spot{
		{"Rua do Cais 14", "38.7077", "-9.1365"}, {"Largo da Estação 2", "38.7146", "-9.1226"}, {"Avenida do Mar 201",
			"38.6969", "-9.206"},
		{"Praça Velha 9", "38.7139", "-9.1394"}, {"Aeroporto, Terminal 1", "38.7742", "-9.1342"}, {"Miradouro do Farol",
			"38.7195", "-9.1303"},
		{"Travessa das Redes 5", "38.7102", "-9.1421"}, {"Doca Norte, Armazém 3", "38.7263", "-9.1098"},
	},
	shift: 7*time.Hour + 40*time.Minute,
	notes: map[int]string{3: "Três malas grandes", 10: "Temos um voo para apanhar",
		15: "Toque à campainha do 2.º esquerdo", 21: "Partidas, por favor", 24: "Para a minha avó, que espera à porta",
		25: "Para dois hóspedes, na praça de táxis"},
	reasons: []string{"Já não preciso", "Demorou muito", "Mudança de planos"},
	businesses: []delivery.Business{business("harbor", 1, "Padaria da Praia", "bakery", "Rua do Cais 20", "38.7079",
		"-9.1361", "+351 21 555 0141", true)},
}

package app

import (
	"strings"

	"svc/pkg/address"
	"svc/pkg/api"
	"svc/pkg/branding"
	"svc/pkg/customer"
	"svc/pkg/delivery"
	"svc/pkg/driver"
	"svc/pkg/feedback"
	"svc/pkg/payment"
	"svc/pkg/person"
	"svc/pkg/profile"
	"svc/pkg/report"
	"svc/pkg/settings"
	"svc/pkg/table"
	"svc/pkg/trip"
	"svc/pkg/wallet"
)

// The functions that answer requests, by their names in the template.
const (
	OAuth    = "OAuthFunction"
	Trips    = "TripsFunction"
	Fleet    = "FleetFunction"
	Settings = "SettingsFunction"
	Reports  = "ReportsFunction"
	Delivery = "DeliveryFunction"
	Feedback = "FeedbackFunction"
	Me       = "MeFunction"
	Docs     = "DocsFunction"
)

// The functions that no request reaches.
const (
	Settlement = "SettlementFunction"
	Projection = "ProjectionFunction"
	Keys       = "KeysFunction"
)

// groups says which function serves the rows under a path.
var groups = map[string]string{
	"trips": Trips, "drivers": Fleet, "customers": Fleet, "settings": Settings, "services": Settings, "zones": Settings, "branding": Settings,
	"reports": Reports, "wallets": Reports, "businesses": Delivery, "orders": Delivery, "feedback": Feedback, "me": Me,
}

// Rows lists every endpoint of /api/v1.
func Rows(db *table.DB) []api.Row {
	var rows []api.Row
	for _, some := range [][]api.Row{trip.Rows(), driver.Rows(), customer.Rows(), settings.Rows(), branding.Rows(), report.Rows(), wallet.Rows(),
		delivery.Rows(), feedback.Rows(), profile.Rows(person.Store{DB: db}), address.Rows(), payment.Rows()} {
		rows = append(rows, some...)
	}
	return rows
}

// Group gives the function that serves a row.
func Group(r api.Row) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/api/v1/"), "/")
	return groups[first]
}

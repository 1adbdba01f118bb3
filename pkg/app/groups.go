package app

import (
	"slices"
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
	return slices.Concat(trip.Rows(), driver.Rows(), customer.Rows(), settings.Rows(), branding.Rows(), report.Rows(), wallet.Rows(),
		delivery.Rows(), feedback.Rows(), profile.Rows(person.Store{DB: db}), address.Rows(), payment.Rows())
}

// The rows of each function. A function's program holds the packages that are
// named here and no others; a test finds a row that none of them has.

// TripRows are those of TripsFunction.
func TripRows(*table.DB) []api.Row { return of(Trips, trip.Rows()) }

// FleetRows are those of FleetFunction.
func FleetRows(*table.DB) []api.Row { return of(Fleet, driver.Rows(), customer.Rows()) }

// SettingsRows are those of SettingsFunction.
func SettingsRows(*table.DB) []api.Row { return of(Settings, settings.Rows(), branding.Rows()) }

// ReportRows are those of ReportsFunction.
func ReportRows(*table.DB) []api.Row { return of(Reports, report.Rows(), wallet.Rows()) }

// DeliveryRows are those of DeliveryFunction.
func DeliveryRows(*table.DB) []api.Row { return of(Delivery, delivery.Rows()) }

// FeedbackRows are those of FeedbackFunction.
func FeedbackRows(*table.DB) []api.Row { return of(Feedback, feedback.Rows()) }

// MeRows are those of MeFunction.
func MeRows(db *table.DB) []api.Row {
	return of(Me, trip.Rows(), driver.Rows(), wallet.Rows(), delivery.Rows(), profile.Rows(person.Store{DB: db}), address.Rows(), payment.Rows())
}

// apis are the functions that have rows.
func apis() map[string]func(*table.DB) []api.Row {
	return map[string]func(*table.DB) []api.Row{Trips: TripRows, Fleet: FleetRows, Settings: SettingsRows, Reports: ReportRows,
		Delivery: DeliveryRows, Feedback: FeedbackRows, Me: MeRows}
}

func of(function string, some ...[]api.Row) []api.Row {
	return slices.DeleteFunc(slices.Concat(some...), func(r api.Row) bool { return Group(r) != function })
}

// Group gives the function that serves a row.
func Group(r api.Row) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/api/v1/"), "/")
	return groups[first]
}

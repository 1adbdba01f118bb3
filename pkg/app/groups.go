package app

import (
	"maps"
	"slices"
	"strings"

	"svc/pkg/base/outbound"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/event"
	"svc/pkg/domain/export"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/fleet"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/location"
	"svc/pkg/domain/machine"
	"svc/pkg/domain/member"
	"svc/pkg/domain/payment"
	"svc/pkg/domain/person"
	"svc/pkg/domain/privacy"
	"svc/pkg/domain/profile"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/report"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/statement"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// The functions that handle requests, by their names in the template.
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
	MCP      = "MCPFunction"
)

// Events is the function behind the function URL that streams events. It exists only if
// the parameter EventStreams is set. At the gateway, SettingsFunction has the same row.
const Events = "EventsFunction"

// The functions that handle no requests.
const (
	Settlement = "SettlementFunction"
	Projection = "ProjectionFunction"
	Keys       = "KeysFunction"
	Deliver    = "DeliverFunction"
	Dispatch   = "DispatchFunction"
	Jobs       = "JobsFunction"
	Smoke      = "SmokeFunction"
)

// RequestFunctions lists the functions that handle requests.
func RequestFunctions() []string {
	return append(slices.Sorted(maps.Keys(rowsOf())), OAuth, Docs, MCP)
}

// Rows lists every endpoint of /api/v1.
func Rows(db *table.DB) []api.Row {
	var out []api.Row
	lists := rowsOf()
	for _, function := range slices.Sorted(maps.Keys(lists)) {
		out = append(out, lists[function](db)...)
	}
	return out
}

// rowsOf returns the rows of each function that has rows. Of the functions, only
// MCPFunction and SmokeFunction may use it, because the program of any other
// function must link only the packages of its own rows.
func rowsOf() map[string]func(*table.DB) []api.Row {
	return map[string]func(*table.DB) []api.Row{
		Trips: TripRows, Fleet: FleetRows, Settings: SettingsRows, Reports: ReportRows,
		Delivery: DeliveryRows, Feedback: FeedbackRows, Me: MeRows,
	}
}

// The rows of each function. They are the rows for operators of the packages
// named here, except that MeFunction has everything under /api/v1/me. A test
// fails if no function serves a row of pkg/domain.

// TripRows are the rows of TripsFunction.
func TripRows(*table.DB) []api.Row { return operators(trip.Rows(), receipt.TripRows()) }

// FleetRows are the rows of FleetFunction.
func FleetRows(db *table.DB) []api.Row {
	return operators(driver.Rows(), customer.Rows(), fleet.Rows(db), statement.Rows(), member.Rows(db))
}

// SettingsRows are the rows of SettingsFunction.
func SettingsRows(db *table.DB) []api.Row {
	return operators(settings.Rows(), branding.Rows(), event.Rows(), webhook.Rows(), sandbox.Rows(db), machine.Rows())
}

// ReportRows are the rows of ReportsFunction.
func ReportRows(*table.DB) []api.Row {
	return operators(report.Rows(), wallet.Rows(), receipt.WalletRows(), export.Rows(), imports.Rows(), privacy.Rows())
}

// DeliveryRows are the rows of DeliveryFunction.
func DeliveryRows(*table.DB) []api.Row { return operators(delivery.Rows()) }

// FeedbackRows are the rows of FeedbackFunction.
func FeedbackRows(*table.DB) []api.Row { return operators(feedback.Rows()) }

// MeRows are the rows of MeFunction.
func MeRows(db *table.DB) []api.Row {
	return slices.DeleteFunc(slices.Concat(trip.Rows(), receipt.TripRows(), driver.Rows(), wallet.Rows(), delivery.Rows(),
		profile.Rows(person.Store{DB: db}), address.Rows(), payment.Rows(), estimate.Rows(outbound.Public()),
		location.Rows(), dispatch.Rows(), event.Rows(), fleet.Rows(db), privacy.Rows(), statement.Rows()), isOperators)
}

// OperatorRows lists every endpoint that only operators may call.
func OperatorRows(db *table.DB) []api.Row { return operators(Rows(db)) }

func operators(lists ...[]api.Row) []api.Row {
	return slices.DeleteFunc(slices.Concat(lists...), func(r api.Row) bool { return !isOperators(r) })
}

func isOperators(r api.Row) bool { return resource(r.Path) != "me" }

// resource returns the first segment of a path after /api/v1/.
func resource(path string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/v1/"), "/")
	return word
}

// FunctionOf returns the function that serves a path under /api/v1, or "". One
// function has all rows whose paths have the same first segment after /api/v1.
func FunctionOf(path string) string {
	for function, rows := range rowsOf() {
		if slices.ContainsFunc(rows(nil), func(r api.Row) bool { return resource(r.Path) == resource(path) }) {
			return function
		}
	}
	return ""
}

package event

import (
	"slices"
	"strings"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
)

// Type is a type of event: its Name, such as trip.completed, and in Text what it means.
type Type struct{ Name, Text string }

// types lists all types of events.
var types = []Type{
	{"trip.requested", "A ride was requested, for now."},
	{"trip.scheduled", "A ride was booked for later."},
	{"trip.due", "The time of a scheduled ride has come."},
	{"trip.searching", "Dispatch began to look for a driver."},
	{"trip.collecting_offers", "Several drivers were asked at the same time."},
	{"trip.offered", "The ride was offered to a driver."},
	{"trip.declined", "A driver declined the offer."},
	{"trip.unanswered", "A driver did not answer the offer."},
	{"trip.accepted", "A driver has the ride: accepted, assigned or handed over."},
	{"trip.unassigned", "The driver no longer has the ride."},
	{"trip.arrived", "The driver is at the pickup."},
	{"trip.started", "The ride began."},
	{"trip.completed", "The ride ended."},
	{"trip.cancelled", "The ride was cancelled."},
	{"trip.corrected", "The fare of a completed ride was corrected."},
	{"trip.settled", "The receipt of a completed ride was issued, and the money posted."},
	{"trip.rated", "The rider rated the ride."},
	{"trip.deleted", "The trip was deleted."},
	{"driver.created", "A driver was added."},
	{"driver.updated", "A driver's record changed."},
	{"driver.status_changed", "A driver went online, offline or busy. Short statuses may be left out."},
	{"driver.erased", "A driver was erased. Delete what you hold of the person."},
	{"document.created", "A document of a driver was added."},
	{"document.updated", "A document of a driver changed, and its state did not."},
	{"document.status_changed", "The state of a driver's document changed."},
	{"customer.created", "A rider was added."},
	{"customer.updated", "A rider's record changed."},
	{"customer.erased", "A rider was erased. Delete what you hold of the person."},
	{"business.created", "A business was added."},
	{"business.updated", "A business changed."},
	{"menu_item.created", "An item was added to the menu of a business."},
	{"menu_item.updated", "An item of a menu changed, also whether it is available."},
	{"order.created", "An order was placed."},
	{"order.updated", "An order changed, and its status did not."},
	{"order.status_changed", "The status of an order changed."},
	{"wallet.posted", "A wallet was credited or debited."},
	{"withdrawal.requested", "A driver asked for a withdrawal."},
	{"withdrawal.paid", "A withdrawal was paid."},
	{"withdrawal.refused", "A withdrawal was refused."},
	{"withdrawal.cancelled", "The driver took a withdrawal back."},
	{"branding.updated", "The company's branding changed."},
	{"settings.updated", "The company's settings, a service type or a zone changed, or was added or deleted."},
	{"company.updated", "The company's name, features, time zone or another member of its record changed."},
	{"member.created", "An operator joined the company."},
	{"member.updated", "An operator's role or permissions changed, or the operator was disabled or enabled."},
	{"member.deleted", "An operator left the company."},
	{"privacy_request.created", "Somebody asked for a copy or the erasure of a person's data."},
	{"privacy_request.status_changed", "The status of a privacy request changed."},
	{"feedback.created", "Somebody of the company wrote a post on the roadmap."},
	{"feedback.updated", "A post of the company got a comment, or lost one."},
	{"feedback.status_changed", "The status of a post of the company changed."},
	{"export.completed", "The file of an export is ready, or the export failed."},
	{"import.completed", "An import ended: all rows were read, or it failed."},
	{"webhook.disabled", "The service disabled a webhook endpoint."},
}

// Types returns the types of events.
func Types() []Type { return slices.Clone(types) }

// Known reports whether a type of event exists.
func Known(kind string) bool {
	return slices.ContainsFunc(types, func(t Type) bool { return t.Name == kind })
}

// ParseTypes returns the types in a text that separates them by commas. They are sorted,
// without duplicates, and none for "". ok is false if a type does not exist.
func ParseTypes(text string) (out []string, ok bool) {
	if text == "" {
		return nil, true
	}
	out = strings.Split(text, ",")
	slices.Sort(out)
	out = slices.Compact(out)
	return out, !slices.ContainsFunc(out, func(kind string) bool { return !Known(kind) })
}

// Sample returns an invented event of the type, for tests of a receiver. live is false
// in a sandbox.
func Sample(kind string, live bool, now time.Time) Event {
	e := invent(kind, now, func(of string) string { return ids.New(of, now) })
	e.Livemode = live
	return e
}

// Example is Sample with the same identifiers each time, for the OpenAPI document.
func Example(kind string, at time.Time) Event {
	return invent(kind, at, func(of string) string { return ids.Derived(of, at, kind) })
}

// invent returns an event with plausible data. id returns an identifier of the given kind,
// such as ids.Trip.
func invent(kind string, now time.Time, id func(string) string) Event {
	e := Event{ID: id(ids.Event), Type: kind, Timestamp: timestamp.Format(now), Livemode: true}
	e.Data.Version = 1
	resource, change, _ := strings.Cut(kind, ".")
	switch resource {
	case "trip":
		e.Resource = id(ids.Trip)
		e.Data.TripID, e.Data.CustomerID, e.Data.DriverID = e.Resource, id(ids.Customer), id(ids.Driver)
		e.Data.Status, e.Data.PreviousStatus = "COMPLETED", "IN_PROGRESS"
	case "driver":
		e.Resource = id(ids.Driver)
		e.Data.DriverID, e.Data.Status = e.Resource, "ONLINE"
	case "customer":
		e.Resource = id(ids.Customer)
		e.Data.CustomerID = e.Resource
	case "order":
		e.Resource = id(ids.Order)
		e.Data.OrderID, e.Data.BusinessID, e.Data.CustomerID = e.Resource, id(ids.Business), id(ids.Customer)
		e.Data.Status = "ACCEPTED"
	case "document":
		e.Resource = id(ids.Document)
		e.Data.DocumentID, e.Data.DriverID, e.Data.Status = e.Resource, id(ids.Driver), "APPROVED"
	case "business":
		e.Resource = id(ids.Business)
		e.Data.BusinessID = e.Resource
	case "menu_item":
		e.Resource = id(ids.MenuItem)
		e.Data.MenuItemID, e.Data.BusinessID = e.Resource, id(ids.Business)
	case "member":
		e.Resource = id(ids.Person)
		e.Data.MemberID = e.Resource
	case "privacy_request":
		e.Resource = id(ids.Privacy)
		e.Data.RequestID, e.Data.CustomerID, e.Data.Status = e.Resource, id(ids.Customer), "DONE"
	case "wallet":
		e.Resource = id(ids.Posting)
		e.Data.TransactionID, e.Data.DriverID = e.Resource, id(ids.Driver)
	case "withdrawal":
		e.Resource = id(ids.Payout)
		e.Data.WithdrawalID, e.Data.DriverID, e.Data.Status = e.Resource, id(ids.Driver), strings.ToUpper(change)
	case "feedback":
		e.Resource = id(ids.Post)
		e.Data.PostID, e.Data.Status = e.Resource, "PLANNED"
	case "export":
		e.Resource = id(ids.Export)
		e.Data.ExportID, e.Data.Status = e.Resource, "READY"
	case "import":
		e.Resource = id(ids.Import)
		e.Data.ImportID, e.Data.Status = e.Resource, "DONE"
	case "webhook":
		e.Resource = id(ids.Webhook)
		e.Data.WebhookID, e.Data.Status = e.Resource, "disabled"
	default: // settings, branding and company have no identifiers
		e.Resource = resource
	}
	return e
}

package event

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Event is what happened to one resource. It is thin: it holds identifiers and
// statuses, and no name, phone number, address or position.
type Event struct {
	ID        string `json:"id" example:"evt_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the event. It is the same in the feed and in each delivery, so it tells a repeated delivery."`
	Type      string `json:"type" example:"trip.completed" doc:"What happened: the kind of resource, a dot and the change."`
	Timestamp string `json:"timestamp" format:"date-time" doc:"When it happened."`
	Data      Data   `json:"data" doc:"Identifiers and statuses. Read the resource for everything else."`
	Resource  string `json:"resource" example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the resource that changed; settings, branding and company stand for themselves. A posting in a rider's wallet is the rider's identifier, a slash and that of the posting."`
	Livemode  bool   `json:"livemode" doc:"False in a sandbox."`
}

// Data is short for EventData.
type Data = EventData

// EventData are the details of an event. A detail that the event does not have is
// absent.
//
//nolint:revive // the OpenAPI document names the schema after the type
type EventData struct {
	TripID           string `json:"tripId,omitempty" doc:"The trip."`
	DriverID         string `json:"driverId,omitempty" doc:"The driver."`
	PreviousDriverID string `json:"previousDriverId,omitempty" doc:"The driver who had the trip before."`
	CustomerID       string `json:"customerId,omitempty" doc:"The rider."`
	OrderID          string `json:"orderId,omitempty" doc:"The order."`
	BusinessID       string `json:"businessId,omitempty" doc:"The business."`
	ServiceTypeID    string `json:"serviceTypeId,omitempty" doc:"The service type."`
	ZoneID           string `json:"zoneId,omitempty" doc:"The zone."`
	ReceiptID        string `json:"receiptId,omitempty" doc:"The receipt."`
	TransactionID    string `json:"transactionId,omitempty" doc:"The transaction of a wallet."`
	WithdrawalID     string `json:"withdrawalId,omitempty" doc:"The withdrawal."`
	MenuItemID       string `json:"menuItemId,omitempty" doc:"The item of a menu."`
	DocumentID       string `json:"documentId,omitempty" doc:"The driver's document."`
	MemberID         string `json:"memberId,omitempty" doc:"The operator."`
	RequestID        string `json:"privacyRequestId,omitempty" doc:"The privacy request."`
	PostID           string `json:"postId,omitempty" doc:"The feedback post."`
	ExportID         string `json:"exportId,omitempty" doc:"The export."`
	ImportID         string `json:"importId,omitempty" doc:"The import."`
	WebhookID        string `json:"webhookId,omitempty" doc:"The webhook endpoint."`
	Status           string `json:"status,omitempty" doc:"The status after the change."`
	PreviousStatus   string `json:"previousStatus,omitempty" doc:"The status before the change."`
	Version          int64  `json:"version" example:"4" doc:"Counts the events of the resource: 1, 2, 3 and so on. A receiver that keeps the highest version drops what comes late."`
}

// Concerns reports whether the event is about the rider or driver with the id.
func (e Event) Concerns(actor string) bool {
	return e.Data.CustomerID == actor || e.Data.DriverID == actor
}

// OfWallet is the resource of a posting in a rider's wallet.
func OfWallet(actor, posting string) string { return actor + "/" + posting }

// Of reports whether the event is of the resource. A posting is found by its identifier
// alone too.
func (e Event) Of(resource string) bool {
	return e.Resource == resource || e.Resource == OfWallet(e.Data.CustomerID, resource)
}

// Kept is how long an event stays in the feed.
const Kept = 30 * 24 * time.Hour

// Settings, Branding and Company are the resources of the tenant's settings, branding
// and record, which have no identifiers in the API.
const (
	Settings = "settings"
	Branding = "branding"
	Company  = "company"
)

// sequenceDigits is the length of a number as a range key, and mostNumber the largest
// one with this length.
const (
	sequenceDigits = 16
	mostNumber     = 1e16 - 1
)

// partition returns the partition of a shard.
func partition(t table.Tenant, shard int) string { return t.Partition("EVENTS", strconv.Itoa(shard)) }

// headKey returns the key of the item that holds a shard's last number. It sorts
// after every number.
func headKey(t table.Tenant, shard int) table.Key {
	return table.Key{PK: partition(t, shard), SK: headSK}
}

const headSK = "HEAD"

// Key returns the key of an event.
func Key(t table.Tenant, shard int, number int64) table.Key {
	return table.Key{PK: partition(t, shard), SK: digits(number)}
}

func digits(number int64) string { return fmt.Sprintf("%0*d", sequenceDigits, number) }

func numberOf(sk string) int64 {
	n, _ := strconv.ParseInt(sk, 10, 64)
	return n
}

// Emitted is what the feed stores about one item.
type Emitted struct {
	Events int64  `json:"events"`            // events in the feed
	Shard  int    `json:"shard"`             // in which they are; it never changes
	Log    string `json:"log,omitempty"`     // of a trip: the last entry of its log that is in the feed
	Done   bool   `json:"settled,omitempty"` // of a trip: its settlement is in the feed
	Status string `json:"status,omitempty"`  // that the last event told
	Sum    string `json:"sum,omitempty"`     // hash of what else the events tell of
	Gone   bool   `json:"gone,omitempty"`    // its deletion is in the feed

	Parts *Parts `json:"parts,omitempty"` // of an item that holds several resources
}

// Parts counts the events of each resource of one item. Builds up to 2026-11 counted all
// events of the item together: what they told is in Before.
type Parts struct {
	Before int64            `json:"before,omitempty"` // events that were counted together, the first ones
	Until  string           `json:"until,omitempty"`  // time of the last of them
	Told   int64            `json:"told"`             // events that were counted by resource
	Each   map[string]int64 `json:"each"`             // the last version of a resource
}

// Tell counts an event of one of the item's resources, and returns the version of the
// resource. created is when the resource was made, live are those that the item has.
func (e *Emitted) Tell(resource, created string, live []string) int64 {
	p := Parts{Each: map[string]int64{}}
	if e.Parts != nil {
		p.Before, p.Until, p.Told = e.Parts.Before, e.Parts.Until, e.Parts.Told
		maps.Copy(p.Each, e.Parts.Each)
	}
	if e.Events != p.Before+p.Told { // an older build told some
		p = Parts{Before: e.Events, Until: e.Status, Each: map[string]int64{}}
	}
	maps.DeleteFunc(p.Each, func(one string, _ int64) bool { return !slices.Contains(live, one) })
	if p.Each[resource] == 0 && created <= p.Until { // the older build may have told of it
		p.Each[resource] = p.Before
	}
	p.Told++
	p.Each[resource]++
	e.Events++
	e.Parts = &p
	return p.Each[resource]
}

// EmittedKey returns the key of the Emitted of the item with the key. The item is the
// tenant's, or a post that somebody of the tenant wrote.
func EmittedKey(t table.Tenant, item table.Key) table.Key {
	own := strings.TrimPrefix(strings.TrimPrefix(item.PK, t.Partition()), "#")
	return table.Key{PK: t.Partition("EMITTED", own), SK: item.SK}
}

// New returns an event of the resource. The id depends on the resource and on
// what: the log entry or the version that the event tells of.
func New(kind, resource, what, at string, d Data) Event {
	when, _ := timestamp.Parse(at) // our own format
	return Event{ID: ids.Derived(ids.Event, when, resource+"#"+what), Type: kind, Timestamp: at, Data: d,
		Resource: resource}
}

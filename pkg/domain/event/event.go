package event

import (
	"fmt"
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
	Resource  string `json:"resource" example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the resource that changed; settings and branding stand for themselves."`
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

// Kept is how long an event stays in the feed.
const Kept = 30 * 24 * time.Hour

// Settings and Branding are the resources of the tenant's settings and branding,
// which have no identifiers.
const (
	Settings = "settings"
	Branding = "branding"
)

// sequenceDigits is the length of a number as a range key.
const sequenceDigits = 16

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

// FromItem decodes an event from its item.
func FromItem(it table.Item) (Event, error) { return table.DecodeDoc[Event](it) }

// Emitted is what the feed stores about one item.
type Emitted struct {
	Events int64  `json:"events"`            // events in the feed
	Shard  int    `json:"shard"`             // in which they are; it never changes
	Log    string `json:"log,omitempty"`     // of a trip: the last entry of its log that is in the feed
	Done   bool   `json:"settled,omitempty"` // of a trip: its settlement is in the feed
	Status string `json:"status,omitempty"`  // that the last event told
	Sum    string `json:"sum,omitempty"`     // hash of what else the events tell of
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

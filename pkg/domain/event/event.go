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

// OfWallet returns the Resource of an event about a posting in a rider's wallet. actor is
// the rider's id, posting the posting's.
func OfWallet(actor, posting string) string { return actor + "/" + posting }

// Of reports whether the event is about the resource with the identifier. A posting in a
// rider's wallet has two identifiers: OfWallet, and the posting's own.
func (e Event) Of(resource string) bool {
	return e.Resource == resource || e.Resource == OfWallet(e.Data.CustomerID, resource)
}

// Kept is how long an event stays in the feed.
const Kept = 30 * 24 * time.Hour

// Settings, Branding and Company stand in Event.Resource for the tenant's settings,
// branding and record, which have no identifiers in the API.
const (
	Settings = "settings"
	Branding = "branding"
	Company  = "company"
)

// sequenceDigits is the number of decimal digits of an event's range key, which is the
// event's number with leading zeros. mostNumber is the largest number that fits.
const (
	sequenceDigits = 16
	mostNumber     = 1e16 - 1
)

// partition returns the partition of a shard.
func partition(t table.Tenant, shard int) string { return t.Partition("EVENTS", strconv.Itoa(shard)) }

// headKey returns the key of a shard's head: the item that holds the number of the shard's
// last event. The head is in the shard's partition and sorts after every event.
func headKey(t table.Tenant, shard int) table.Key {
	return table.Key{PK: partition(t, shard), SK: headSK}
}

// headSK is the range key of a shard's head.
const headSK = "HEAD"

// Key returns the key of the event with the number in the shard.
func Key(t table.Tenant, shard int, number int64) table.Key {
	return table.Key{PK: partition(t, shard), SK: digits(number)}
}

// digits returns an event's number as its range key.
func digits(number int64) string { return fmt.Sprintf("%0*d", sequenceDigits, number) }

// numberOf returns the number of the event with the range key sk.
func numberOf(sk string) int64 {
	n, _ := strconv.ParseInt(sk, 10, 64)
	return n
}

// Emitted records which events of one item, such as a trip, the feed has already. The
// projection compares it with the item to find the events that are new.
type Emitted struct {
	Events int64  `json:"events"`            // events in the feed
	Shard  int    `json:"shard"`             // the shard with these events; it never changes
	Log    string `json:"log,omitempty"`     // of a trip: the last entry of its log that is in the feed
	Done   bool   `json:"settled,omitempty"` // of a trip: its settlement is in the feed
	Status string `json:"status,omitempty"`  // the item's status that the last event told
	Sum    string `json:"sum,omitempty"`     // hash of the rest of the item, to see that it has changed
	Gone   bool   `json:"gone,omitempty"`    // the event of the item's deletion is in the feed

	Parts *Parts `json:"parts,omitempty"` // of an item that holds several resources
}

// Parts counts the events of each resource of an item that holds several, such as the
// item of a tenant's webhook endpoints. Builds up to 2026-11 counted the events of the
// whole item; Before has their count.
type Parts struct {
	Before int64            `json:"before,omitempty"` // the first events, which were counted for the whole item
	Until  string           `json:"until,omitempty"`  // time of the last event in Before
	Told   int64            `json:"told"`             // events that were counted for their resource
	Each   map[string]int64 `json:"each"`             // by resource: the version of its last event
}

// Tell counts a new event of one of the item's resources and returns the event's version.
// created is the time when the resource was created. live are the resources that the item
// has now; Tell forgets the counts of others.
func (e *Emitted) Tell(resource, created string, live []string) int64 {
	p := Parts{Each: map[string]int64{}}
	if e.Parts != nil {
		p.Before, p.Until, p.Told = e.Parts.Before, e.Parts.Until, e.Parts.Told
		maps.Copy(p.Each, e.Parts.Each)
	}
	if e.Events != p.Before+p.Told { // an older build has counted events that p does not have
		p = Parts{Before: e.Events, Until: e.Status, Each: map[string]int64{}}
	}
	maps.DeleteFunc(p.Each, func(one string, _ int64) bool { return !slices.Contains(live, one) })
	if p.Each[resource] == 0 && created <= p.Until { // Before may have events of the resource
		p.Each[resource] = p.Before
	}
	p.Told++
	p.Each[resource]++
	e.Events++
	e.Parts = &p
	return p.Each[resource]
}

// EmittedKey returns the key of the Emitted of the item with the key item. The item is one
// of the tenant's, or a feedback post that an operator of the tenant wrote.
func EmittedKey(t table.Tenant, item table.Key) table.Key {
	own := strings.TrimPrefix(strings.TrimPrefix(item.PK, t.Partition()), "#")
	return table.Key{PK: t.Partition("EMITTED", own), SK: item.SK}
}

// New returns an event of the type kind about the resource, without a version. at is the
// time when it happened. The event's id is derived from at, the resource and what, which is
// the log entry or the version that the event tells of: equal values give an equal id.
func New(kind, resource, what, at string, d Data) Event {
	when, _ := timestamp.Parse(at) // cannot fail: at is in our own format
	return Event{ID: ids.Derived(ids.Event, when, resource+"#"+what), Type: kind, Timestamp: at, Data: d,
		Resource: resource}
}

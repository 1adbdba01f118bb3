package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
)

// Delivery is the state of one event at one endpoint.
type Delivery struct {
	EventID   string    `json:"eventId" doc:"Identifier of the event, the header webhook-id."`
	Type      string    `json:"type" doc:"Type of the event."`
	Status    string    `json:"status" enum:"pending,succeeded,failed" doc:"A pending delivery is tried again. A failed one is not."`
	Test      bool      `json:"test" doc:"Whether it is a test. A test is in no feed."`
	Attempts  []Attempt `json:"attempts" doc:"The last ten attempts, oldest first."`
	NextAt    *string   `json:"nextAt" format:"date-time" doc:"When the next attempt is due; null if there is none."`
	UpdatedAt string    `json:"updatedAt" format:"date-time" doc:"When it was last tried."`
}

// Attempt is one attempt of a delivery. It never has the receiver's response.
type Attempt struct {
	At     string `json:"at" format:"date-time" doc:"When it began."`
	Result string `json:"result" enum:"succeeded,http_3xx,http_4xx,http_5xx,gone,timeout,dns_error,address_not_public,connection_refused,connection_error,tls_error,challenge_failed,disabled" doc:"What came of it."`
	Millis int64  `json:"millis" doc:"How long it took."`
}

// Sent is a stored delivery.
type Sent struct {
	Delivery
	Made   int   `json:"made"`  // attempts that were made, over all rounds
	Tries  int   `json:"tries"` // attempts of this round; a replay begins a round
	Shard  int   `json:"shard"` // of the event in the feed
	Number int64 `json:"number"`

	key      table.Key     // of the stored item; zero if it is new
	preserve table.Unknown // of the stored item
}

// Statuses of a delivery.
const (
	Waiting   = "pending"
	Succeeded = "succeeded"
	Failed    = "failed"
)

// MaxAttempts is how many attempts a delivery shows.
const MaxAttempts = 10

// deliveries returns the partition with the deliveries to an endpoint of the events in
// a shard of the feed. So an endpoint has as many as the tenant's feed. The first also
// has the requests, and deliveries that older versions wrote, of every shard.
func deliveries(t table.Tenant, endpoint string, shard int) string {
	if shard == 0 {
		return t.Partition("WEBHOOK", endpoint)
	}
	return t.Partition("WEBHOOK", endpoint, strconv.Itoa(shard))
}

// allDeliveries returns the partitions with all deliveries to an endpoint.
func allDeliveries(t table.Tenant, endpoint string, shards int) []string {
	out := make([]string, shards)
	for shard := range out {
		out[shard] = deliveries(t, endpoint, shard)
	}
	return out
}

const deliveryPrefix = "DELIVERY#"

// DeliveryKey returns the key of the delivery of an event to an endpoint. shard is that
// of the event in the feed; a test, which is in no feed, has 0.
func DeliveryKey(t table.Tenant, endpoint string, shard int, eventID string) table.Key {
	return table.Key{PK: deliveries(t, endpoint, shard), SK: deliveryPrefix + eventID}
}

// FindDelivery reads the delivery of an event whose shard is not known. shards is the
// tenant's readShards.
func FindDelivery(ctx context.Context, t table.Tenant, endpoint string, shards int, eventID string) (table.Item,
	error) {
	keys := make([]table.Key, shards)
	for shard := range keys {
		keys[shard] = DeliveryKey(t, endpoint, shard, eventID)
	}
	items, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return table.Item{}, err
	}
	out := items[0]
	for _, it := range items[1:] {
		if it.Found() {
			out = it
		}
	}
	return out, nil
}

var _ = table.Kind[any]{Type: "delivery", Personal: "nothing"}

// Item returns the stored form. A delivery is kept as long as its event. It stays at the
// key at which an older version wrote it.
func (s Sent) Item(t table.Tenant, endpoint string, now time.Time) table.Item {
	key := cmp.Or(s.key, DeliveryKey(t, endpoint, s.Shard, s.EventID))
	return table.Item{Key: key, Type: "delivery", Doc: s, Expires: now.Add(event.Kept),
		Attrs: map[string]any{"status": s.Status}, Preserve: s.preserve}
}

// SentFromItem decodes a delivery.
func SentFromItem(it table.Item) (Sent, error) {
	s, err := table.DecodeDoc[Sent](it)
	s.key, s.preserve = it.Key, it.Unknown()
	return s, err
}

// Deliveries returns a page of the deliveries to an endpoint, newest event first.
//
// Access pattern: T#t#WEBHOOK#id and T#t#WEBHOOK#id#shard, DELIVERY#… backwards, shards
// merged.
func Deliveries(ctx context.Context, t table.Tenant, endpoint, status, after string, limit int) ([]Sent, string,
	error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return nil, "", err
	}
	q := table.Query{Prefix: deliveryPrefix, Backward: true, After: after, Limit: limit}
	if status != "" {
		q.Where = []table.Condition{{Name: "status", Value: status}}
	}
	page, err := t.Merge(ctx, allDeliveries(t, endpoint, shards), q)
	out := make([]Sent, 0, len(page.Items))
	for _, it := range page.Items {
		s, err := SentFromItem(it)
		if err != nil {
			return nil, "", err
		}
		out = append(out, s)
	}
	if !page.More {
		page.Last = ""
	}
	return out, page.Last, err
}

// Request asks the sender to send a test, or to send events again. The stream
// passes it to the sender.
type Request struct {
	Test   *event.Event `json:"test,omitempty"`
	Event  string       `json:"event,omitempty"`  // the event to send again, "" for a range
	After  []int64      `json:"after,omitempty"`  // of a range: positions of the feed
	Before []int64      `json:"before,omitempty"` // of a range, inclusive
	Waited bool         `json:"waited,omitempty"` // of a range: an event that was tried is not sent again
	Person string       `json:"person,omitempty"` // whose agent's subscription it is, "" for an endpoint of the tenant
}

// RequestKey returns the key of a request.
func RequestKey(t table.Tenant, endpoint, id string) table.Key {
	return t.Key("WEBHOOK", endpoint, "REQUEST#"+id)
}

var _ = table.Kind[any]{Type: "redelivery", Personal: "nothing", Once: "written once, kept for a day"}

// Item returns the stored form of a request.
func (r Request) Item(t table.Tenant, endpoint, id string, now time.Time) table.Item {
	return table.Item{Key: RequestKey(t, endpoint, id), Type: "redelivery", Doc: r, Expires: now.Add(24 * time.Hour)}
}

// Message is a message in the sender's queue.
type Message struct {
	Tenant   string `json:"tenant"`
	Person   string `json:"person,omitempty"` // whose agent's subscription it is, "" for an endpoint of the tenant
	Endpoint string `json:"endpoint"`
	// One of: the number of a challenge, the id of a request, an event.
	Challenge int     `json:"challenge,omitempty"`
	Request   string  `json:"request,omitempty"`
	After     []int64 `json:"after,omitempty"` // of a range that goes on: positions
	Event     string  `json:"event,omitempty"`
	Shard     int     `json:"shard,omitempty"`
	Number    int64   `json:"number,omitempty"`
	Attempt   int     `json:"attempt,omitempty"` // of the event, from 1; an attempt that was made is not made again
	Round     bool    `json:"round,omitempty"`   // the attempt begins a new round of tries
	Advance   int     `json:"advance,omitempty"` // of a sandbox: make the attempts that are due within so many seconds
}

// Group returns the group of the message in a fair queue. What goes to persons' agents
// does not delay a tenant's own endpoints.
func (m Message) Group() string {
	if m.Person != "" {
		return m.Tenant + "-persons"
	}
	return m.Tenant
}

// dueBooks is how many books of what is due there are.
const dueBooks = 5

// Due is what the sender must do at a later time for events in a shard. Events in other
// shards than the first are those of large tenants. They have other books: if all
// attempts of a large tenant fail, the rows of the others are not delayed.
func Due(db *table.DB, now func() time.Time, shard int) due.Book {
	if shard == 0 {
		return due.Book{DB: db, Name: "webhooks", Now: now}
	}
	return due.Book{DB: db, Name: "webhooks-" + strconv.Itoa(1+shard%(dueBooks-1)), Now: now}
}

// AllDue is everything that the sender must do at a later time.
func AllDue(db *table.DB, now func() time.Time) []due.Book {
	out := make([]due.Book, dueBooks)
	for shard := range out {
		out[shard] = Due(db, now, shard)
	}
	return out
}

// TaskOf returns the due task of a message.
func TaskOf(m Message, at time.Time) due.Task {
	text, _ := json.Marshal(m) // of strings and numbers: it cannot fail
	return due.Task{Tenant: m.Tenant, Kind: "send", ID: string(text), At: at}
}

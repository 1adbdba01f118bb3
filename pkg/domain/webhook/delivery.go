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

// Delivery is the state of the delivery of one event to one endpoint, as the API shows
// it.
type Delivery struct {
	EventID   string    `json:"eventId" doc:"Identifier of the event, the header webhook-id."`
	Type      string    `json:"type" doc:"Type of the event."`
	Status    string    `json:"status" enum:"pending,succeeded,failed" doc:"A pending delivery is tried again. A failed one is not."`
	Test      bool      `json:"test" doc:"Whether it is a test. A test is in no feed."`
	Attempts  []Attempt `json:"attempts" doc:"The last ten attempts, oldest first."`
	NextAt    *string   `json:"nextAt" format:"date-time" doc:"When the next attempt is due; null if there is none."`
	UpdatedAt string    `json:"updatedAt" format:"date-time" doc:"When it was last tried."`
}

// Attempt is one attempt of a delivery. It never contains the receiver's response.
type Attempt struct {
	At     string `json:"at" format:"date-time" doc:"When it began."`
	Result string `json:"result" enum:"succeeded,http_3xx,http_4xx,http_5xx,gone,timeout,dns_error,address_not_public,connection_refused,connection_error,tls_error,challenge_failed,disabled" doc:"What came of it."`
	Millis int64  `json:"millis" doc:"How long it took."`
}

// Sent is a delivery as it is stored.
type Sent struct {
	Delivery
	Made   int   `json:"made"`   // number of all attempts so far
	Tries  int   `json:"tries"`  // number of attempts since the delivery, or a request to send again, began
	Shard  int   `json:"shard"`  // the shard of the feed that has the event
	Number int64 `json:"number"` // the event's number in the shard

	key      table.Key     // key of the stored item; zero if the delivery is not stored yet
	preserve table.Unknown // what the stored item has that this build does not know
}

// Statuses of a delivery.
const (
	Waiting   = "pending"
	Succeeded = "succeeded"
	Failed    = "failed"
)

// MaxAttempts is how many attempts a delivery shows: the last ones.
const MaxAttempts = 10

// deliveries returns the partition with an endpoint's deliveries of the events in one
// shard of the feed. So an endpoint has as many partitions as the feed has shards. The
// partition of shard 0 also has the requests to the sender, and the deliveries of every
// shard that older builds wrote.
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

// deliveryPrefix is the prefix of the sort keys of deliveries.
const deliveryPrefix = "DELIVERY#"

// DeliveryKey returns the key of the delivery of an event to an endpoint. shard is the
// event's shard in the feed. A test event is in no feed, and has shard 0.
func DeliveryKey(t table.Tenant, endpoint string, shard int, eventID string) table.Key {
	return table.Key{PK: deliveries(t, endpoint, shard), SK: deliveryPrefix + eventID}
}

// FindDelivery reads the delivery of an event whose shard is not known. shards is the
// tenant's readShards. If there is no delivery, the Item is not Found.
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

// Item returns the stored form of a delivery. A delivery is kept as long as its event. A
// delivery that an older build wrote stays at its key.
func (s Sent) Item(t table.Tenant, endpoint string, now time.Time) table.Item {
	key := cmp.Or(s.key, DeliveryKey(t, endpoint, s.Shard, s.EventID))
	return table.Item{Key: key, Type: "delivery", Doc: s, Expires: now.Add(event.Kept),
		Attrs: map[string]any{"status": s.Status}, Preserve: s.preserve}
}

// SentFromItem decodes a delivery from its stored item.
func SentFromItem(it table.Item) (Sent, error) {
	s, err := table.DecodeDoc[Sent](it)
	s.key, s.preserve = it.Key, it.Unknown()
	return s, err
}

// Deliveries returns a page of the deliveries to an endpoint, newest event first, and the
// position to continue after, "" at the end. status selects deliveries with that status,
// "" all.
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

// Request asks the sender, pkg/background/deliver, to send a test, one event again, or a
// range of the feed. A Request is stored, and the table's stream passes it to the sender.
type Request struct {
	Test   *event.Event `json:"test,omitempty"`
	Event  string       `json:"event,omitempty"`  // the event to send again, "" for a range
	After  []int64      `json:"after,omitempty"`  // start of a range: positions of the feed, exclusive, by shard
	Before []int64      `json:"before,omitempty"` // end of a range: positions of the feed, inclusive, by shard
	Waited bool         `json:"waited,omitempty"` // whether a range skips events that were tried already
	Person string       `json:"person,omitempty"` // the person of an agent's subscription, "" for an endpoint of the tenant
}

// RequestKey returns the key of a Request to the sender, pkg/background/deliver.
func RequestKey(t table.Tenant, endpoint, id string) table.Key {
	return t.Key("WEBHOOK", endpoint, "REQUEST#"+id)
}

var _ = table.Kind[any]{Type: "redelivery", Personal: "nothing", Once: "written once, kept for a day"}

// Item returns the stored form of a Request to the sender, pkg/background/deliver.
func (r Request) Item(t table.Tenant, endpoint, id string, now time.Time) table.Item {
	return table.Item{Key: RequestKey(t, endpoint, id), Type: "redelivery", Doc: r, Expires: now.Add(24 * time.Hour)}
}

// Message is a message in the queue of the sender, pkg/background/deliver.
type Message struct {
	Tenant   string `json:"tenant"`
	Person   string `json:"person,omitempty"` // the person of an agent's subscription, "" for an endpoint of the tenant
	Endpoint string `json:"endpoint"`
	// A message has one of these: the number of a challenge, the id of a request, or an
	// event with its place in the feed.
	Challenge int     `json:"challenge,omitempty"`
	Request   string  `json:"request,omitempty"`
	After     []int64 `json:"after,omitempty"` // where a request for a range goes on if it is partly done: positions, exclusive
	Event     string  `json:"event,omitempty"`
	Shard     int     `json:"shard,omitempty"`
	Number    int64   `json:"number,omitempty"`
	Attempt   int     `json:"attempt,omitempty"` // number from 1; so a repeated message does not repeat an attempt
	Round     bool    `json:"round,omitempty"`   // the attempt is the first of a repeated delivery; Sent.Tries begins anew
	Advance   int     `json:"advance,omitempty"` // in a sandbox: make the attempts that are due within this many seconds
}

// Group returns the group of the message in a fair queue. Messages for the agents of
// riders and drivers have a group of their own, so they do not delay the tenant's
// endpoints.
func (m Message) Group() string {
	if m.Person != "" {
		return m.Tenant + "-persons"
	}
	return m.Tenant
}

// dueBooks is the number of lists of due tasks (due.Book) of pkg/background/deliver.
const dueBooks = 5

// Due is the list of what the sender, pkg/background/deliver, must do at a later time for
// events in a shard of the feed. Only large tenants have events in shards other than 0.
// Those events have lists of their own, so that the failing attempts of a large tenant do
// not delay other tenants.
func Due(db *table.DB, now func() time.Time, shard int) due.Book {
	if shard == 0 {
		return due.Book{DB: db, Name: "webhooks", Now: now}
	}
	return due.Book{DB: db, Name: "webhooks-" + strconv.Itoa(1+shard%(dueBooks-1)), Now: now}
}

// AllDue returns all lists of what pkg/background/deliver must do at a later time.
func AllDue(db *table.DB, now func() time.Time) []due.Book {
	out := make([]due.Book, dueBooks)
	for shard := range out {
		out[shard] = Due(db, now, shard)
	}
	return out
}

// TaskOf returns the task to process the message m at the time at.
func TaskOf(m Message, at time.Time) due.Task {
	text, _ := json.Marshal(m) // cannot fail for strings, numbers and booleans
	return due.Task{Tenant: m.Tenant, Kind: "send", ID: string(text), At: at}
}

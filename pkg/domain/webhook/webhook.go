package webhook

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/outbound"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
)

// Endpoint is a webhook endpoint as the API shows it.
type Endpoint struct {
	ID           string   `json:"id" example:"whk_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the webhook endpoint."`
	URL          string   `json:"url" format:"uri" example:"https://hooks.metro.example/events" doc:"The address to which events are sent."`
	Description  string   `json:"description" doc:"What the endpoint is for."`
	Types        []string `json:"types" doc:"The types of events that are sent; empty for all."`
	Status       string   `json:"status" enum:"pending,enabled,disabled" doc:"Events are sent to an enabled endpoint. A pending one has not echoed its challenge."`
	Reason       *string  `json:"reason" doc:"Why the endpoint is pending or disabled; null while it is enabled."`
	CreatedAt    string   `json:"createdAt" format:"date-time" doc:"When the endpoint was created."`
	VerifiedAt   *string  `json:"verifiedAt" format:"date-time" doc:"When the endpoint last echoed a challenge."`
	FailingSince *string  `json:"failingSince" format:"date-time" doc:"Since when every delivery has failed; null if the last one succeeded."`
}

// The statuses of an endpoint.
const (
	Pending  = "pending"
	Enabled  = "enabled"
	Disabled = "disabled"
)

// Reasons of an endpoint that is disabled. A pending endpoint has the word of its
// failed challenge, or Unverified.
const (
	Unverified = "unverified"
	ByOperator = "operator"
	Gone       = "gone"    // the receiver answered 410
	Failing    = "failing" // no delivery succeeded for FailingFor
)

// Record is an endpoint with what the API does not show.
type Record struct {
	Endpoint
	CreatedBy     string `json:"createdBy"`
	Secret        []byte `json:"secret"`             // sealed
	Previous      []byte `json:"previous,omitempty"` // sealed; signs until PreviousUntil
	PreviousUntil string `json:"previousUntil,omitempty"`
	Challenges    int    `json:"challenges"` // challenges that were asked for
	Challenged    int    `json:"challenged"` // challenges that were begun
	DisabledAt    string `json:"disabledAt,omitempty"`
	RecoveredAt   string `json:"recoveredAt,omitempty"` // when FailingSince last ended
	Start

	Subscription *Subscription `json:"subscription,omitempty"` // nil unless it is an agent's

	from table.Key // of the Book in which it was found
}

// Start is from where on events are passed on.
type Start struct {
	After    []int64 `json:"after"`              // positions of the feed when it was last enabled
	Enabling int64   `json:"enabling,omitempty"` // version of the Book that last enabled it
}

// Book is all endpoints of a tenant, oldest first; or the subscriptions of a rider's or
// driver's agents (BookKey).
type Book struct {
	Endpoints []Record  `json:"endpoints"`
	Personal  *Personal `json:"personal,omitempty"` // of a tenant: nil if no person ever had a subscription
	Copies    int       `json:"copies,omitempty"`   // 0 or Copies
	Version   int64     `json:"-"`                  // of the item

	key      table.Key     // zero is Key
	expires  time.Time     // of a person's book as it was read
	preserve table.Unknown // of the stored item
}

// Personal says that riders or drivers may have subscriptions.
type Personal struct {
	Start

	Until string `json:"until"` // no subscription of a person lasts longer

	// Persons are who subscribed last in a sandbox, the last one at the end. Elsewhere
	// they are not listed: there may be any number of them.
	Persons []string `json:"persons,omitempty"`
}

// MaxEndpoints is the maximum number of endpoints of a tenant.
const MaxEndpoints = 16

// FailingFor is how long every delivery to an endpoint may fail before it is
// disabled.
const FailingFor = 5 * 24 * time.Hour

// MaxPersonal is the maximum number of subscriptions of a rider or driver. They are
// not among the tenant's endpoints.
const MaxPersonal = 4

// Key returns the key of the tenant's endpoints.
func Key(t table.Tenant) table.Key { return t.Key("WEBHOOKS", "WEBHOOKS") }

// BookKey returns the key of the subscriptions of a rider or driver; of the tenant's
// endpoints if person is "".
func BookKey(t table.Tenant, person string) table.Key {
	if person == "" {
		return Key(t)
	}
	return t.Key("WEBHOOK", person, "WEBHOOKS")
}

// PersonOf returns the rider or driver to whom a book with the key belongs, "" for the
// tenant's.
func PersonOf(t table.Tenant, key table.Key) string {
	person, _ := strings.CutPrefix(key.PK, t.Partition("WEBHOOK", ""))
	if person == key.PK {
		return ""
	}
	return person
}

// FromItem decodes a book. An absent item has no endpoints.
func FromItem(it table.Item) (b Book, err error) {
	if it.Found() {
		b, err = table.DecodeDoc[Book](it)
	}
	b.Version, b.key, b.expires, b.preserve = it.Version, it.Key, it.Expires, it.Unknown()
	return b, err
}

var _ = table.Kind{Type: "webhooks", Personal: "e-mail address, applications, sign-ups not finished",
	Erasure: "deletes"}

// Item returns the stored form. A person's book expires with its last subscription.
func (b Book) Item(t table.Tenant) table.Item {
	it := table.Item{Key: cmp.Or(b.key, Key(t)), Type: "webhooks", Version: 1, Doc: b}
	if it.Key != Key(t) {
		it.Expires = b.expires
		for _, r := range b.Endpoints {
			if until, err := timestamp.Parse(r.Subscription.RefreshBefore); err == nil && until.After(it.Expires) {
				it.Expires = until
			}
		}
	}
	return it
}

// Live reports whether riders or drivers may have subscriptions.
func (p *Personal) Live(now time.Time) bool {
	if p == nil {
		return false
	}
	until, err := timestamp.Parse(p.Until)
	return err == nil && now.Before(until)
}

// Find returns the endpoint with the id, nil if there is none.
func (b *Book) Find(id string) *Record {
	for i := range b.Endpoints {
		if b.Endpoints[i].ID == id {
			b.Endpoints[i].from = b.key
			return &b.Endpoints[i]
		}
	}
	return nil
}

// From returns the key of the book, or of its copy, in which the record was found.
func (r Record) From() table.Key { return r.from }

// Wants reports whether events like this one are sent to the endpoint.
func (r Record) Wants(e event.Event) bool {
	return r.Status == Enabled && (len(r.Types) == 0 || slices.Contains(r.Types, e.Type)) && r.Subscription.wants(e)
}

// Since returns the position of a shard after which events must be passed to the
// endpoint. Up to sent.Number they were passed to the endpoints that sent.Book enabled.
func (s Start) Since(shard int, sent event.Sent) int64 {
	if s.Enabling > sent.Book {
		return s.At(shard)
	}
	return max(s.At(shard), sent.Number)
}

// At returns the position of a shard.
func (s Start) At(shard int) int64 {
	if shard < len(s.After) {
		return s.After[shard]
	}
	return 0
}

// Verified enables an endpoint of the book, because it has echoed its challenge. The
// endpoint gets the events after the positions.
func (b Book) Verified(r *Record, after []int64, now time.Time) {
	r.Status, r.Reason, r.VerifiedAt = Enabled, nil, timestamp.Ptr(now)
	r.After, r.Enabling = after, b.Version+1
}

// challenge makes the endpoint pending until it echoes a new challenge.
func (r *Record) challenge() {
	reason := Unverified
	r.Status, r.Reason, r.DisabledAt, r.FailingSince = Pending, &reason, "", nil
	r.Challenges++
}

// Enable asks for a new challenge, unless the endpoint has echoed one.
func (r *Record) Enable() {
	if r.Status != Enabled {
		r.challenge()
	}
}

// Disable ends all deliveries to the endpoint.
func (r *Record) Disable(reason string, now time.Time) {
	r.Status, r.Reason, r.DisabledAt = Disabled, &reason, timestamp.Format(now)
}

// check validates what an operator set. local is true in svc dev, where plain http
// to 127.0.0.1 is an address too.
func (r *Record) check(local bool) error {
	var wrong fault.Faults
	message := CheckURL(r.URL, local)
	wrong.Unless(message == "", "url", "%s", message)
	wrong.Unless(r.Description == "" || plaintext.IsLine(r.Description, 200), "description", "expected %s",
		plaintext.Rule(200))
	slices.Sort(r.Types)
	r.Types = slices.Compact(r.Types)
	for _, kind := range r.Types {
		wrong.Unless(event.Known(kind), "types", "%q is not a type of event", kind)
	}
	return wrong.Err()
}

// CheckURL returns what is wrong with an endpoint's address, "" if nothing is. A
// host name is resolved and checked at each delivery, not here: else the response
// would tell which internal names exist.
func CheckURL(text string, local bool) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || len(text) > 500:
		return "expected an https URL of at most 500 characters"
	case u.User != nil || u.Fragment != "":
		return "expected a URL without user name, password or fragment"
	case local && u.Scheme == "http" && u.Hostname() == "127.0.0.1":
		return ""
	case u.Scheme != "https" || u.Port() != "" && u.Port() != "443":
		return "expected an https URL on port 443"
	case internal(strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))):
		return "expected a public host"
	}
	return ""
}

// internal reports whether a host can only be an internal one. That includes any
// way to write an address that is not the usual one, such as 0x7f.1 or 2130706433.
func internal(host string) bool {
	if at, err := netip.ParseAddr(host); err == nil {
		return !outbound.IsPublic(at)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	numeric := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	return numeric || !strings.Contains(host, ".") || slices.Contains([]string{"localhost", "local", "internal", "home",
		"arpa", "lan", "test", "invalid", "onion"}, last)
}

package webhook

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

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

	Held         *Held         `json:"held,omitempty"`         // nil unless its address changed and is not confirmed
	Subscription *Subscription `json:"subscription,omitempty"` // nil unless it is an agent's

	from table.Key // of the Book in which it was found
}

// Start is from where on events are passed on.
type Start struct {
	After    []int64 `json:"after"`              // positions of the feed when it was last enabled
	Enabling int64   `json:"enabling,omitempty"` // version of the Book that last enabled it
}

// Held says which events wait for the address of an endpoint that was enabled, until the
// new address echoes its challenge.
type Held struct {
	Since string  `json:"since"` // when the address changed
	After []int64 `json:"after"` // positions of the feed up to which events were passed on
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

// Kind stores books. An absent item has no endpoints. A person's book expires with its last
// subscription.
var Kind = table.Kind[Book]{Type: "webhooks", Personal: "e-mail address, applications, sign-ups not finished",
	Erasure: "deletes",
	Row: func(t table.Tenant, _ string, b Book) table.Item {
		it := table.Item{Key: cmp.Or(b.key, Key(t)), Version: 1}
		if it.Key != Key(t) {
			it.Expires = b.expires
			for _, r := range b.Endpoints {
				if until, err := timestamp.Parse(r.Subscription.RefreshBefore); err == nil && until.After(it.Expires) {
					it.Expires = until
				}
			}
		}
		return it
	},
	Read: func(it table.Item) (Book, error) {
		b, err := table.DecodeOr(it, Book{})
		b.Version, b.key, b.expires, b.preserve = it.Version, it.Key, it.Expires, it.Unknown()
		return b, err
	}}

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
// endpoint gets the events after the positions. It returns the request to send what came
// into the feed earlier and waited, but nothing up to the positions of gone; nil if there
// is none.
func (b Book) Verified(r *Record, after, gone []int64, now time.Time) *Request {
	held := r.Held
	r.Status, r.Reason, r.VerifiedAt, r.Held = Enabled, nil, timestamp.Ptr(now), nil
	r.After, r.Enabling = after, b.Version+1
	if held == nil {
		return r.missed()
	}
	for shard, position := range gone {
		if shard < len(held.After) {
			held.After[shard] = max(held.After[shard], position)
		}
	}
	if slices.Equal(held.After, after) {
		return nil
	}
	return &Request{After: held.After, Before: after, Waited: true}
}

// challenge makes the endpoint pending until it echoes a new challenge.
func (r *Record) challenge() {
	reason := Unverified
	r.Status, r.Reason, r.DisabledAt, r.FailingSince = Pending, &reason, "", nil
	r.Challenges++
}

// move gives the endpoint another address, which must echo a challenge. What an enabled
// endpoint has not got yet waits for that.
func (r *Record) move(ctx context.Context, t table.Tenant, shards int, url string, now time.Time) error {
	if r.Status == Enabled {
		passed, err := event.Passed(ctx, t, shards)
		if err != nil {
			return err
		}
		r.Held = &Held{Since: timestamp.Format(now)}
		for shard, sent := range passed {
			r.Held.After = append(r.Held.After, r.Since(shard, sent))
		}
	}
	r.URL = url
	r.challenge()
	return nil
}

// Waits returns for how long deliveries have waited for the endpoint's new address. It
// returns false if they do not wait: it has been confirmed, or they would have failed
// within most by now.
func (r *Record) Waits(now time.Time, most time.Duration) (time.Duration, bool) {
	if r.Status != Pending || r.Held == nil {
		return 0, false
	}
	since, err := timestamp.Parse(r.Held.Since)
	waited := now.Sub(since)
	return waited, err == nil && waited < most
}

// Enable asks for a new challenge, unless the endpoint has echoed one.
func (r *Record) Enable() {
	if r.Status != Enabled {
		r.challenge()
	}
}

// Disable ends all deliveries to the endpoint.
func (r *Record) Disable(reason string, now time.Time) {
	r.Status, r.Reason, r.DisabledAt, r.Held = Disabled, &reason, timestamp.Format(now), nil
}

// check validates what an operator set. was is the endpoint before: what stays as it is
// may break a rule that is newer. local is true in svc dev, where plain http to the machine
// itself is an address too.
func (r *Record) check(was Endpoint, local bool) error {
	var wrong fault.Faults
	message := CheckURL(r.URL, local)
	wrong.Unless(message == "" || r.URL == was.URL && was.ID != "", "url", "%s", message)
	wrong.Unless(r.Description == "" || plaintext.IsLine(r.Description, 200), "description", "expected %s",
		plaintext.Rule(200))
	wrong.Unless(plaintext.Strip(r.Description) == r.Description || r.Description == was.Description, "description",
		"must not contain invisible characters, or ones that change the direction of the text")
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
	case strings.ContainsFunc(text, unicode.IsSpace) || plaintext.HasInvisible(text):
		return "expected a URL without blanks and invisible characters"
	case u.User != nil || u.Fragment != "":
		return "expected a URL without user name, password or fragment"
	case local && u.Scheme == "http" && outbound.IsLoopback(u.Hostname()):
		return outbound.CheckPort(u)
	case u.Scheme != "https" || u.Port() != "" && u.Port() != "443":
		return "expected an https URL on port 443"
	}
	return outbound.CheckHost(u)
}

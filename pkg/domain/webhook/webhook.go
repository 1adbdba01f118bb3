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

// The values of Endpoint.Reason: Unverified for a pending endpoint, the others for a
// disabled one. If the challenge of a pending endpoint fails, the reason is the
// Attempt.Result of the challenge.
const (
	Unverified = "unverified"
	ByOperator = "operator"
	Gone       = "gone"    // the receiver answered 410
	Failing    = "failing" // no delivery succeeded for FailingFor
)

// Record is an endpoint as it is stored in a Book, with what the API does not show.
type Record struct {
	Endpoint
	CreatedBy     string `json:"createdBy"`
	Secret        []byte `json:"secret"`             // the signing secret, encrypted
	Previous      []byte `json:"previous,omitempty"` // the secret before, encrypted; signs too until PreviousUntil
	PreviousUntil string `json:"previousUntil,omitempty"`
	Challenges    int    `json:"challenges"` // number of challenges so far, also those not sent yet
	Challenged    int    `json:"challenged"` // number of challenges that pkg/background/deliver has begun to send
	DisabledAt    string `json:"disabledAt,omitempty"`
	RecoveredAt   string `json:"recoveredAt,omitempty"` // when FailingSince last ended
	Start

	Held         *Held         `json:"held,omitempty"`         // nil unless a new address has not echoed a challenge yet
	Subscription *Subscription `json:"subscription,omitempty"` // nil unless it is an agent's subscription

	from table.Key // key of the Book in which Find found the record
}

// Start says after which events of the feed an endpoint gets events.
type Start struct {
	After    []int64 `json:"after"`              // positions of the feed when the endpoint was last enabled
	Enabling int64   `json:"enabling,omitempty"` // version of the Book that last enabled the endpoint
}

// Held says which events an endpoint has not got yet because its address changed. They
// are sent when the new address has echoed its challenge.
type Held struct {
	Since string  `json:"since"` // when the address changed
	After []int64 `json:"after"` // positions of the feed up to which events were passed to the endpoint
}

// Book is the item with all endpoints of a tenant, oldest first. Each rider or driver whose
// agents have subscriptions has a Book of his own, with these subscriptions (BookKey).
type Book struct {
	Endpoints []Record  `json:"endpoints"`
	Personal  *Personal `json:"personal,omitempty"` // in a tenant's Book; nil if no person ever had a subscription
	Copies    int       `json:"copies,omitempty"`   // number of stored copies: 0 or the constant Copies
	Version   int64     `json:"-"`                  // version of the item

	key      table.Key     // the item's key; zero means Key
	expires  time.Time     // when a person's Book expires, as it was read
	preserve table.Unknown // what the item has that this build does not know
}

// Personal says, in a tenant's Book, that riders or drivers may have subscriptions, in
// Books of their own.
type Personal struct {
	Start

	Until string `json:"until"` // no subscription of a rider or driver lasts longer

	// Persons are, in a sandbox, the ids of those who subscribed last, the newest at the
	// end. It is empty in other tenants, which may have any number of them.
	Persons []string `json:"persons,omitempty"`
}

// MaxEndpoints is the maximum number of endpoints of a tenant.
const MaxEndpoints = 16

// FailingFor is how long every delivery to an endpoint may fail before it is
// disabled.
const FailingFor = 5 * 24 * time.Hour

// MaxPersonal is the maximum number of subscriptions of a rider or driver. These
// subscriptions do not count as endpoints of the tenant.
const MaxPersonal = 4

// Key returns the key of the tenant's Book, the item with all its webhook endpoints.
func Key(t table.Tenant) table.Key { return t.Key("WEBHOOKS", "WEBHOOKS") }

// BookKey returns the key of the Book, the item with the subscriptions, of a rider or
// driver, or of the tenant's Book if person is "".
func BookKey(t table.Tenant, person string) table.Key {
	if person == "" {
		return Key(t)
	}
	return t.Key("WEBHOOK", person, "WEBHOOKS")
}

// PersonOf returns the rider or driver to whom the Book at the key belongs, "" for the
// tenant's Book.
func PersonOf(t table.Tenant, key table.Key) string {
	person, _ := strings.CutPrefix(key.PK, t.Partition("WEBHOOK", ""))
	if person == key.PK {
		return ""
	}
	return person
}

// Kind stores Books: all webhook endpoints of a tenant, or all subscriptions of a person. A
// tenant or person without a stored Book has an empty one. A person's Book expires with its
// last subscription.
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

// Live reports whether a subscription of a rider or driver may still last now: none lasts
// longer than p.Until.
func (p *Personal) Live(now time.Time) bool {
	if p == nil {
		return false
	}
	until, err := timestamp.Parse(p.Until)
	return err == nil && now.Before(until)
}

// Find returns the Book's endpoint with the id, nil if there is none.
func (b *Book) Find(id string) *Record {
	for i := range b.Endpoints {
		if b.Endpoints[i].ID == id {
			b.Endpoints[i].from = b.key
			return &b.Endpoints[i]
		}
	}
	return nil
}

// From returns the key of the Book, or of its copy, in which Find found the record.
func (r Record) From() table.Key { return r.from }

// Wants reports whether the endpoint is enabled and gets events like e.
func (r Record) Wants(e event.Event) bool {
	return r.Status == Enabled && (len(r.Types) == 0 || slices.Contains(r.Types, e.Type)) && r.Subscription.wants(e)
}

// Since returns the position in a shard of the feed after which events must still be
// passed to the endpoint. sent says that events up to sent.Number were passed to the
// endpoints that the Book's version sent.Book had enabled.
func (s Start) Since(shard int, sent event.Sent) int64 {
	if s.Enabling > sent.Book {
		return s.At(shard)
	}
	return max(s.At(shard), sent.Number)
}

// At returns the position in a shard of the feed when the endpoint was last enabled, 0 for a
// shard that was added later.
func (s Start) At(shard int) int64 {
	if shard < len(s.After) {
		return s.After[shard]
	}
	return 0
}

// Verified enables an endpoint of the Book, because it has echoed its challenge. From
// then on it gets the events after the positions after. Verified returns the request to
// send the earlier events that waited, except those up to the positions gone. It returns
// nil if there are none.
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

// challenge makes the endpoint pending until it echoes a new challenge. It gets no events
// meanwhile.
func (r *Record) challenge() {
	reason := Unverified
	r.Status, r.Reason, r.DisabledAt, r.FailingSince = Pending, &reason, "", nil
	r.Challenges++
}

// move changes the address in r and sets r to Pending: it gets no events until the address
// has echoed a challenge. move sends none, and writes nothing. If the endpoint was enabled, its
// events wait meanwhile: r.Held has the last event of each of the shards that it got.
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

// Waits returns for how long deliveries have waited for the endpoint's new address to echo a
// challenge. It returns false if nothing waits, or if the wait has reached most.
func (r *Record) Waits(now time.Time, most time.Duration) (time.Duration, bool) {
	if r.Status != Pending || r.Held == nil {
		return 0, false
	}
	since, err := timestamp.Parse(r.Held.Since)
	waited := now.Sub(since)
	return waited, err == nil && waited < most
}

// Enable makes the endpoint pending, unless it is enabled already. When the endpoint has
// echoed a new challenge, it is enabled.
func (r *Record) Enable() {
	if r.Status != Enabled {
		r.challenge()
	}
}

// Disable ends all deliveries to the endpoint, also those that wait for a new address.
func (r *Record) Disable(reason string, now time.Time) {
	r.Status, r.Reason, r.DisabledAt, r.Held = Disabled, &reason, timestamp.Format(now), nil
}

// check validates the endpoint's address, description and types. was is the endpoint
// before the change: unchanged values may break rules that did not exist when they were
// set. local is true in svc dev, where http addresses on the machine itself are allowed.
// Errors: a 400 with every fault.
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

// CheckURL returns what is wrong with an endpoint's address, "" if nothing is. local is
// as in New. A host name is resolved and checked at each delivery, not here, because the
// response would tell which internal names exist.
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

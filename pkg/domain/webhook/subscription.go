package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/edge/api"
)

// Subscription marks an endpoint as the subscription of an agent, a program that uses the
// MCP server for a person. The subscription ends when the agent loses its access. The
// Standing says which access that is.
type Subscription struct {
	authz.Standing

	Name          string  `json:"name"` // the type of the events, or everyEvent
	Resource      string  `json:"resource,omitempty"`
	From          []int64 `json:"from"` // positions of the feed from which the agent wants events
	RefreshBefore string  `json:"refreshBefore"`
	SecretHash    string  `json:"secretHash"`
}

// For how long a subscription lasts unless it is renewed: by default, and at most.
const (
	subscriptionLife    = 24 * time.Hour
	maxSubscriptionLife = 7 * 24 * time.Hour
)

// expired reports whether the subscription has ended without a renewal. An endpoint
// without a subscription never expires.
func (s *Subscription) expired(now time.Time) bool {
	if s == nil {
		return false
	}
	until, err := timestamp.Parse(s.RefreshBefore)
	return err != nil || !now.Before(until)
}

// begunBy reports whether the access by began the subscription, which has not expired. Only
// that access may renew it.
func (s *Subscription) begunBy(by authz.Standing, now time.Time) bool {
	return s != nil && !s.expired(now) && s.Family == by.Family && s.Epoch == by.Epoch && s.Since == by.Since
}

// Stands returns nil if the agent still has the access with which it subscribed. items
// are the items of Standing.Keys.
func (s *Subscription) Stands(items []table.Item, now time.Time) error {
	if s.expired(now) {
		return fault.NotFound()
	}
	return s.Outlasts(needs(s.Audience), items, now)
}

// missed returns the request to send the events between the start of a subscription and
// the time at which its address was verified. It returns nil if there are no such events.
func (r *Record) missed() *Request {
	if r.Subscription == nil || slices.Equal(r.Subscription.From, r.After) {
		return nil
	}
	return &Request{After: r.Subscription.From, Before: r.After, Person: r.Subscription.Person()}
}

// Body returns the message that sends an event to the agent (MCP Events). raw is the
// event as it is stored.
func (s *Subscription) Body(e event.Event, raw string) ([]byte, error) {
	return json.Marshal(map[string]any{"eventId": e.ID, "name": s.Name, "timestamp": e.Timestamp,
		"data": json.RawMessage(raw)})
}

// subscribers is the access that an operator's subscription needs: to have events sent to
// an address, and to read them.
var subscribers = []authz.Policy{authz.Operators("tenant.webhooks:write", "MANAGE_WEBHOOKS"),
	authz.Operators("tenant.events:read", "VIEW_EVENTS")}

// AgentRows returns the operations on subscriptions. Only the MCP server calls them.
func AgentRows() []api.Row {
	book := api.Needs(func(t table.Tenant, _ api.Peek) []table.Key { return []table.Key{Key(t)} })
	mine := api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		return []table.Key{BookKey(t, p.Actor().Subject)}
	})
	const path, personal = "/mcp/subscriptions", "/mcp/own-subscriptions"
	return []api.Row{
		api.Post(path+"/renew", "svc_renew_subscription", subscribers[0], renew, book, api.Internal()),
		api.Post(path, "svc_subscribe_events", subscribers[0], subscribe, book, api.Internal(),
			api.Summary("Subscribe to the company's events"), api.Confirm("The company's events go to this address.")),
		api.Post(path+"/end", "svc_unsubscribe_events", subscribers[0], unsubscribe, book, api.Internal()),
		api.Post(personal+"/renew", "svc_renew_own_subscription", ownEvents, renew, mine, api.Internal()),
		api.Post(personal, "svc_subscribe_own_events", ownEvents, subscribe, mine, api.Internal(),
			api.Summary("Subscribe to your events"), api.Confirm("Your events go to this address.")),
		api.Post(personal+"/end", "svc_unsubscribe_own_events", ownEvents, unsubscribe, mine, api.Internal()),
	}
}

// Identity distinguishes the subscriptions of one agent. A second subscription with the
// same Identity replaces the first.
type Identity struct {
	Name     string `json:"name" maxLength:"100"`
	Resource string `json:"resource,omitempty" maxLength:"100"`
	URL      string `json:"url" maxLength:"500"`
}

// id returns the identifier of the caller's subscription. It is derived from the tenant,
// the agent, the person and the Identity.
func (s Identity) id(c *api.Caller) string {
	parts, _ := json.Marshal([]string{c.Tenant.ID(), c.Actor.ClientID, c.Actor.Subject, s.URL, s.Name, s.Resource})
	return ids.Derived(ids.Webhook, time.UnixMilli(0), string(parts))
}

// SubscriptionInput names an agent's subscription.
type SubscriptionInput struct {
	Body Identity
}

// SubscribeInput asks for a subscription.
type SubscribeInput struct {
	Body struct {
		Identity
		Secret string  `json:"secret" maxLength:"200"`
		Cursor *string `json:"cursor,omitempty" maxLength:"2000"`
		MaxAge *int64  `json:"maxAgeMs,omitempty" minimum:"0"`
		TTL    *int64  `json:"ttlMs,omitempty" minimum:"1"`
	}
}

// Subscribed is a subscription as its agent sees it.
type Subscribed struct {
	ID            string  `json:"id"`
	RefreshBefore string  `json:"refreshBefore"`
	Cursor        string  `json:"cursor"`
	Truncated     bool    `json:"truncated"`
	Status        string  `json:"status"`
	Reason        *string `json:"reason" nullable:"true"`
	FailingSince  *string `json:"failingSince" nullable:"true"`
}

// begin returns the feed that the subscription reads, and the access of the caller.
// Errors: the caller lacks a part of the access that a subscription needs. The first
// policy was checked before the handler.
func (in *SubscribeInput) begin(ctx context.Context, c *api.Caller) (f *event.Input, by authz.Standing, err error) {
	for _, p := range needs(c.Actor.Audience)[1:] {
		if err = c.May(ctx, p); err != nil {
			return nil, by, err
		}
	}
	f, err = in.feed()
	if err == nil {
		by, err = c.Standing(ctx)
	}
	return f, by, err
}

// feed returns which events of the feed the subscription reads, and after which event it
// begins. Errors: a 404 for an unknown type of event.
func (in *SubscribeInput) feed() (*event.Input, error) {
	out := &event.Input{After: "latest", Resource: in.Body.Resource}
	if in.Body.Cursor != nil {
		out.After = *in.Body.Cursor
	}
	if in.Body.Name != everyEvent {
		out.Type = in.Body.Name
	}
	if out.Type != "" && !event.Known(out.Type) {
		return nil, fault.NotFound()
	}
	return out, nil
}

// everyEvent is the Name of a subscription to events of all types.
const everyEvent = "all"

// start returns the positions of the feed at which the subscription begins. truncated
// reports whether events after the cursor are missing. A position beyond the newest event
// belongs to a feed that was restored to an earlier time; its events count as missing. A
// person's subscription begins now, because earlier events of one person could be found
// only by reading those of the whole tenant. For earlier events the agent polls the API.
func (in *SubscribeInput) start(ctx context.Context, c *api.Caller, f *event.Input) (from []int64, truncated bool,
	err error) {
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, false, err
	}
	person := personOf(c)
	if from, err = f.Start(ctx, c, person, shards); err != nil || f.After == "latest" {
		return from, false, err
	}
	newest, err := event.Newest(ctx, c.Tenant)
	if err != nil {
		return nil, false, err
	}
	var floor []int64
	switch age := in.Body.MaxAge; {
	case person != "":
		floor = newest
	case age != nil && *age < event.Kept.Milliseconds():
		floor, err = event.At(ctx, c.Tenant, shards, c.Now.Add(-time.Duration(*age)*time.Millisecond))
	default:
		floor, err = event.Earliest(ctx, c.Tenant, shards, c.Now)
	}
	for shard, first := range floor {
		if shard == len(from) {
			from = append(from, 0)
		}
		if from[shard] < first || shard < len(newest) && from[shard] > newest[shard] {
			from[shard], truncated = first, true
		}
	}
	return from, truncated && (person != "" || f.After != "earliest"), err
}

// set writes into the record r what a subscription and each renewal of it set: the access,
// the end and the secret. Errors: a 400 for a secret that is not valid.
func (in *SubscribeInput) set(ctx context.Context, c *api.Caller, r *Record, by authz.Standing) error {
	life := subscriptionLife
	if ttl := in.Body.TTL; ttl != nil {
		asked := time.Duration(min(*ttl, maxSubscriptionLife.Milliseconds())) * time.Millisecond
		life = max(asked, time.Minute)
	}
	r.Subscription.Standing, r.Subscription.RefreshBefore = by, timestamp.Format(c.Now.Add(life))
	hash := ids.Hash(in.Body.Secret)
	if r.Subscription.SecretHash == hash {
		return nil
	}
	secret, err := ParseSecret(in.Body.Secret)
	if err != nil || !strings.HasPrefix(in.Body.Secret, "whsec_") {
		return fault.Field("secret", "expected whsec_ and the base64 form of 24 to 64 bytes")
	}
	sealed, err := c.Seal(ctx, sealName(c.Tenant, r.ID), secret)
	if err != nil {
		return err
	}
	if len(r.Secret) > 0 {
		r.Replace(sealed, c.Now.Add(subscriptionLife))
	}
	r.Secret, r.Subscription.SecretHash = sealed, hash
	return nil
}

// answer returns the subscription of the record r as the agent sees it. f is the feed that
// the subscription reads, and truncated means that events after its cursor are missing.
func (in *SubscribeInput) answer(ctx context.Context, c *api.Caller, f *event.Input, r Record,
	truncated bool) (*Subscribed, error) {
	s := r.Subscription
	cursor, err := f.CursorOf(ctx, c, s.Person(), s.From)
	return &Subscribed{ID: r.ID, RefreshBefore: s.RefreshBefore, Cursor: cursor, Truncated: truncated, Status: r.Status,
		Reason: r.Reason, FailingSince: r.FailingSince}, err
}

// subscribe adds a subscription, or replaces the one with the same Identity.
func subscribe(ctx context.Context, c *api.Caller, in *SubscribeInput) (*Subscribed, error) {
	f, by, err := in.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	from, truncated, err := in.start(ctx, c, f)
	if err != nil {
		return nil, err
	}
	var types []string
	if f.Type != "" {
		types = []string{f.Type}
	}
	one, err := New(in.Body.URL, "Subscription of an agent", types, c.Actor.Subject, c.Now, c.Local())
	if err != nil {
		return nil, api.InBody(err)
	}
	one.ID = in.Body.id(c)
	one.Subscription = &Subscription{Name: in.Body.Name, Resource: in.Body.Resource, From: from}
	if err := in.set(ctx, c, &one, by); err != nil {
		return nil, api.InBody(err)
	}
	out, err := in.answer(ctx, c, f, one, truncated)
	if err != nil {
		return nil, err
	}
	_, err = api.Edit(ctx, c, own(c, Adding(c.Tenant, c.By(), one), one.ID), func(Book) Subscribed { return *out })
	return out, err
}

// renew extends a subscription that the same access began. If its address gets no events,
// because it failed or is disabled, it is challenged again. Errors: 404 if there is no
// such subscription.
func renew(ctx context.Context, c *api.Caller, in *SubscribeInput) (*Subscribed, error) {
	f, by, err := in.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	id, out := in.Body.id(c), &Subscribed{}
	change := audit.Change[Book]{Tenant: c.Tenant, By: c.By(), What: "webhook.renew", Subject: id,
		Key: Key(c.Tenant), Kind: &Kind, Also: also(c.Tenant), Shown: shownOf(id),
		Edit: func(b *Book) error {
			r := b.Find(id)
			if r == nil || !r.Subscription.begunBy(by, c.Now) {
				return fault.NotFound()
			}
			truncated := false
			if r.Status == Disabled || r.Status == Pending && *r.Reason != Unverified {
				if r.Subscription.From, truncated, err = in.start(ctx, c, f); err != nil {
					return err
				}
				r.challenge()
			}
			if err := in.set(ctx, c, r, by); err != nil {
				return err
			}
			out, err = in.answer(ctx, c, f, *r, truncated)
			return err
		}}
	_, err = api.Edit(ctx, c, own(c, change, id), func(Book) Subscribed { return *out })
	return out, err
}

// Unsubscribed is the response to the end of a subscription.
type Unsubscribed struct{}

// unsubscribe removes a subscription. It succeeds even if there is none.
func unsubscribe(ctx context.Context, c *api.Caller, in *SubscriptionInput) (*Unsubscribed, error) {
	id, out := in.Body.id(c), Endpoint{}
	change := own(c, Editing(c.Tenant, c.By(), "delete", id, &out, removed), id)
	_, err := api.Edit(ctx, c, change, func(Book) Unsubscribed { return Unsubscribed{} })
	if errors.Is(err, fault.NotFound()) {
		err = nil
	}
	return &Unsubscribed{}, err
}

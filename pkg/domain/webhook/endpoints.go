package webhook

import (
	"context"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of webhooks.
func Rows() []api.Row {
	read, write := authz.Operators("tenant.webhooks:read", "VIEW_WEBHOOKS"),
		authz.Operators("tenant.webhooks:write", "MANAGE_WEBHOOKS")
	tag, extension, book := api.Tag("Webhooks"), api.Extension(), api.Needs(func(t table.Tenant, _ api.Peek) []table.Key {
		return []table.Key{Key(t)}
	})
	const one = "/api/v1/webhooks/{id}"
	silent := api.NoEvent("only the audit log records changes of endpoints")
	return []api.Row{
		api.Get("/api/v1/webhooks", "svc_list_webhooks", read, list, book, tag, extension,
			api.Summary("List webhook endpoints"), api.Text("All of them, oldest first; a company has at most 16.")),
		api.Post("/api/v1/webhooks", "svc_create_webhook", write, create, book, tag, extension, api.Created(),
			api.Confirm("The company's events go to this address."), api.Sends(messages()...),
			api.Summary("Add a webhook endpoint"), api.Text("The response shows `secret`, once. The address gets a POST with "+
				"`{\"type\": \"verification\", \"challenge\": …}` and must echo `{\"challenge\": …}` with a 2xx. Then events are "+
				"sent to it, signed as Standard Webhooks 1.0 says."), silent),
		api.Get(one, "svc_get_webhook", read, get, book, tag, extension, api.Summary("Read a webhook endpoint"),
			api.Text("Its secret is not shown.")),
		api.Patch(one, "svc_update_webhook", write, patch, book, tag, extension,
			api.Confirm("The company's events go to other addresses, or no longer."),
			api.Summary("Change a webhook endpoint"), api.Text("Only the given members change. A new `url` and `enabled: true` "+
				"send a new challenge. Until a new `url` echoes it, events wait, at most as long as a delivery is tried."),
			silent),
		api.Delete(one, "svc_delete_webhook", write, remove, book, tag, extension,
			api.Confirm("No more events are sent to this address."),
			api.Summary("Remove a webhook endpoint"), api.Text("The response is the endpoint as it was. Nothing is sent to it "+
				"any more, also nothing that was due."), silent),
		api.Post(one+"/rotate", "svc_rotate_webhook_secret", write, rotate, book, tag, extension,
			api.Confirm("The receiver must get the new secret."),
			api.Summary("Replace the secret of a webhook endpoint"), api.Text("The response shows the new `secret`, once. "+
				"Until its end the old one signs too: each delivery has both signatures."), silent),
		api.Post(one+"/test", "svc_test_webhook", write, test, book, tag, extension,
			api.Confirm("The receiver gets an event that did not happen."),
			api.Summary("Send a test event"), api.Text("Sends an invented event of the type, once. The delivery shows what "+
				"came of it."),
			api.NoEvent("a test event is in no feed")),
		api.Get(one+"/deliveries", "svc_list_webhook_deliveries", read, listDeliveries, book, tag, extension,
			api.Summary("List deliveries"), api.Text("Newest event first, for 30 days. The receiver's response is never "+
				"shown.")),
		api.Post(one+"/replay", "svc_replay_webhook", write, replay, book, tag, extension,
			api.Confirm("The receiver gets these events again."),
			api.Summary("Send events again"), api.Text("One event that was sent to this endpoint before, or all events of a "+
				"part of the feed that the endpoint's `types` name. Other endpoints get nothing."),
			api.NoEvent("the events that it sends again are in the feed already")),
	}
}

// IDInput names a webhook endpoint.
type IDInput struct {
	ID string `path:"id" doc:"Identifier of the webhook endpoint." example:"whk_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// open reads the tenant's endpoints and finds one of them. Errors: 404.
func open(ctx context.Context, c *api.Caller, id string) (Record, error) {
	b, err := Kind.Get(ctx, c.Item, Key(c.Tenant))
	if err != nil {
		return Record{}, err
	}
	r := b.Find(id)
	if r == nil {
		return Record{}, fault.NotFound()
	}
	return *r, nil
}

func list(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[Endpoint], error) {
	b, err := Kind.Get(ctx, c.Item, Key(c.Tenant))
	out := &api.Items[Endpoint]{Items: make([]Endpoint, 0, len(b.Endpoints))}
	for _, r := range b.Endpoints {
		out.Items = append(out.Items, r.Endpoint)
	}
	return out, err
}

func get(ctx context.Context, c *api.Caller, in *IDInput) (*Endpoint, error) {
	r, err := open(ctx, c, in.ID)
	return &r.Endpoint, err
}

// edit changes one endpoint of the tenant.
func edit(ctx context.Context, c *api.Caller, what, id string, change func(*Book, *Record) error) (*Endpoint, error) {
	var out Endpoint
	_, err := api.Edit(ctx, c, Editing(c.Tenant, c.By(), what, id, &out, change), func(Book) Endpoint { return out })
	return &out, err
}

// CreateInput is the body of a creation.
type CreateInput struct {
	Body struct {
		URL         string   `json:"url" maxLength:"500" example:"https://hooks.metro.example/events" doc:"An https URL on port 443 of a public host."`
		Types       []string `json:"types,omitempty" maxItems:"50" example:"[\"trip.completed\"]" doc:"The types of events to send; all if absent or empty."`
		Description string   `json:"description,omitempty" maxLength:"200" doc:"What the endpoint is for."`
	}
}

// WithSecret is an endpoint with its new secret.
type WithSecret struct {
	Endpoint
	Secret string `json:"secret,omitempty" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" doc:"The secret that signs: whsec_ and 32 bytes in base64. It is shown once, and again to the same client by a repeated request with the same Idempotency-Key. It is never shown to an agent."`
}

// newSecretOf returns a new secret of the endpoint, sealed, and as the response shows
// it: "" to an agent.
func newSecretOf(ctx context.Context, c *api.Caller, id string) (shown string, sealed []byte, err error) {
	secret, sealed, err := NewSecret(ctx, c.Seal, c.Tenant, id)
	if err != nil {
		return "", nil, err
	}
	shown = SecretText(secret)
	if may, err := c.Reveal(ctx, shown); err != nil || !may {
		return "", sealed, err
	}
	return shown, sealed, nil
}

func create(ctx context.Context, c *api.Caller, in *CreateInput) (*WithSecret, error) {
	one, err := New(in.Body.URL, in.Body.Description, in.Body.Types, c.Actor.Subject, c.Now, c.Local())
	if err != nil {
		return nil, api.InBody(err)
	}
	secret, sealed, err := newSecretOf(ctx, c, one.ID)
	if err != nil {
		return nil, err
	}
	one.Secret = sealed
	_, err = api.Edit(ctx, c, Adding(c.Tenant, c.By(), one),
		func(Book) WithSecret { return WithSecret{Endpoint: one.Endpoint} })
	if err != nil {
		return nil, err
	}
	return &WithSecret{one.Endpoint, secret}, nil
}

// PatchInput names an endpoint and has what changes.
type PatchInput struct {
	IDInput
	Body struct {
		URL         *string   `json:"url,omitempty" maxLength:"500" doc:"An https URL on port 443 of a public host."`
		Types       *[]string `json:"types,omitempty" maxItems:"50" doc:"The types of events to send; all if empty."`
		Description *string   `json:"description,omitempty" maxLength:"200" doc:"What the endpoint is for."`
		Enabled     *bool     `json:"enabled,omitempty" doc:"false stops the deliveries; true sends a new challenge."`
	}
}

func patch(ctx context.Context, c *api.Caller, in *PatchInput) (*Endpoint, error) {
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	return edit(ctx, c, "update", in.ID, func(_ *Book, r *Record) error {
		b, was := in.Body, r.Endpoint
		if b.Description != nil {
			r.Description = *b.Description
		}
		if b.Types != nil {
			r.Types = append([]string{}, *b.Types...)
		}
		if b.URL != nil && *b.URL != r.URL {
			if err := r.move(ctx, c.Tenant, shards, *b.URL, c.Now); err != nil {
				return err
			}
		} else if b.Enabled != nil && *b.Enabled {
			r.Enable()
		}
		if b.Enabled != nil && !*b.Enabled && r.Status != Disabled {
			r.Disable(ByOperator, c.Now)
		}
		return r.check(was, c.Local())
	})
}

func remove(ctx context.Context, c *api.Caller, in *IDInput) (*Endpoint, error) {
	return edit(ctx, c, "delete", in.ID, removed)
}

// RotateInput names an endpoint and says how long the old secret lives.
type RotateInput struct {
	IDInput
	Body *struct {
		OverlapHours *int `json:"overlapHours,omitempty" minimum:"0" maximum:"168" default:"24" doc:"For how many hours the old secret signs too."`
	}
}

func rotate(ctx context.Context, c *api.Caller, in *RotateInput) (*WithSecret, error) {
	if _, err := open(ctx, c, in.ID); err != nil {
		return nil, err
	}
	hours := 24
	if in.Body != nil && in.Body.OverlapHours != nil {
		hours = *in.Body.OverlapHours
	}
	secret, sealed, err := newSecretOf(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := edit(ctx, c, "rotate", in.ID, func(_ *Book, r *Record) error {
		r.Replace(sealed, c.Now.Add(time.Duration(hours)*time.Hour))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &WithSecret{*out, secret}, nil
}

// Asked is the response to a request to the sender.
type Asked struct {
	Status string `json:"status" enum:"accepted" doc:"The sender begins within seconds. The deliveries show what comes of it."`
	Event  string `json:"eventId,omitempty" doc:"Of a test or of one event: the event, under which the delivery is listed."`
}

// askSender stores a request to the sender.
func askSender(ctx context.Context, c *api.Caller, r Record, what string, q Request, eventID string) (*Asked, error) {
	return api.Make(ctx, c, &Asked{"accepted", eventID}, func(tx *table.Tx) error {
		return r.Ask(tx, c.Tenant, c.By(), what, q)
	})
}

// TestInput names an endpoint and the type of the test.
type TestInput struct {
	IDInput
	Body *struct {
		Type string `json:"type,omitempty" default:"trip.completed" example:"trip.completed" doc:"The type of the event."`
	}
}

func test(ctx context.Context, c *api.Caller, in *TestInput) (*Asked, error) {
	r, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	kind := "trip.completed"
	if in.Body != nil && in.Body.Type != "" {
		kind = in.Body.Type
	}
	if !event.Known(kind) {
		return nil, fault.Field("body.type", "expected a type of event, such as trip.completed")
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	e := event.Sample(kind, !tenant.IsSandbox(state.Flags), c.Now)
	return askSender(ctx, c, r, "test", Request{Test: &e}, e.ID)
}

// DeliveriesInput is the query of the list of deliveries.
type DeliveriesInput struct {
	IDInput
	api.Paging
	Status string `query:"status" enum:"pending,succeeded,failed" doc:"Deliveries in this status."`
}

func listDeliveries(ctx context.Context, c *api.Caller, in *DeliveriesInput) (*api.Page[Delivery], error) {
	if _, err := open(ctx, c, in.ID); err != nil {
		return nil, err
	}
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	q := table.Query{Prefix: deliveryPrefix, Backward: true}
	if in.Status != "" {
		q.Where = []table.Condition{{Name: "status", Value: in.Status}}
	}
	return api.ListPage(ctx, c, in.Paging, api.List[Delivery]{Name: "deliveries", Filters: []string{in.ID, in.Status},
		Partitions: allDeliveries(c.Tenant, in.ID, shards), Query: q, Map: func(it table.Item) (Delivery, error) {
			s, err := SentFromItem(it)
			return s.Delivery, err
		}})
}

// ReplayInput names an endpoint and what to send again.
type ReplayInput struct {
	IDInput
	Body struct {
		Event  string `json:"event,omitempty" maxLength:"100" example:"evt_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"One event that was sent to this endpoint before."`
		After  string `json:"after,omitempty" maxLength:"100" example:"2026-01-31T08:00:00Z" doc:"A range: the events that came into the feed at this time or later."`
		Before string `json:"before,omitempty" maxLength:"100" doc:"The end of the range: events that came into the feed before this time; now if absent."`
	}
}

// replay sends one event or a range again. The times of a range are those at which
// the events came into the feed.
func replay(ctx context.Context, c *api.Caller, in *ReplayInput) (*Asked, error) {
	r, err := open(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	b := in.Body
	if (b.Event == "") == (b.After == "") || b.Event != "" && b.Before != "" {
		return nil, fault.Field("body", "expected event, or after with or without before")
	}
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	if b.Event != "" {
		it, err := FindDelivery(ctx, c.Tenant, r.ID, shards, b.Event)
		if err != nil {
			return nil, err
		}
		if !ids.Valid(ids.Event, b.Event) || !it.Live(c.Now) {
			return nil, fault.NotFound()
		}
		return askSender(ctx, c, r, "replay", Request{Event: b.Event}, b.Event)
	}
	var wrong fault.Faults
	parse := func(field, text string, otherwise time.Time) time.Time {
		if text == "" {
			return otherwise
		}
		at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		wrong.Unless(err == nil, "body."+field, "expected a time, such as 2026-01-31T08:00:00Z")
		return at
	}
	after, before := parse("after", b.After, c.Now), parse("before", b.Before, c.Now.Add(time.Minute))
	wrong.Unless(after.Before(before), "body.before", "must be after after")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	q := Request{}
	if q.After, err = event.At(ctx, c.Tenant, shards, after); err == nil {
		q.Before, err = event.At(ctx, c.Tenant, shards, before)
	}
	if err != nil {
		return nil, err
	}
	return askSender(ctx, c, r, "replay", q, "")
}

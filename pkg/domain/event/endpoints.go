package event

import (
	"context"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
)

// tag is the group of these endpoints in the OpenAPI document.
const tag = "Events"

// text is the description of a feed in the OpenAPI document.
const text = "Everything that happened, oldest first, exactly once, for 30 days. Begin with `after=earliest` or " +
	"`after=latest`. Keep `cursor` of each response, and send it as `after` of the next request. While `has_more` is " +
	"true, read on at once; else wait a few seconds. The events of one resource come in the order of its changes. A " +
	"cursor whose next event is older than 30 days gets a 410 `cursor_expired`."

// Rows returns the endpoints of the feed.
func Rows() []api.Row {
	return append([]api.Row{
		api.Get("/api/v1/events", "svc_list_events", authz.Operators("tenant.events:read", "VIEW_EVENTS"), list,
			api.Extension(), api.Expires(), api.Tag(tag), api.Summary("Read the company's events"), api.Text(text)),
		api.Get("/api/v1/me/events", "svc_my_events", authz.Both("rider.events:read", "driver.events:read"), mine,
			api.Extension(), api.Expires(), api.Tag(tag), api.Summary("Read one's own events"),
			api.Text("The events of a rider or driver: "+
				"those of their trips, orders, wallet and account. "+text)),
	}, StreamRows()...)
}

// Input is the query of a feed.
type Input struct {
	After    string `query:"after" default:"earliest" minLength:"1" maxLength:"2000" doc:"Where to begin: cursor of the previous response, earliest or latest."`
	Limit    int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of events."`
	Type     string `query:"type" minLength:"1" maxLength:"2000" example:"trip.completed" doc:"Only events of this type, or of one of these types, separated by commas."`
	Resource string `query:"resource" minLength:"1" maxLength:"100" doc:"Only events of the resource with this identifier."`
}

// Feed is the response with one page of a feed.
type Feed struct {
	Items   []Event `json:"items" doc:"The events, oldest first."`
	Cursor  string  `json:"cursor" doc:"Send it as after of the next request. It is never null."`
	HasMore bool    `json:"has_more" doc:"Whether more events are there now."`
}

// list returns a page of all events of the company.
func list(ctx context.Context, c *api.Caller, in *Input) (*Feed, error) { return in.read(ctx, c, "") }

// mine returns a page of the events that concern the calling rider or driver.
func mine(ctx context.Context, c *api.Caller, in *Input) (*Feed, error) {
	return in.read(ctx, c, c.Actor.Subject)
}

// read reads a page of the events that concern the rider or driver with the id actor, or of
// all events for "". A cursor is bound to the tenant, the actor and the filters.
func (in *Input) read(ctx context.Context, c *api.Caller, actor string) (*Feed, error) {
	out, _, err := in.page(ctx, c, actor, false)
	return out, err
}

// page does what read does. If each is true, it also returns cursors: the one before the
// page, and then the one after each event.
func (in *Input) page(ctx context.Context, c *api.Caller, actor string, each bool) (*Feed, []string, error) {
	types, ok := ParseTypes(in.Type)
	if !ok {
		return nil, nil, fault.Field("query.type", "expected types of events, such as trip.completed, separated by commas")
	}
	in.Type = strings.Join(types, ",") // a cursor is bound to the types, and not to their order
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, nil, err
	}
	q := Query{Shards: shards, Limit: in.Limit, Types: types, Resource: in.Resource, Actor: actor, Each: each}
	if q.After, err = in.Start(ctx, c, actor, shards); err != nil {
		return nil, nil, err
	}
	page := Page{Events: []Event{}, After: q.After}
	if in.After != "latest" {
		if page, err = Read(ctx, c.Tenant, q, c.Now); err != nil {
			return nil, nil, err
		}
	}
	out := &Feed{Items: page.Events, HasMore: page.More}
	if out.Cursor, err = in.CursorOf(ctx, c, actor, page.After); err != nil || !each {
		return out, nil, err
	}
	ids := make([]string, 1+len(page.Each))
	for i, after := range append([][]int64{q.After}, page.Each...) {
		if ids[i], err = in.CursorOf(ctx, c, actor, after); err != nil {
			return nil, nil, err
		}
	}
	return out, ids, nil
}

// bound returns what a cursor of the feed is bound to. A request of another tenant, of
// another actor or with other filters cannot use the cursor.
func (in *Input) bound(c *api.Caller, actor string) []string {
	return []string{c.Tenant.ID(), actor, in.Type, in.Resource}
}

// CursorOf returns the cursor of the positions after in the feed of actor (read): for each
// shard, the number of the last event before the next page.
func (in *Input) CursorOf(ctx context.Context, c *api.Caller, actor string, after []int64) (string, error) {
	return c.Cursor(ctx, encode(after), feed, in.bound(c, actor)...)
}

// Start returns the positions that the query's After names: at most one for each shard
// that the tenant reads. Errors: a 400 for a text that is no cursor of this feed.
func (in *Input) Start(ctx context.Context, c *api.Caller, actor string, shards int) ([]int64, error) {
	switch in.After {
	case "earliest":
		return Earliest(ctx, c.Tenant, shards, c.Now)
	case "latest":
		return Latest(ctx, c.Tenant, shards)
	}
	position, err := c.Position(ctx, "query.after", in.After, feed, in.bound(c, actor)...)
	if err != nil {
		return nil, err
	}
	after := decode(position)
	if len(after) > shards { // shards may be an older number, which this process remembered
		state, err := c.Live(ctx)
		if err != nil {
			return nil, err
		}
		shards = state.ReadShards
	}
	if len(after) == 0 || len(after) > shards {
		return nil, api.NotACursor("query.after")
	}
	return after, nil
}

// feed names the event feed in its cursors, which no other list accepts.
const feed = "events"

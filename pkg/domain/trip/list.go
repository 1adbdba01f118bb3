package trip

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// ListInput is the query of the operator's list. A trip must match all filters.
type ListInput struct {
	api.Paging
	Status     string `query:"status" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"Trips in this status."`
	DriverID   string `query:"driverId" minLength:"1" maxLength:"100" doc:"Trips assigned to this driver."`
	CustomerID string `query:"customerId" minLength:"1" maxLength:"100" doc:"Trips requested by this rider."`
	From       string `query:"from" format:"iso8601" doc:"Trips requested at this time or later: ISO 8601, in UTC if it has no offset. A date alone is a day in the company's time zone." example:"2026-01-31T08:00:00Z"`
	To         string `query:"to" format:"iso8601" doc:"Trips requested before this time. A date alone includes that day." example:"2026-02-01T08:00:00Z"`
	ExternalID string `query:"externalId" minLength:"1" maxLength:"2000" doc:"The trip with this identifier in another system."`
}

// list returns the tenant's trips, newest first. It reads the narrowest index
// for the filters (customer, driver, status, all) and applies the other filters
// to the result.
func list(ctx context.Context, c *api.Caller, in *ListInput) (*api.Page[Trip], error) {
	query, err := in.window(ctx, c)
	if err != nil {
		return nil, err
	}
	shards := 1
	if in.CustomerID == "" && in.DriverID == "" {
		if shards, err = c.ReadShards(ctx); err != nil {
			return nil, err
		}
	}
	partitions := in.choose(c.Tenant, shards, &query)
	return external.Page(ctx, c, in.Paging, api.List[Trip]{
		Name: "trips", Filters: []string{in.Status, in.DriverID, in.CustomerID, in.From, in.To},
		Partitions: partitions, Query: query, Map: FromItem,
	}, IDs, in.ExternalID)
}

// choose returns the partitions to read, and sets the index and the remaining
// filters in the query.
func (in *ListInput) choose(t table.Tenant, shards int, q *table.Query) []string {
	where := func(name, value string) {
		if value != "" {
			q.Where = append(q.Where, table.Condition{Name: name, Value: value})
		}
	}
	switch {
	case in.CustomerID != "":
		q.Index = byCustomer
		where("driverId", in.DriverID)
		where("status", in.Status)
		return []string{customerPartition(t, in.CustomerID)}
	case in.DriverID != "":
		q.Index = byDriver
		where("status", in.Status)
		return []string{driverPartition(t, in.DriverID)}
	case in.Status != "":
		q.Index = ByStatus
		return api.Sharded(t, shards, "STATUS", in.Status)
	}
	q.Index = byTenant
	return api.Sharded(t, shards, "TRIPS")
}

// Undispatched reads at most limit trips that are pending and are not dispatched,
// oldest first.
//
// Access pattern: by-g2 T#t#STATUS#PENDING#shard, shards merged.
func Undispatched(ctx context.Context, t table.Tenant, shards, limit int) ([]table.Item, error) {
	page, err := t.Merge(ctx, api.Sharded(t, shards, "STATUS", string(Pending)), table.Query{Index: ByStatus, Limit: limit,
		Where: []table.Condition{{Name: "dispatched", Absent: true}}})
	return page.Items, err
}

// InStatus reads at most limit trips in the statuses, newest first.
//
// Access pattern: by-g2 T#t#STATUS#status#shard, statuses and shards merged.
func InStatus(ctx context.Context, t table.Tenant, shards, limit int, statuses ...Status) ([]table.Item, error) {
	var partitions []string
	for _, s := range statuses {
		partitions = append(partitions, api.Sharded(t, shards, "STATUS", string(s))...)
	}
	page, err := t.Merge(ctx, partitions, table.Query{Index: ByStatus, Backward: true, Limit: limit})
	return page.Items, err
}

// Filter is what Recent reads: trips that match every value that is set. Trips
// requested at From or later, and before To, match.
type Filter struct {
	Status               Status
	DriverID, CustomerID string
	From, To             time.Time
}

// Recent reads one page of the tenant's trips, newest first, outside a request.
// It chooses the index as the operator's list does.
func Recent(ctx context.Context, t table.Tenant, f Filter, after string, limit int) ([]Trip, string, error) {
	q := table.Query{Backward: true, After: after, Limit: limit, Fill: true}
	if !f.From.IsZero() {
		q.From = position(f.From)
	}
	if !f.To.IsZero() {
		q.To = position(f.To)
	}
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return nil, "", err
	}
	in := ListInput{Status: string(f.Status), DriverID: f.DriverID, CustomerID: f.CustomerID}
	page, err := t.Merge(ctx, in.choose(t, shards, &q), q)
	if err != nil {
		return nil, "", err
	}
	out, err := table.DecodeAll(page.Items, FromItem)
	if !page.More {
		return out, "", err
	}
	return out, page.Last, err
}

// window converts from (inclusive) and to (exclusive) to bounds on range keys. It
// compares the times exactly. If no whole millisecond lies between them, the list
// is empty.
func (in *ListInput) window(ctx context.Context, c *api.Caller) (table.Query, error) {
	q := table.Query{Backward: true}
	from, to, err := Window(ctx, c, in.From, in.To)
	if err != nil {
		return q, err
	}
	if from != nil {
		q.From = position(*from)
	}
	if to != nil {
		q.To = position(*to)
	}
	if from != nil && to != nil && !from.Before(*to) {
		return q, fault.Field("query.to", "must be after from")
	}
	return q, nil
}

// Window returns the bounds from (inclusive) and to (exclusive) of a query, nil
// for a bound that the query does not have. A date alone is a day in the tenant's
// time zone: as from its beginning, as to its end. Errors: a 400 with every fault.
func Window(ctx context.Context, c *api.Caller, from, to string) (start, end *time.Time, err error) {
	var wrong fault.Faults
	parse := func(field, text string) timestamp.Input {
		in, err := timestamp.ParseInput(text)
		wrong.Unless(err == nil || text == "", field, "%v", err)
		return in
	}
	first, last := parse("query.from", from), parse("query.to", to)
	if err := wrong.Err(); err != nil {
		return nil, nil, err
	}
	zone := time.UTC
	if first.IsDate() || last.IsDate() {
		it, err := c.Item(ctx, tenant.Key(c.Tenant))
		if err != nil {
			return nil, nil, err
		}
		if zone, err = tenant.Zone(it); err != nil {
			return nil, nil, err
		}
	}
	if from != "" {
		at := first.From(zone)
		start = &at
	}
	if to != "" {
		at := last.To(zone)
		end = &at
	}
	return start, end, nil
}

// NeedsZone adds the tenant's record, which has its time zone, to the batch of the
// checks of a query whose window has a date alone.
func NeedsZone() api.Option {
	return api.Needs(func(t table.Tenant, p api.Peek) []table.Key {
		for _, name := range []string{"from", "to"} {
			if in, err := timestamp.ParseInput(p.Query(name)); err == nil && in.IsDate() {
				return []table.Key{tenant.Key(t)}
			}
		}
		return nil
	})
}

// position returns a bound on range keys: the trips requested at t or later
// have range keys above it.
func position(t time.Time) string {
	at := timestamp.Ceil(t)
	if at.Year() > 9999 {
		return ":" // sorts after every four-digit year
	}
	return timestamp.Format(at)
}

// MineInput is the query of the actor's own list.
type MineInput struct {
	api.From
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of trips."`
}

// mine returns a rider's requested trips or a driver's assigned trips, newest
// first. It queries the actor's own index partition backward.
func mine(ctx context.Context, c *api.Caller, in *MineInput) (*api.Cut[Trip], error) {
	if c.Audience == authz.Dashboard {
		return nil, fault.Field("header.Authorization", "an operator's token has no trips of its own; use /api/v1/trips")
	}
	partition, index := Own(c.Tenant, c.Audience, c.Actor.Subject)
	return api.ListCut(ctx, c, api.Paging{Limit: in.Limit, Cursor: in.Cursor}, api.List[Trip]{Name: "my trips",
		Partitions: []string{partition}, Query: table.Query{Index: index, Backward: true},
		Map: ownFromItem})
}

// Older reads one page of the trips requested before a time, oldest first.
//
// Access pattern: by-g1 T#t#TRIPS#shard, shards merged.
func Older(ctx context.Context, t table.Tenant, before time.Time, after string, limit int) (table.Page, error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return table.Page{}, err
	}
	return t.Merge(ctx, api.Sharded(t, shards, "TRIPS"), table.Query{Index: byTenant, After: after, To: position(before),
		Limit: limit})
}

package trip

import (
	"context"
	"time"

	"svc/pkg/api"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// ListInput is the query of the operator's list; all filters given must hold.
type ListInput struct {
	api.Paging
	Status     string `query:"status" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"Trips in this status."`
	DriverID   string `query:"driverId" minLength:"1" maxLength:"100" doc:"Trips assigned to this driver."`
	CustomerID string `query:"customerId" minLength:"1" maxLength:"100" doc:"Trips requested by this rider."`
	From       string `query:"from" format:"date-time" doc:"Trips requested at this time or later."`
	To         string `query:"to" format:"date-time" doc:"Trips requested before this time."`
}

// list gives the tenant's trips, newest first. It reads the narrowest index
// that a filter names, customer, driver, status, all, and filters by the rest.
func list(ctx context.Context, c *api.Caller, in *ListInput) (*api.Page[Trip], error) {
	query, err := in.window()
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
	return api.ListPage(ctx, c, in.Paging, api.List[Trip]{
		Name: "trips", Filters: []string{in.Status, in.DriverID, in.CustomerID, in.From, in.To},
		Partitions: partitions, Query: query, Map: FromItem,
	})
}

// choose names the index and partitions to read, and adds to the query what
// they leave to filter.
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
		q.Index = byStatus
		return api.Sharded(t, shards, "STATUS", in.Status)
	}
	q.Index = byTenant
	return api.Sharded(t, shards, "TRIPS")
}

// window turns from (inclusive) and to (exclusive) into bounds on positions.
func (in *ListInput) window() (table.Query, error) {
	q := table.Query{Backward: true}
	var faults []fault.Detail
	bound := func(field, value string) string {
		if value == "" {
			return ""
		}
		at, err := timestamp.ParseInput(value)
		if err != nil {
			faults = append(faults, fault.Detail{Field: "query." + field, Message: err.Error()})
			return ""
		}
		return position(at)
	}
	q.From, q.To = bound("from", in.From), bound("to", in.To)
	if len(faults) > 0 {
		return table.Query{}, fault.Invalid(faults...)
	}
	return q, nil
}

// position is the lowest position of trips requested at t or later.
func position(t time.Time) string {
	at := timestamp.Ceil(t)
	if at.Year() > 9999 {
		return ":" // after every year of four digits
	}
	return timestamp.Format(at)
}

// MineInput is the query of one's own list.
type MineInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Trips given back at most."`
}

// mine gives a rider the trips requested and a driver the trips assigned,
// newest first: one backward query of the actor's own index partition.
func mine(ctx context.Context, c *api.Caller, in *MineInput) (*api.Items[Trip], error) {
	q := table.Query{Index: byCustomer, Backward: true, Limit: in.Limit, Whole: true}
	partition := customerPartition(c.Tenant, c.Actor.Subject)
	switch c.Audience {
	case authz.Rider:
	case authz.Driver:
		q.Index, partition = byDriver, driverPartition(c.Tenant, c.Actor.Subject)
	default:
		return nil, fault.Field("header.Authorization", "an operator's token has no trips of its own; use /api/v1/trips")
	}
	page, err := c.Tenant.Query(ctx, partition, q)
	if err != nil {
		return nil, err
	}
	out := &api.Items[Trip]{Items: make([]Trip, len(page.Items))}
	for i, it := range page.Items {
		if out.Items[i], err = FromItem(it); err != nil {
			return nil, err
		}
	}
	return out, nil
}

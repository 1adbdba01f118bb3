package delivery

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of delivery.
func Rows() []api.Row {
	return append([]api.Row{
		api.Get("/api/v1/businesses", "svc_list_businesses",
			authz.Operators("tenant.businesses:read", "VIEW_BUSINESSES").Needing(authz.Delivery), businesses,
			api.Tag("Delivery"), api.Summary("List the active businesses"), api.Text("By name.")),
		api.Get("/api/v1/orders", "svc_list_orders",
			authz.Operators("tenant.delivery:read", "VIEW_FOOD_ORDERS").Needing(authz.Delivery), orders,
			api.Tag("Delivery"), api.Summary("List orders"), api.Text("Newest first. Filters combine: all must hold.")),
		api.Get("/api/v1/me/orders", "svc_my_orders", authz.Riders("rider.orders:read").Needing(authz.Delivery), mine,
			api.Tag("Me"), api.Summary("List my latest orders"), api.Text("Newest first.")),
	}, append(manageRows(), placeRows()...)...)
}

type businessInput struct {
	api.Paging
	ExternalID string `query:"externalId" minLength:"1" maxLength:"2000" doc:"Only the business with this identifier in another system."`
}

// businesses reads by-g1 T#t#BUSINESSES#shard.
func businesses(ctx context.Context, c *api.Caller, in *businessInput) (*api.Page[Business], error) {
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	return external.Page(ctx, c, in.Paging,
		api.List[Business]{Name: "businesses", Partitions: api.Sharded(c.Tenant, shards, "BUSINESSES"),
			Query: table.Query{Index: 1}, Kind: &BusinessKind}, BusinessIDs, in.ExternalID)
}

// myBusinesses is businesses for riders.
func myBusinesses(ctx context.Context, c *api.Caller, in *api.Paging) (*api.Page[Business], error) {
	page, err := businesses(ctx, c, &businessInput{Paging: *in})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		page.Items[i].Members = external.Members{}
	}
	return page, nil
}

type orderInput struct {
	api.Paging
	Status     string `query:"status" enum:"PENDING,ACCEPTED,PREPARING,READY,PICKED_UP,DELIVERED,CANCELLED" doc:"Only orders with this status."`
	BusinessID string `query:"businessId" minLength:"1" maxLength:"100" doc:"Only orders placed with this business."`
	CustomerID string `query:"customerId" minLength:"1" maxLength:"100" doc:"Only orders of this rider."`
	ExternalID string `query:"externalId" minLength:"1" maxLength:"2000" doc:"Only the order with this identifier in another system."`
}

// orders reads the narrowest index that the filters allow (customer, business,
// status, all) and applies the other filters to the result.
func orders(ctx context.Context, c *api.Caller, in *orderInput) (*api.Page[Order], error) {
	l := api.List[Order]{Name: "orders", Filters: []string{in.Status, in.BusinessID, in.CustomerID},
		Kind: &OrderKind, Query: table.Query{Backward: true}}
	if (in.BusinessID != "" && !ids.Valid(ids.Business, in.BusinessID)) ||
		(in.CustomerID != "" && !ids.Valid(ids.Customer, in.CustomerID)) {
		_, err := api.Position(in.Cursor, l.Name, l.Filters...)
		return &api.Page[Order]{Items: []Order{}}, err
	}
	by := map[string]string{"status": in.Status, "businessId": in.BusinessID, "customerId": in.CustomerID}
	switch {
	case in.CustomerID != "":
		l.Query.Index, l.Partitions = 4, []string{c.Tenant.Partition("CUSTOMER", in.CustomerID, "ORDERS")}
		delete(by, "customerId")
	case in.BusinessID != "":
		l.Query.Index, l.Partitions = 3, []string{c.Tenant.Partition("BUSINESS", in.BusinessID, "ORDERS")}
		delete(by, "businessId")
	default:
		shards, err := c.ReadShards(ctx)
		if err != nil {
			return nil, err
		}
		l.Query.Index, l.Partitions = 1, api.Sharded(c.Tenant, shards, "ORDERS")
		if in.Status != "" {
			l.Query.Index, l.Partitions = 2, api.Sharded(c.Tenant, shards, "ORDERS", in.Status)
		}
		delete(by, "status")
	}
	for _, name := range []string{"status", "businessId", "customerId"} {
		if by[name] != "" {
			l.Query.Where = append(l.Query.Where, table.Condition{Name: name, Value: by[name]})
		}
	}
	return external.Page(ctx, c, in.Paging, l, OrderIDs, in.ExternalID)
}

type mineInput struct {
	api.From
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"30" doc:"Maximum number of orders."`
}

// mine reads by-g4 T#t#CUSTOMER#c#ORDERS.
func mine(ctx context.Context, c *api.Caller, in *mineInput) (*api.Cut[Order], error) {
	return api.ListCut(ctx, c, api.Paging{Limit: in.Limit, Cursor: in.Cursor}, api.List[Order]{
		Name: "my orders", Map: func(it table.Item) (Order, error) {
			o, err := OrderKind.FromItem(it)
			return own(o), err
		},
		Partitions: []string{c.Tenant.Partition("CUSTOMER", c.Actor.Subject, "ORDERS")},
		Query:      table.Query{Index: 4, Backward: true}})
}

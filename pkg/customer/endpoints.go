package customer

import (
	"context"

	"svc/pkg/api"
	"svc/pkg/authz"
	"svc/pkg/table"
)

// Rows are the endpoints of customers.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/customers", "svc_list_customers", authz.Operators("tenant.customers:read", "VIEW_CUSTOMERS"), list,
			api.Tag("Customers"), api.Summary("List or search customers"),
			api.Text("All customers of the tenant, newest first; with `q` those whose name, first name, last name, phone or email holds it, in any case.")),
	}
}

type listInput struct {
	api.Paging
	Q string `query:"q" maxLength:"100" doc:"Substring of name, first name, last name, phone or email, whatever its case."`
}

// list reads by-g1 T#t#CUSTOMERS#shard, or searches.
func list(ctx context.Context, c *api.Caller, in *listInput) (*api.Page[Customer], error) {
	if in.Q != "" {
		return Search(ctx, c, in.Q, in.Paging)
	}
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	return api.ListPage(ctx, c, in.Paging, api.List[Customer]{Name: "customers", Partitions: api.Sharded(c.Tenant, shards, "CUSTOMERS"),
		Query: table.Query{Index: 1, Backward: true}, Map: Shown})
}

// Shown reads a customer, as the API shows one, of its item.
func Shown(it table.Item) (Customer, error) {
	r, err := Of(it)
	return r.Customer, err
}

package customer

import (
	"context"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of customers.
func Rows() []api.Row {
	return []api.Row{
		api.Get("/api/v1/customers", "svc_list_customers", authz.Operators("tenant.customers:read", "VIEW_CUSTOMERS"), list,
			api.Tag("Customers"), api.Summary("List or search customers"),
			api.Text("All customers of the tenant, newest first. With `q`, the customers whose name, first name, last name, "+
				"phone, email or externalId contain the words of `q`, in any order, case and accent. They are sorted by the text from "+
				"the match on, so `ann` finds Ann before Anna. If `q` has four digits or more and otherwise only separators, "+
				"it is a phone number in any form: national, with 00, 011 or + and the country's code.")),
	}
}

type listInput struct {
	api.Paging
	Q          string `query:"q" maxLength:"100" doc:"Parts of name, first name, last name, phone, email or externalId, in any order, case and accent. Blanks at its ends do not count."`
	ExternalID string `query:"externalId" minLength:"1" maxLength:"2000" doc:"Only the customer with this identifier in another system. Not with q."`
}

// list reads by-g1 T#t#CUSTOMERS#shard, or searches.
func list(ctx context.Context, c *api.Caller, in *listInput) (*api.Page[Customer], error) {
	if strings.TrimSpace(in.Q) != "" {
		if in.ExternalID != "" {
			return nil, fault.Field("query.externalId", "is not possible with q")
		}
		return Search(ctx, c, in.Q, in.Paging)
	}
	shards, err := c.ReadShards(ctx)
	if err != nil {
		return nil, err
	}
	return external.Page(ctx, c, in.Paging,
		api.List[Customer]{Name: "customers", Partitions: api.Sharded(c.Tenant, shards, "CUSTOMERS"),
			Query: table.Query{Index: 1, Backward: true}, Map: Shown}, Store.External(), in.ExternalID)
}

// Shown decodes a customer from its item, as the API shows one.
func Shown(it table.Item) (Customer, error) {
	r, err := FromItem(it)
	return r.Customer, err
}

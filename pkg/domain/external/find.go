package external

import (
	"context"

	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
)

// Input names a record by its identifier in another system. An older build may have stored
// a long one.
type Input struct {
	ExternalID string `path:"externalId" maxLength:"2000" doc:"Identifier in another system, percent-encoded." example:"crm-1042"`
}

// Text is the description of an operation that By handles.
func Text() api.Option {
	return api.Text("As by its own identifier. The segment of the path is percent-encoded: `a/b` is `a%2Fb`. An API " +
		"gateway may cut a path at an encoded `?`: look for such an identifier by `?externalId=` of the list.")
}

// By returns the handler that reads a record by its identifier in another system. get reads
// it by its own, of which named makes the input. A row of an older build may lead to a
// record that has another identifier by now.
func By[In any, Out interface{ external() string }](
	k Kind, get api.Handler[In, Out], named func(id string) *In,
) api.Handler[Input, Out] {
	return func(ctx context.Context, c *api.Caller, in *Input) (*Out, error) {
		row, err := c.Tenant.Get(ctx, k.Claim(c.Tenant, in.ExternalID))
		if err != nil {
			return nil, err
		}
		if !row.Found() {
			return nil, fault.NotFound()
		}
		out, err := get(ctx, c, named(row.Text("actor")))
		if err == nil && (*out).external() != in.ExternalID {
			err = fault.NotFound()
		}
		return out, err
	}
}

// Page is api.ListPage. If the query names an identifier in another system, the page has at
// most the record with that identifier.
func Page[T any](
	ctx context.Context, c *api.Caller, p api.Paging, l api.List[T], k Kind, external string,
) (*api.Page[T], error) {
	if external == "" {
		return api.ListPage(ctx, c, p, l)
	}
	if _, err := api.Position(p.Cursor, l.Name, append(l.Filters, external)...); err != nil {
		return nil, err
	}
	none := &api.Page[T]{Items: []T{}}
	row, err := c.Tenant.Get(ctx, k.Claim(c.Tenant, external))
	if err != nil || !row.Found() {
		return none, err
	}
	it, err := c.Tenant.Get(ctx, k.Key(c.Tenant, row.Text("actor")))
	if err != nil {
		return nil, err
	}
	if id, err := IDOf(it); err != nil || id != external {
		return none, err
	}
	return l.One(it)
}

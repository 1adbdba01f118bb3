package address

import (
	"context"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of saved addresses.
func Rows() []api.Row {
	silent := api.NoEvent("a rider's own list")
	return []api.Row{
		api.Get("/api/v1/me/addresses", "svc_list_addresses", authz.Riders("rider.profile:read"), list,
			api.Tag("Me"), api.Summary("List my saved addresses"), api.Text("Most recently saved first, at most 200.")),
		api.Post("/api/v1/me/addresses", "svc_save_address", authz.Riders("rider.addresses:write"), save, api.Created(),
			api.Needs(neededKeys), api.Tag("Me"), api.Summary("Save an address"),
			api.Text("If an address with the same coordinates, rounded to nine decimals, exists, no second one is made. "+
				"Instead `usageCount` grows by one, `lastUsedAt` is set, `address` is overwritten, and so are `label` and "+
				"`notes` if given. A rider has at most 200 addresses: a new one replaces the one that was not used for the "+
				"longest time."), silent),
		api.Delete("/api/v1/me/addresses/{id}", "svc_delete_address", authz.Riders("rider.addresses:write"), remove,
			api.Extension(), api.Early(readStored), api.Tag("Me"), api.Summary("Remove a saved address"),
			api.Confirm("The saved address is gone for good."), api.Text("The response is the address as it was."), silent),
	}
}

// list returns the saved addresses of the calling rider.
func list(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[Address], error) {
	all, err := List(ctx, c.Tenant, c.Actor.Subject, c.Now)
	if err != nil {
		return nil, err
	}
	return &api.Items[Address]{Items: all}, nil
}

// neededKeys returns the key of the address that a request would overwrite, or no key if
// the coordinates are not valid.
func neededKeys(t table.Tenant, p api.Peek) []table.Key {
	s := Save{Lat: p.Number("lat"), Lng: p.Number("lng")}
	if s.normalize() != nil {
		return nil
	}
	return []table.Key{Key(t, p.Actor().Subject, string(s.Lat), string(s.Lng))}
}

type saveInput struct {
	Body Save
}

// save saves an address for the calling rider (Put) and returns it.
func save(ctx context.Context, c *api.Caller, in *saveInput) (*Address, error) {
	a, err := Put(ctx, c.Tenant, c.Actor.Subject, in.Body, c.Now, Change{
		Read:   c.Reader(),
		Commit: func(ctx context.Context, tx *table.Tx, a Address) error { return c.Commit(ctx, tx, a) },
	})
	if err != nil {
		return nil, err
	}
	return &a, nil
}

type removeInput struct {
	ID string `path:"id" doc:"Identifier of the saved address." example:"adr_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// remove expires the saved address with the id and returns it. The first attempt uses
// the items that readStored has read.
func remove(ctx context.Context, c *api.Caller, in *removeInput) (*Address, error) {
	items, err := api.EarlyOf[[]table.Item](ctx, c)
	if err != nil {
		return nil, err
	}
	var gone Address
	err = table.Retry(ctx, func(ctx context.Context) error {
		if items == nil {
			if items, err = stored(ctx, c.Tenant, Partition(c.Tenant, c.Actor.Subject)); err != nil {
				return err
			}
		}
		it, a, err := find(items, in.ID, c.Now)
		if err != nil {
			return err
		}
		gone, items = a, nil // after a conflict, the next attempt reads the items again
		tx := c.Tenant.Write()
		expire(tx, it, c.Now)
		return c.Commit(ctx, tx, &gone)
	})
	return &gone, err
}

// readStored reads the items of the caller's saved addresses while the access checks run.
func readStored(ctx context.Context, t table.Tenant, p api.Peek) ([]table.Item, error) {
	return stored(ctx, t, Partition(t, p.Actor().Subject))
}

package settings

import (
	"context"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of settings.
func Rows() []api.Row {
	policy := authz.Operators("tenant.settings:read", "VIEW_SETTINGS")
	change := authz.Operators("tenant.settings:write", "EDIT_SETTINGS")
	return append([]api.Row{
		api.Get("/api/v1/settings", "svc_get_settings", policy, get, api.Tag("Settings"),
			api.Summary("Read company and settings"),
			api.Text("The company with its branding, and its settings: feature flags, pricing, payments, dispatch, "+
				"routing, map. The API enforces the feature flags and the payment types. Waiting and rounding of `pricing` go "+
				"into estimates and into fares that the service computes. `dispatch` says how trips find drivers and where they "+
				"may begin. `taxRate` shows on receipts. `chargeCancellation` says whether the `cancellationFee` is posted."),
			api.Versioned(), api.Needs(neededForSettings)),
		api.Patch("/api/v1/settings", "svc_update_settings", change, patch, api.Extension(), api.Versioned(),
			api.Tag("Settings"), api.Summary("Change settings"), api.Needs(neededForSettings),
			api.Confirm("Riders and drivers of the company get the new settings at once."),
			api.Text("The body has members as `settings` of `GET /settings` shows them. Groups are merged: members that are "+
				"not given stay. `null` resets a member, or a group, to its default.")),
		api.Get("/api/v1/services", "svc_list_services", policy, services, api.Tag("Settings"),
			api.Summary("List the active service types"),
			api.Text("An `id` is the value to send as `serviceTypeId` when requesting a ride.")),
		api.Get("/api/v1/zones", "svc_list_zones", policy, zones, api.Tag("Settings"),
			api.Summary("List the dispatch zones"),
			api.Text("The tenant's zones with their outlines as GeoJSON, oldest first: at most 1,000, and as many as fit into "+
				"about 5 MB.")),
	}, manageRows(policy, change)...)
}

func neededForSettings(t table.Tenant, _ api.Peek) []table.Key {
	return []table.Key{tenant.Key(t), branding.Key(t), Key(t)}
}

func get(ctx context.Context, c *api.Caller, _ *struct{}) (*Overview, error) {
	company, err := c.Item(ctx, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	stored, err := c.Item(ctx, Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	document, err := FromItem(stored)
	if err != nil {
		return nil, err
	}
	c.Tagged(stored.Version, company.Version)
	return shown(ctx, c, document)
}

// shown returns the company with a settings document.
func shown(ctx context.Context, c *api.Caller, d Document) (*Overview, error) {
	it, err := c.Item(ctx, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	who, err := tenant.FromItem(it)
	if err != nil {
		return nil, err
	}
	if it, err = c.Item(ctx, branding.Key(c.Tenant)); err != nil {
		return nil, err
	}
	look, err := branding.FromItem(it)
	if err != nil {
		return nil, err
	}
	out := overview(who, look, d)
	return &out, nil
}

type patchInput struct {
	Body api.Changes[Settings]
}

func patch(ctx context.Context, c *api.Caller, in *patchInput) (*Overview, error) {
	out, err := shown(ctx, c, Document{})
	if err != nil {
		return nil, err
	}
	now, err := Change{Tenant: c.Tenant, By: c.By(), Edit: in.Body.Apply, Read: c.Reader(),
		Require: func(document, tenant int64) error { return c.Match(document, tenant) },
		Commit: func(ctx context.Context, tx *table.Tx, now Settings, document, tenant int64) error {
			out.Settings = now
			c.Tagged(document, tenant)
			return c.Commit(ctx, tx, out)
		}}.Run(ctx)
	if err != nil {
		return nil, api.InBody(err)
	}
	out.Settings = now
	return out, nil
}

func services(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[ServiceType], error) {
	return Active(ctx, c)
}

// Active returns the active service types that fit into the response, oldest
// first.
func Active(ctx context.Context, c *api.Caller) (*api.Items[ServiceType], error) {
	items, err := stored(ctx, c.Tenant, servicePrefix, unlimited)
	if err != nil {
		return nil, err
	}
	live, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(it table.Item) bool { return !it.Flag("active") })
	items = items[:api.Fitting(items)]
	out := &api.Items[ServiceType]{Items: make([]ServiceType, 0, len(items))}
	for _, it := range items {
		s, err := ServiceFromItem(it)
		if err != nil {
			return nil, err
		}
		s.Currency = live.Currency // the tenant's currency, which may have changed before the first trip
		out.Items = append(out.Items, s.ServiceType)
	}
	return out, nil
}

// zoneRequests is the maximum number of requests for a list of zones. A request
// returns about a megabyte, and a response has at most about five.
const zoneRequests = 7

// zones returns the zones that fit into the response, oldest first.
func zones(ctx context.Context, c *api.Caller, _ *struct{}) (*api.Items[Zone], error) {
	items, err := stored(ctx, c.Tenant, zonePrefix, zoneRequests)
	if err != nil {
		return nil, err
	}
	all, err := table.DecodeAll(items[:api.Fitting(items)], ZoneFromItem)
	return &api.Items[Zone]{Items: all}, err
}

package settings

import (
	"cmp"
	"context"

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
			api.Text("The tenant's zones with their outlines as GeoJSON, oldest first. If they do not fit into about 5 MB, or "+
				"are more than 1,000, `next_cursor` says where the list goes on.")),
	}, manageRows(policy, change)...)
}

// neededForSettings returns the keys of the tenant's record, its branding and its
// settings document.
func neededForSettings(t table.Tenant, _ api.Peek) []table.Key {
	return []table.Key{tenant.Key(t), branding.Key(t), Key(t)}
}

// get returns the company and its settings. The ETag has the versions of the settings and
// of the tenant's record.
func get(ctx context.Context, c *api.Caller, _ *struct{}) (*Overview, error) {
	company, err := c.Item(ctx, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	stored, err := c.Item(ctx, Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	document, err := Kind.FromItem(stored)
	if err != nil {
		return nil, err
	}
	c.Tagged(stored.Version, company.Version)
	return overviewOf(ctx, c, document)
}

// overviewOf returns the response of GET /settings with a settings document.
func overviewOf(ctx context.Context, c *api.Caller, d Document) (*Overview, error) {
	who, err := tenant.Kind.Get(ctx, c.Item, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	look, err := branding.Kind.Get(ctx, c.Item, branding.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	out := overview(who, look, d)
	return &out, nil
}

type patchInput struct {
	Body api.Changes[Settings]
}

// patch changes settings. The body is merged into the stored settings.
func patch(ctx context.Context, c *api.Caller, in *patchInput) (*Overview, error) {
	out, err := overviewOf(ctx, c, Document{})
	if err != nil {
		return nil, err
	}
	now, err := Change{Tenant: c.Tenant, By: c.By(), Edit: in.Body.Apply, Read: c.Reader(), Local: c.Local(),
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

// services returns a page of the active service types.
func services(ctx context.Context, c *api.Caller, in *api.From) (*api.Cut[ServiceType], error) {
	return Active(ctx, c, in)
}

// Active returns a page of the active service types, oldest first.
func Active(ctx context.Context, c *api.Caller, in *api.From) (*api.Cut[ServiceType], error) {
	all, err := listed(ctx, c, "services", servicePrefix, 0, in.Cursor, &ServiceKind)
	if err != nil {
		return nil, err
	}
	live, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	out := &api.Cut[ServiceType]{Items: make([]ServiceType, 0, len(all.Items)), NextCursor: all.NextCursor}
	for _, s := range all.Items {
		s.Currency = live.Currency // the stored currency may be outdated
		if s.Active {
			out.Items = append(out.Items, s.ServiceType)
		}
	}
	return out, nil
}

// listRequests is the maximum number of reads for a page of a list. A read returns about
// a megabyte, and a response has at most about five.
const listRequests = 7

// listed returns a page of the items in the partition of the settings whose sort key has
// the prefix, oldest first. The page has the items that fit into the response, and at most
// limit; if limit is 0, at most maxListed. The cursor is bound to name, the list's name.
func listed[T any](ctx context.Context, c *api.Caller, name, prefix string, limit int, cursor string,
	kind *table.Kind[T]) (*api.Cut[T], error) {
	page, err := api.ListPage(ctx, c, api.Paging{Limit: cmp.Or(limit, maxListed), Cursor: cursor}, api.List[T]{Name: name,
		Partitions: []string{Key(c.Tenant).PK}, Kind: kind,
		Query: table.Query{Prefix: prefix, Consistent: true, Fill: true, Requests: listRequests}})
	if err != nil {
		return nil, err
	}
	return &api.Cut[T]{Items: page.Items, NextCursor: page.NextCursor}, nil
}

type zonesInput struct {
	api.From
	Limit int `query:"limit" minimum:"1" maximum:"200" doc:"Maximum number of zones. Without it, all that fit into a response."`
}

// zones returns a page of the tenant's dispatch zones.
func zones(ctx context.Context, c *api.Caller, in *zonesInput) (*api.Cut[Zone], error) {
	return listed(ctx, c, "zones", zonePrefix, in.Limit, in.Cursor, &ZoneKind)
}

package settings

import (
	"cmp"
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// manageRows returns the endpoints that read and change one service type or zone.
func manageRows(read, change authz.Policy) []api.Row {
	service, zone := api.One(ids.Service, ServiceKey), api.One(ids.Zone, ZoneKey)
	riders := api.Confirm("Riders of the company see it at once.")
	strict := api.Confirm("It may change where rides can begin.")
	tag, extension, versioned := api.Tag("Settings"), api.Extension(), api.Versioned()
	return []api.Row{
		api.Get("/api/v1/services/{id}", "svc_get_service", read, getService, service, tag, extension, versioned,
			api.Summary("Read a service type"), api.Text("Also one that is not active.")),
		api.Post("/api/v1/services", "svc_create_service", change, createService, api.Created(), tag, extension, versioned,
			riders, api.Early(readServices), api.Summary("Add a service type"),
			api.Text("At least one price must be above 0. A company has at most 1,000 service types.")),
		api.Patch("/api/v1/services/{id}", "svc_update_service", change, patchService, service, tag, extension, versioned,
			riders, api.Summary("Change a service type"),
			api.Text("Only the given members change. Trips that were requested before keep their prices and commission.")),
		api.Delete("/api/v1/services/{id}", "svc_delete_service", change, deleteService, service, tag, extension, versioned,
			riders, api.Summary("Withdraw a service type"),
			api.Text("The service type becomes inactive: it is in no list, and no ride can be requested with it. It is not "+
				"lost, because trips name it. `PATCH` with `active: true` offers it again.")),
		api.Get("/api/v1/zones/{id}", "svc_get_zone", read, getZone, zone, tag, extension, versioned,
			api.Summary("Read a dispatch zone"), api.Text("With its outline as GeoJSON.")),
		api.Post("/api/v1/zones", "svc_create_zone", change, createZone, api.Created(), tag, extension, versioned, strict,
			api.LongBody(), api.Summary("Add a dispatch zone"), api.Text("The body may have 512 KiB. `area` is GeoJSON as cities publish it: a Polygon or a "+
				"MultiPolygon, alone or as the only geometry of a Feature, FeatureCollection or GeometryCollection.")),
		api.Patch("/api/v1/zones/{id}", "svc_update_zone", change, patchZone, zone, tag, extension, versioned, strict,
			api.LongBody(), api.Summary("Change a dispatch zone"),
			api.Text("Only the given members change. The body may have 512 KiB.")),
		api.Delete("/api/v1/zones/{id}", "svc_delete_zone", change, deleteZone, zone, tag, extension, versioned, strict,
			api.Summary("Remove a dispatch zone"), api.Text("The response is the zone as it was.")),
	}
}

type serviceInput struct {
	ID string `path:"id" doc:"Identifier of the service type." example:"svt_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

type zoneInput struct {
	ID string `path:"id" doc:"Identifier of the zone." example:"zon_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// ServiceEdit has the members of a service type that its company decides.
type ServiceEdit struct {
	Name           string        `json:"name" minLength:"1" maxLength:"100" example:"Van" doc:"Name of the service type."`
	Description    *string       `json:"description,omitempty" maxLength:"1000" example:"Up to six people" doc:"What riders get."`
	BaseFare       *money.Amount `json:"baseFare,omitempty" minimum:"0" example:"5" doc:"Start of every fare, currency units; 0 if absent."`
	PerKm          *money.Amount `json:"perKm,omitempty" minimum:"0" example:"2.2" doc:"Price of a kilometre, currency units; 0 if absent."`
	PerMinute      *money.Amount `json:"perMinute,omitempty" minimum:"0" example:"0.5" doc:"Price of a minute, currency units; 0 if absent."`
	MinimumFare    *money.Amount `json:"minimumFare,omitempty" minimum:"0" example:"12" doc:"The least fare, currency units; 0 if absent."`
	CommissionRate *money.Amount `json:"commissionRate,omitempty" minimum:"0" maximum:"1" example:"0.2" doc:"The company's share of a fare; 0 if absent. It applies to trips that are requested at least a second later."`
	Capacity       *int          `json:"capacity,omitempty" minimum:"1" maximum:"1000" default:"4" doc:"Passengers."`
	IconURL        *string       `json:"iconUrl,omitempty" maxLength:"2000" example:"https://cdn.metro.example/van.svg" doc:"An https URL of the icon."`
	Active         *bool         `json:"active,omitempty" default:"true" doc:"Whether riders may request rides of this type."`
}

func editOf(s Service) ServiceEdit {
	return ServiceEdit{s.Name, s.Description, &s.BaseFare, &s.PerKm, &s.PerMinute, &s.MinimumFare, &s.CommissionRate,
		&s.Capacity, s.IconURL, &s.Active}
}

// set gives the service type what the edit says.
func (e ServiceEdit) set(s *Service) error {
	s.Name, s.Description, s.IconURL = e.Name, e.Description, e.IconURL
	s.BaseFare, s.PerKm, s.PerMinute, s.MinimumFare = value(e.BaseFare, "0"), value(e.PerKm, "0"), value(e.PerMinute, "0"),
		value(e.MinimumFare, "0")
	s.CommissionRate, s.Capacity, s.Active = value(e.CommissionRate, "0"), value(e.Capacity, 4), value(e.Active, true)
	return nil
}

// value returns what p points to, or the default if p is nil.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func getService(ctx context.Context, c *api.Caller, in *serviceInput) (*ManagedService, error) {
	s, err := api.Stored(ctx, c, &ServiceKind, ServiceKey(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	out, err := priced(ctx, c)
	if err != nil {
		return nil, err
	}
	shown := out(s)
	return &shown, nil
}

// priced returns a function that shows a service type in the tenant's currency.
func priced(ctx context.Context, c *api.Caller) (func(Service) ManagedService, error) {
	state, err := c.Live(ctx)
	return func(s Service) ManagedService {
		s.Currency = state.Currency
		return s.Managed()
	}, err
}

type createServiceInput struct{ Body ServiceEdit }

func readServices(ctx context.Context, t table.Tenant, _ api.Peek) ([]Service, error) {
	return Services(ctx, t)
}

func createService(ctx context.Context, c *api.Caller, in *createServiceInput) (*ManagedService, error) {
	have, err := api.EarlyOf[[]Service](ctx, c)
	if err != nil {
		return nil, err
	}
	if len(have) >= maxListed {
		return nil, fault.InvalidState("A company has at most %d service types. Change one that is not active.", maxListed)
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	s := Service{ServiceType: ServiceType{Currency: state.Currency}}
	_ = in.Body.set(&s)
	if err := s.prepare(c.By(), LimitsOf(state.Flags)); err != nil {
		return nil, api.InBody(err)
	}
	out := s.Managed()
	c.Tagged(int64(1))
	return api.Make(ctx, c, &out, func(tx *table.Tx) error {
		audit.Add(tx, c.Tenant, c.By(), "service.add", s.ID, ServiceKind.Item(c.Tenant, "", s), out)
		return nil
	})
}

type patchServiceInput struct {
	ID   string `path:"id" doc:"Identifier of the service type." example:"svt_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[ServiceEdit]
}

func patchService(ctx context.Context, c *api.Caller, in *patchServiceInput) (*ManagedService, error) {
	return changeService(ctx, c, in.ID, func(s *Service) error {
		e := editOf(*s)
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		return e.set(s)
	})
}

func deleteService(ctx context.Context, c *api.Caller, in *serviceInput) (*ManagedService, error) {
	return changeService(ctx, c, in.ID, func(s *Service) error {
		s.Active = false
		return nil
	})
}

func changeService(
	ctx context.Context, c *api.Caller, id string, edit func(*Service) error,
) (*ManagedService, error) {
	show, err := priced(ctx, c)
	if err != nil {
		return nil, err
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	return api.Edit(ctx, c, ServiceChange(c.Tenant, c.By(), id, LimitsOf(state.Flags), edit), show)
}

// Outline is GeoJSON in a request, as ParseArea reads it.
type Outline struct{ text jsontext.Value }

// UnmarshalJSON keeps the text.
func (o *Outline) UnmarshalJSON(text []byte) error {
	o.text = jsontext.Value(text).Clone()
	return nil
}

// MarshalJSON writes the text.
func (o Outline) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(string(o.text), "null")), nil }

// Schema returns the schema of any object.
func (Outline) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// ZoneEdit has the members of a zone that its company decides.
type ZoneEdit struct {
	Name     string  `json:"name" minLength:"1" maxLength:"100" example:"Airport" doc:"Name of the zone."`
	Area     Outline `json:"area" doc:"The zone's outline as GeoJSON, in degrees, longitude first. Holes are respected. At most 5,000 positions."`
	Active   *bool   `json:"active,omitempty" default:"true" doc:"Whether the zone is in use."`
	Priority *int    `json:"priority,omitempty" minimum:"-1000000" maximum:"1000000" default:"0" doc:"Where zones overlap, apps show the zone with the highest priority."`
}

// set gives the zone what the edit says. An edit without an area keeps the zone's.
func (e ZoneEdit) set(z *Zone) (err error) {
	z.Name, z.Active, z.Priority = e.Name, value(e.Active, true), value(e.Priority, 0)
	if len(e.Area.text) > 0 {
		if z.Area, err = ParseArea(e.Area.text); err != nil {
			return fault.Field("area", "%s", err)
		}
	}
	return nil
}

func getZone(ctx context.Context, c *api.Caller, in *zoneInput) (*Zone, error) {
	z, err := api.Stored(ctx, c, &ZoneKind, ZoneKey(c.Tenant, in.ID))
	return &z, err
}

type createZoneInput struct{ Body ZoneEdit }

func createZone(ctx context.Context, c *api.Caller, in *createZoneInput) (*Zone, error) {
	z := Zone{}
	if err := in.Body.set(&z); err != nil {
		return nil, api.InBody(err)
	}
	if err := z.prepare(c.By()); err != nil {
		return nil, api.InBody(err)
	}
	c.Tagged(int64(1))
	return api.Make(ctx, c, &z, func(tx *table.Tx) error {
		return addZone(tx, c.Tenant, c.By(), z)
	})
}

type patchZoneInput struct {
	ID   string `path:"id" doc:"Identifier of the zone." example:"zon_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[ZoneEdit]
}

func patchZone(ctx context.Context, c *api.Caller, in *patchZoneInput) (*Zone, error) {
	return api.Edit(ctx, c, ZoneChange(c.Tenant, c.By(), in.ID, func(z *Zone) error {
		e := ZoneEdit{Name: z.Name, Active: &z.Active, Priority: &z.Priority}
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		return e.set(z)
	}), func(z Zone) Zone { return z })
}

// deleteZone deletes a zone, which no other item names. The audit entry has its outline.
func deleteZone(ctx context.Context, c *api.Caller, in *zoneInput) (*Zone, error) {
	read := c.Reader()
	var was Zone
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx, ZoneKey(c.Tenant, in.ID))
		if err != nil {
			return err
		}
		if was, err = ZoneKind.FromItem(it); err != nil {
			return err
		}
		if err := c.Match(it.Version); err != nil {
			return err
		}
		tx := c.Tenant.Write()
		tx.Delete(it.Key).If("'version' = ?", it.Version).Else(table.ErrConflict)
		audit.Append(tx, c.Tenant, c.By(), "zone.remove", in.ID, was, nil)
		if err := writeCover(tx, c.Tenant, was, Zone{}); err != nil {
			return err
		}
		return c.Commit(ctx, tx, &was)
	})
	return &was, err
}

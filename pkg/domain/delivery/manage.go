package delivery

import (
	"context"
	"encoding/json"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/edge/api"
)

// manageRows returns the endpoints that read and change one business and its menu.
func manageRows() []api.Row {
	read := authz.Operators("tenant.businesses:read", "VIEW_BUSINESSES").Needing(authz.Delivery)
	change := authz.Operators("tenant.businesses:write", "MANAGE_BUSINESSES").Needing(authz.Delivery)
	business := api.One(ids.Business, BusinessKey)
	riders := api.Confirm("Riders of the company see it at once.")
	tag, extension, versioned := api.Tag("Delivery"), api.Extension(), api.Versioned()
	return []api.Row{
		api.Get("/api/v1/businesses/{id}", "svc_get_business", read, getBusiness, business, tag, extension, versioned,
			api.Summary("Read a business"), api.Text("Also one that is not active.")),
		api.Get("/api/v1/businesses/external/{externalId}", "svc_get_business_by_external_id", read,
			external.By(BusinessIDs, getBusiness, func(id string) *oneBusiness { return &oneBusiness{id} }), tag, extension,
			versioned,
			api.Summary("Read a business by an identifier of another system"), external.Text()),
		api.Post("/api/v1/businesses", "svc_create_business", change, createBusiness, api.Created(), tag, extension,
			versioned, riders, api.Summary("Add a business"), api.Text("Riders may order once it has a menu.")),
		api.Patch("/api/v1/businesses/{id}", "svc_update_business", change, patchBusiness, business, tag, extension,
			versioned, riders, api.Summary("Change a business"),
			api.Text("Only the given members change. Riders see no business with `active: false`, and cannot order there. Its "+
				"orders stay.")),
		api.Get("/api/v1/businesses/{id}/menu", "svc_list_menu", read, listMenu, business, tag, extension,
			api.Summary("List the menu of a business"), api.Text("Oldest item first, including those not available.")),
		api.Post("/api/v1/businesses/{id}/menu", "svc_create_menu_item", change, createMenuItem, api.Created(), business,
			api.Early(readMenu), tag, extension, versioned, riders, api.Summary("Add an item to a menu"),
			api.Text("At most 500 items.")),
		api.Patch("/api/v1/businesses/{id}/menu/{item}", "svc_update_menu_item", change, patchMenuItem,
			api.Needs(needMenuItem), tag, extension, versioned, riders, api.Summary("Change an item of a menu"),
			api.Text("Only the given members change. Orders keep the name and the price at which they were placed.")),
	}
}

type oneBusiness struct {
	ID string `path:"id" doc:"Identifier of the business." example:"biz_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

// BusinessEdit has the members of a business that its company decides.
type BusinessEdit struct {
	Name        string        `json:"name" minLength:"1" maxLength:"100" example:"Corner Deli" doc:"Name of the business."`
	Category    string        `json:"category" minLength:"1" maxLength:"100" example:"restaurant" doc:"What kind of business it is."`
	Address     string        `json:"address" minLength:"1" maxLength:"300" example:"91 Canal Row" doc:"Address of the business as text."`
	Lat         json.Number   `json:"lat" minimum:"-90" maximum:"90" example:"40.7196" doc:"Degrees."`
	Lng         json.Number   `json:"lng" minimum:"-180" maximum:"180" example:"-74.0013" doc:"Degrees."`
	Phone       *string       `json:"phone,omitempty" nullable:"true" maxLength:"100" example:"+1 212 555 0181" doc:"Phone number."`
	LogoURL     *string       `json:"logoUrl,omitempty" nullable:"true" maxLength:"2000" example:"https://cdn.metro.example/deli.png" doc:"An https URL of the logo."`
	Active      *bool         `json:"active,omitempty" default:"true" doc:"Whether riders see the business and may order."`
	DeliveryFee *money.Amount `json:"deliveryFee,omitempty" minimum:"0" example:"3.99" doc:"Fee of each order that a rider places, currency units; 0 if absent."`
	external.Edit
}

func editOf(b Business) BusinessEdit {
	return BusinessEdit{b.Name, b.Category, b.Address, b.Lat, b.Lng, b.Phone, b.LogoURL, &b.Active, &b.DeliveryFee,
		b.Members.Edit()}
}

// set gives the business what the edit says.
func (e BusinessEdit) set(b *Business) error {
	*b = Business{ID: b.ID, Members: b.Members, Name: e.Name, Category: e.Category, Address: e.Address, Lat: e.Lat,
		Lng: e.Lng, Phone: e.Phone, LogoURL: e.LogoURL, Active: e.Active == nil || *e.Active}
	if e.DeliveryFee != nil {
		b.DeliveryFee = *e.DeliveryFee
	}
	return b.Members.Set(e.Edit)
}

func getBusiness(ctx context.Context, c *api.Caller, in *oneBusiness) (*ManagedBusiness, error) {
	b, err := api.Stored(ctx, c, &BusinessKind, BusinessKey(c.Tenant, in.ID))
	out := b.Managed()
	return &out, err
}

type createBusinessInput struct{ Body BusinessEdit }

func createBusiness(ctx context.Context, c *api.Caller, in *createBusinessInput) (*ManagedBusiness, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	var b Business
	if err = in.Body.set(&b); err == nil {
		err = b.prepare(c.By(), state.Currency)
	}
	if err != nil {
		return nil, api.InBody(err)
	}
	out := b.Managed()
	c.Tagged(int64(1))
	return api.Make(ctx, c, &out, func(tx *table.Tx) error {
		audit.Add(tx, c.Tenant, c.By(), "business.add", b.ID, BusinessKind.Sharded(c.Tenant, b, b.ID, state.WriteShards), out)
		return BusinessIDs.Move(ctx, tx, c.Tenant, b.ID, "", b.ExternalID)
	})
}

type patchBusinessInput struct {
	ID   string `path:"id" doc:"Identifier of the business." example:"biz_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[BusinessEdit]
}

func patchBusiness(ctx context.Context, c *api.Caller, in *patchBusinessInput) (*ManagedBusiness, error) {
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	return api.Edit(ctx, c, businessChange(c.Tenant, c.By(), in.ID, state.Currency, func(b *Business) error {
		e := editOf(*b)
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		return e.set(b)
	}), Business.Managed)
}

// listMenu reads the menu while the checks read the business.
func listMenu(ctx context.Context, c *api.Caller, in *oneBusiness) (*api.Items[MenuItem], error) {
	all, err := Menu(ctx, c.Tenant, in.ID)
	if err != nil {
		return nil, err
	}
	_, err = api.Stored(ctx, c, &BusinessKind, BusinessKey(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	return priced(ctx, c, all)
}

// priced returns menu items with the tenant's currency.
func priced(ctx context.Context, c *api.Caller, all []MenuItem) (*api.Items[MenuItem], error) {
	state, err := c.Live(ctx)
	for i := range all {
		all[i] = all[i].in(state.Currency)
	}
	return &api.Items[MenuItem]{Items: all}, err
}

type createMenuItemInput struct {
	ID   string `path:"id" doc:"Identifier of the business." example:"biz_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body MenuItemEdit
}

func readMenu(ctx context.Context, t table.Tenant, p api.Peek) ([]MenuItem, error) {
	return Menu(ctx, t, p.Path("id"))
}

func createMenuItem(ctx context.Context, c *api.Caller, in *createMenuItemInput) (*MenuItem, error) {
	if _, err := api.Stored(ctx, c, &BusinessKind, BusinessKey(c.Tenant, in.ID)); err != nil {
		return nil, err
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	m := MenuItem{MenuItemEdit: in.Body}
	if err := m.prepare(c.By(), state.Currency); err != nil {
		return nil, api.InBody(err)
	}
	have, err := api.EarlyOf[[]MenuItem](ctx, c)
	if err == nil {
		err = roomOnMenu(have)
	}
	if err != nil {
		return nil, err
	}
	c.Tagged(int64(1))
	return api.Make(ctx, c, &m, func(tx *table.Tx) error {
		addToMenu(tx, c.Tenant, c.By(), in.ID, m)
		return nil
	})
}

func needMenuItem(t table.Tenant, p api.Peek) []table.Key {
	if !ids.Valid(ids.Business, p.Path("id")) || !ids.Valid(ids.MenuItem, p.Path("item")) {
		return nil
	}
	return []table.Key{MenuItemKey(t, p.Path("id"), p.Path("item"))}
}

type patchMenuItemInput struct {
	ID   string `path:"id" doc:"Identifier of the business." example:"biz_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Item string `path:"item" doc:"Identifier of the menu item." example:"itm_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[MenuItemEdit]
}

func patchMenuItem(ctx context.Context, c *api.Caller, in *patchMenuItemInput) (*MenuItem, error) {
	if !ids.Valid(ids.Business, in.ID) || !ids.Valid(ids.MenuItem, in.Item) {
		return nil, fault.NotFound()
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	return api.Edit(ctx, c, menuChange(c.Tenant, c.By(), in.ID, in.Item, state.Currency, func(m *MenuItem) error {
		return in.Body.Apply(&m.MenuItemEdit)
	}), func(m MenuItem) MenuItem { return m })
}

package delivery

import (
	"context"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/edge/api"
)

// mostLines is the maximum number of lines of a rider's order.
const mostLines = 50

// placeRows returns the endpoints with which riders order, and those of one order.
func placeRows() []api.Row {
	read := authz.Riders("rider.orders:read").Needing(authz.Delivery)
	order := authz.Riders("rider.orders:create").Needing(authz.Delivery)
	tag, extension, one := api.Tag("Me"), api.Extension(), api.One(ids.Order, OrderKey)
	return []api.Row{
		api.Get("/api/v1/orders/{id}", "svc_get_order",
			authz.Operators("tenant.delivery:read", "VIEW_FOOD_ORDERS").Needing(authz.Delivery), getOrder, one, extension,
			api.Versioned(), api.Tag("Delivery"), api.Summary("Read an order"), api.Text("As the lists show it.")),
		api.Get("/api/v1/orders/external/{externalId}", "svc_get_order_by_external_id",
			authz.Operators("tenant.delivery:read", "VIEW_FOOD_ORDERS").Needing(authz.Delivery),
			external.By(OrderIDs, getOrder, func(id string) *oneOrder { return &oneOrder{id} }), extension, api.Versioned(),
			api.Tag("Delivery"), api.Summary("Read an order by an identifier of another system"), external.Text()),
		api.Patch("/api/v1/orders/{id}", "svc_update_order",
			authz.Operators("tenant.delivery:write", "MANAGE_FOOD_ORDERS").Needing(authz.Delivery), patchOrder, one,
			extension, api.Versioned(), api.Confirm("The rider, the business and the driver act on it."), api.Tag("Delivery"),
			api.Summary("Change an order: its status, driver, your programs' data"),
			api.Text("The status goes forward: `PENDING`, `ACCEPTED`, `PREPARING`, `READY`, `PICKED_UP`, `DELIVERED`; steps may "+
				"be left out. Until it is picked up, an order can become `CANCELLED`. Any other change is a 409. `driverId: "+
				"null` takes the driver away.")),
		api.Get("/api/v1/me/businesses", "svc_list_my_businesses", order, myBusinesses, tag, extension,
			api.Summary("List the businesses where a rider may order"), api.Text("By name.")),
		api.Get("/api/v1/me/businesses/{id}/menu", "svc_list_my_menu", order, myMenu, api.One(ids.Business, BusinessKey),
			tag, extension, api.Summary("List what a rider may order"),
			api.Text("The items that are available, oldest first. A business that is not active is a 404.")),
		api.Post("/api/v1/me/orders", "svc_place_order", order, placeOrder, api.Created(), api.Needs(needMenu), tag,
			extension, api.Confirm("The business prepares it, and the rider has to pay."), api.Summary("Place an order"),
			api.Text("Prices are those of the menu, the fee is that of the business. With `expectedTotal`, an order that costs "+
				"anything else is a 409. The service charges nothing for an order: the company collects it.")),
		api.Get("/api/v1/me/orders/{id}", "svc_my_order", read, myOrder, one, tag, extension, api.Summary("Read my order"),
			api.Text("As the list shows it.")),
		api.Post("/api/v1/me/orders/{id}/cancel", "svc_cancel_my_order", order, cancelOrder, one, tag, extension,
			api.Confirm("The business does not prepare it."), api.Summary("Cancel my order"),
			api.Text("While it is `PENDING`. Later only the company can cancel it.")),
	}
}

type oneOrder struct {
	ID string `path:"id" doc:"Identifier of the order." example:"ord_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
}

func getOrder(ctx context.Context, c *api.Caller, in *oneOrder) (*Order, error) {
	o, err := api.Stored(ctx, c, &OrderKind, OrderKey(c.Tenant, in.ID))
	return &o, err
}

// OrderEdit has the members of an order that its company decides.
type OrderEdit struct {
	Status   string  `json:"status" enum:"PENDING,ACCEPTED,PREPARING,READY,PICKED_UP,DELIVERED,CANCELLED" example:"ACCEPTED" doc:"Where the order stands."`
	DriverID *string `json:"driverId,omitempty" nullable:"true" maxLength:"100" example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"A driver of the company who is not disabled."`
	external.Edit
}

type patchOrderInput struct {
	ID   string `path:"id" doc:"Identifier of the order." example:"ord_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Body api.Changes[OrderEdit]
}

func patchOrder(ctx context.Context, c *api.Caller, in *patchOrderInput) (*Order, error) {
	return api.Edit(ctx, c, orderChange(c.Tenant, c.By(), in.ID, func(o *Order) error {
		e := OrderEdit{o.Status, o.DriverID, o.Members.Edit()}
		if err := in.Body.Apply(&e); err != nil {
			return err
		}
		o.Status, o.DriverID = e.Status, e.DriverID
		return o.Members.Set(e.Edit)
	}), func(o Order) Order { return o })
}

// myMenu reads the menu while the checks read the business.
func myMenu(ctx context.Context, c *api.Caller, in *oneBusiness) (*api.Items[MenuItem], error) {
	all, err := Menu(ctx, c.Tenant, in.ID)
	if err != nil {
		return nil, err
	}
	b, err := api.Stored(ctx, c, &BusinessKind, BusinessKey(c.Tenant, in.ID))
	if err != nil {
		return nil, err
	}
	if !b.Active {
		return nil, fault.NotFound()
	}
	return priced(ctx, c, slices.DeleteFunc(all, func(m MenuItem) bool { return !*m.Available }))
}

// OrderRequest is what a rider orders. ExpectedTotal is for an app whose menu may be old.
type OrderRequest struct {
	BusinessID      string        `json:"businessId" minLength:"1" maxLength:"100" example:"biz_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"An active business of the company."`
	Items           []MenuChoice  `json:"items" minItems:"1" maxItems:"50" nullable:"false" doc:"What to prepare."`
	DeliveryAddress string        `json:"deliveryAddress" minLength:"1" maxLength:"300" example:"12 Harbour Street" doc:"Where to deliver."`
	ExpectedTotal   *money.Amount `json:"expectedTotal,omitempty" minimum:"0" example:"34.99" doc:"What the rider was told, currency units: the order fails if it costs anything else."`
}

// MenuChoice is one line of an order.
type MenuChoice struct {
	MenuItemID string `json:"menuItemId" minLength:"1" maxLength:"100" example:"itm_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"An available item of the business's menu."`
	Quantity   int    `json:"quantity" minimum:"1" maximum:"1000" example:"2" doc:"How many."`
}

type placeInput struct{ Body OrderRequest }

// needMenu names the business and the menu items of an order.
func needMenu(t table.Tenant, p api.Peek) []table.Key {
	business := p.Body("businessId")
	if !ids.Valid(ids.Business, business) {
		return nil
	}
	items := p.Each("items", "menuItemId")
	slices.Sort(items)
	keys := []table.Key{BusinessKey(t, business)}
	for _, id := range slices.Compact(items) {
		if ids.Valid(ids.MenuItem, id) && len(keys) <= mostLines {
			keys = append(keys, MenuItemKey(t, business, id))
		}
	}
	return keys
}

// placeOrder adds an order at the prices of the menu.
func placeOrder(ctx context.Context, c *api.Caller, in *placeInput) (*Order, error) {
	if !ids.Valid(ids.Business, in.Body.BusinessID) {
		return nil, errBusiness
	}
	it, err := c.Item(ctx, BusinessKey(c.Tenant, in.Body.BusinessID))
	if err != nil {
		return nil, err
	}
	if !it.Found() {
		return nil, errBusiness
	}
	b, err := BusinessKind.FromItem(it)
	if err != nil {
		return nil, err
	}
	if !b.Active {
		return nil, fault.InvalidState("The business takes no orders now.")
	}
	state, err := c.Live(ctx)
	if err != nil {
		return nil, err
	}
	o := Order{BusinessID: b.ID, CustomerID: c.Actor.Subject, DeliveryFee: b.DeliveryFee, Currency: state.Currency,
		DeliveryAddress: in.Body.DeliveryAddress}
	if o.Items, err = chosen(ctx, c, b.ID, in.Body.Items); err != nil {
		return nil, err
	}
	if err := o.prepare(c.By()); err != nil {
		return nil, api.InBody(err)
	}
	if told := in.Body.ExpectedTotal; told != nil && !told.Decimal().Equal(o.Total.Decimal()) {
		return nil, fault.InvalidState("The order costs %s %s. Show it, and order again with this expectedTotal.", o.Total,
			o.Currency)
	}
	return api.Make(ctx, c, &o, func(tx *table.Tx) error {
		o.add(tx, c.Tenant, c.By(), state.Flags)
		return nil
	})
}

var errBusiness = fault.Field("body.businessId", "expected a business of this company")

// chosen returns the lines of an order.
func chosen(ctx context.Context, c *api.Caller, businessID string, choices []MenuChoice) ([]Line, error) {
	lines := make([]Line, 0, len(choices))
	for _, choice := range choices {
		unknown := fault.Field("body.items", "expected as menuItemId only items of the business's menu")
		if !ids.Valid(ids.MenuItem, choice.MenuItemID) {
			return nil, unknown
		}
		it, err := c.Item(ctx, MenuItemKey(c.Tenant, businessID, choice.MenuItemID))
		if err != nil {
			return nil, err
		}
		if !it.Found() {
			return nil, unknown
		}
		m, err := MenuKind.FromItem(it)
		if err != nil {
			return nil, err
		}
		if !*m.Available {
			return nil, fault.InvalidState("%s is not available now.", m.Name)
		}
		lines = append(lines, Line{Name: m.Name, Quantity: choice.Quantity, UnitPrice: m.Price})
	}
	return lines, nil
}

func myOrder(ctx context.Context, c *api.Caller, in *oneOrder) (*Order, error) {
	o, err := OrderKind.Get(ctx, c.Item, OrderKey(c.Tenant, in.ID))
	if err == nil && o.CustomerID != c.Actor.Subject {
		err = fault.NotFound()
	}
	o = own(o)
	return &o, err
}

func cancelOrder(ctx context.Context, c *api.Caller, in *oneOrder) (*Order, error) {
	return api.Edit(ctx, c, orderChange(c.Tenant, c.By(), in.ID, func(o *Order) error {
		switch {
		case o.CustomerID != c.Actor.Subject:
			return fault.NotFound()
		case o.Status != Statuses[0]:
			return fault.InvalidState("A rider cannot cancel an order that is %s.", o.Status)
		}
		o.Status = "CANCELLED"
		return nil
	}), own)
}

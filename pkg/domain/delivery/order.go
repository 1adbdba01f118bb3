package delivery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
)

// Order is an order placed with a business.
// Amounts are in currency units.
// Names and prices are those of the menu at the request, and stay. The company collects
// the total itself: an order has no way of payment, and its delivery changes no wallet.
type Order struct {
	ID              string       `json:"id" doc:"Identifier of the order."`
	OrderCode       string       `json:"orderCode" doc:"Short code for people."`
	Status          string       `json:"status" enum:"PENDING,ACCEPTED,PREPARING,READY,PICKED_UP,DELIVERED,CANCELLED" doc:"Where the order stands."`
	BusinessID      string       `json:"businessId" doc:"The business that prepares the order."`
	CustomerID      string       `json:"customerId" doc:"The rider who ordered."`
	DriverID        *string      `json:"driverId" doc:"The driver who delivers; null until one is assigned."`
	Items           []Line       `json:"items" doc:"What was ordered."`
	Subtotal        money.Amount `json:"subtotal" doc:"Sum of the lines, currency units."`
	DeliveryFee     money.Amount `json:"deliveryFee" doc:"Fee for the delivery, currency units."`
	Total           money.Amount `json:"total" doc:"Subtotal and fee, currency units."`
	Currency        string       `json:"currency" doc:"ISO 4217 code."`
	DeliveryAddress string       `json:"deliveryAddress" doc:"Where to deliver."`
	CreatedAt       string       `json:"createdAt" format:"date-time" doc:"When the order was placed."`
	UpdatedAt       string       `json:"updatedAt" format:"date-time" doc:"When the order last changed."`
	external.Members
}

// Line is one line of an order.
type Line struct {
	Name      string       `json:"name" doc:"Name of the item."`
	Quantity  int          `json:"quantity" minimum:"1" doc:"How many."`
	UnitPrice money.Amount `json:"unitPrice" doc:"Price of one, currency units."`
}

// Statuses lists the statuses through which an order goes, in this order, and
// CANCELLED.
var Statuses = []string{"PENDING", "ACCEPTED", "PREPARING", "READY", "PICKED_UP", "DELIVERED", "CANCELLED"}

// moves reports whether an order may change from one status to the other:
// forward along Statuses, or to CANCELLED before the order is picked up. Steps may be left
// out, because not every kitchen reports each. A rider cancels only while it is PENDING.
func moves(from, to string) bool {
	i, j := slices.Index(Statuses, from), slices.Index(Statuses, to)
	switch {
	case i < 0 || j < 0 || from == "DELIVERED" || from == "CANCELLED":
		return false
	case to == "CANCELLED":
		return from != "PICKED_UP"
	}
	return j > i
}

// withoutAddress returns what the audit log shows of the order. The log outlives the address
// (tenant.Retention), so it does not have it.
func (o Order) withoutAddress() any {
	return struct {
		Order
		DeliveryAddress *string `json:"deliveryAddress,omitempty"`
	}{Order: o}
}

// Over reports whether nothing of the order can change any more.
func (o Order) Over() bool { return o.Status == "DELIVERED" || o.Status == "CANCELLED" }

// OrderKey returns the key of an order.
func OrderKey(t table.Tenant, id string) table.Key { return t.Key("ORDER", id, "ORDER") }

// OrderIDs are the identifiers of orders in other systems.
var OrderIDs = external.Kind{Name: "order", Key: OrderKey}

// OrdersOf returns the partition of a rider's orders, and its index.
func OrdersOf(t table.Tenant, customer string) (partition string, index int) {
	return t.Partition("CUSTOMER", customer, "ORDERS"), 4
}

// OrderKind stores orders.
var OrderKind = table.Kind[Order]{Type: "order", Personal: "address of the delivery, metadata",
	Erasure: "removes, and `externalId`",
	Row: func(t table.Tenant, shard string, o Order) table.Item {
		return table.Item{Key: OrderKey(t, o.ID), Version: 1, R: o.CreatedAt + "#" + o.ID,
			G: [4]string{t.Partition("ORDERS", shard), t.Partition("ORDERS", o.Status, shard),
				t.Partition("BUSINESS", o.BusinessID, "ORDERS"), t.Partition("CUSTOMER", o.CustomerID, "ORDERS")},
			Attrs: map[string]any{"status": o.Status, "businessId": o.BusinessID, "customerId": o.CustomerID}}
	}}

// normalize converts an order to its stored form and validates it. It computes
// subtotal and total from the lines and the fee.
func (o *Order) normalize() error {
	o.DeliveryAddress = strings.TrimSpace(o.DeliveryAddress)
	var wrong fault.Faults
	wrong.Unless(slices.Contains(Statuses, o.Status), "status", "expected one of %s", strings.Join(Statuses, ", "))
	wrong.Unless(ids.Valid(ids.Business, o.BusinessID), "business", "expected the id of a business")
	wrong.Unless(ids.Valid(ids.Customer, o.CustomerID), "customer", "expected the id of a rider")
	wrong.Unless(o.DriverID == nil || ids.Valid(ids.Driver, *o.DriverID), "driverId", "expected the id of a driver")
	wrong.Unless(plaintext.IsLine(o.DeliveryAddress, 300), "deliveryAddress", "expected %s", plaintext.Rule(300))
	wrong.Unless(len(o.Items) > 0 && len(o.Items) <= 100, "item", "expected 1 to 100 lines")
	subtotal := o.lines(&wrong)
	fee, err := money.Accept(cmp.Or(o.DeliveryFee, "0"), o.Currency)
	wrong.Unless(err == nil, "deliveryFee", "%v", err)
	if len(wrong) > 0 {
		return wrong.Err()
	}
	o.DeliveryFee, o.Subtotal, o.Total = money.Of(fee), money.Of(subtotal), money.Of(subtotal.Add(fee))
	return nil
}

// lines normalizes the order's lines and returns their sum. It does not change
// the caller's slice.
func (o *Order) lines(wrong *fault.Faults) (subtotal decimal.Decimal) {
	o.Items = slices.Clone(o.Items)
	for i := range o.Items {
		line := &o.Items[i]
		price, err := money.Accept(line.UnitPrice, o.Currency)
		wrong.Unless(err == nil, "item", "%v", err)
		line.Name = strings.TrimSpace(line.Name)
		wrong.Unless(plaintext.IsLine(line.Name, 100) && line.Quantity >= 1 && line.Quantity <= 1000, "item",
			"expected as a name %s, and a quantity of 1 to 1,000", plaintext.Rule(100))
		line.UnitPrice = money.Of(price)
		subtotal = subtotal.Add(price.Mul(decimal.NewFromInt(int64(line.Quantity))))
	}
	return subtotal
}

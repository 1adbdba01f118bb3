package delivery

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Order is an order placed with a business (decisions, "Shapes not shown").
// Amounts are in currency units.
type Order struct {
	ID              string      `json:"id"`
	OrderCode       string      `json:"orderCode" doc:"Short and for people."`
	Status          string      `json:"status" enum:"PENDING,ACCEPTED,PREPARING,READY,PICKED_UP,DELIVERED,CANCELLED"`
	BusinessID      string      `json:"businessId"`
	CustomerID      string      `json:"customerId"`
	DriverID        *string     `json:"driverId" doc:"Who delivers; null until somebody does."`
	Items           []Line      `json:"items"`
	Subtotal        json.Number `json:"subtotal"`
	DeliveryFee     json.Number `json:"deliveryFee"`
	Total           json.Number `json:"total"`
	Currency        string      `json:"currency"`
	DeliveryAddress string      `json:"deliveryAddress"`
	CreatedAt       string      `json:"createdAt" format:"date-time"`
	UpdatedAt       string      `json:"updatedAt" format:"date-time"`
}

// Line is one line of an order.
type Line struct {
	Name      string      `json:"name"`
	Quantity  int         `json:"quantity" minimum:"1"`
	UnitPrice json.Number `json:"unitPrice"`
}

// Statuses lists the statuses of an order.
var Statuses = []string{"PENDING", "ACCEPTED", "PREPARING", "READY", "PICKED_UP", "DELIVERED", "CANCELLED"}

// moves says which statuses follow a status: forward along the list, and
// CANCELLED until the order is picked up.
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

// OrderKey is the key of an order.
func OrderKey(t table.Tenant, id string) table.Key { return t.Key("ORDER", "ORDER", id) }

// OrderOf reads an order of its item; fault.NotFound when there is none.
func OrderOf(it table.Item) (Order, error) {
	if !it.Found() {
		return Order{}, fault.NotFound()
	}
	var o Order
	var room table.Pointers
	var lines error
	err := it.Members(func(name, text string, quoted bool) {
		if name == "items" {
			lines = json.Unmarshal([]byte(text), &o.Items)
			return
		}
		o.read(&room, name, text, quoted)
	})
	return o, errors.Join(err, lines)
}

// read takes one member of a stored order, but for its lines.
func (o *Order) read(room *table.Pointers, name, text string, quoted bool) {
	switch name {
	case "id":
		o.ID = text
	case "orderCode":
		o.OrderCode = text
	case "status":
		o.Status = text
	case "businessId":
		o.BusinessID = text
	case "customerId":
		o.CustomerID = text
	case "driverId":
		if quoted {
			o.DriverID = room.Text(text)
		}
	case "subtotal":
		o.Subtotal = json.Number(text)
	case "deliveryFee":
		o.DeliveryFee = json.Number(text)
	case "total":
		o.Total = json.Number(text)
	case "currency":
		o.Currency = text
	case "deliveryAddress":
		o.DeliveryAddress = text
	case "createdAt":
		o.CreatedAt = text
	case "updatedAt":
		o.UpdatedAt = text
	}
}

// OrderItem is the stored form of a new order.
func OrderItem(t table.Tenant, o Order, writeShards int) table.Item {
	return orderItem(t, o, shard(o.ID, writeShards))
}

func orderItem(t table.Tenant, o Order, shard string) table.Item {
	return table.Item{Key: OrderKey(t, o.ID), Type: "order", Version: 1, Doc: o, R: o.CreatedAt + "#" + o.ID,
		G: [4]string{t.Partition("ORDERS", shard), t.Partition("ORDERS", o.Status, shard),
			t.Partition("BUSINESS", o.BusinessID, "ORDERS"), t.Partition("CUSTOMER", o.CustomerID, "ORDERS")},
		Attrs: map[string]any{"status": o.Status, "businessId": o.BusinessID, "customerId": o.CustomerID}}
}

func shard(id string, writeShards int) string { return strconv.Itoa(ids.Pick(id, writeShards)) }

// normal puts an order into its stored form: subtotal and total follow from the
// lines and the fee.
func (o *Order) normal() error {
	o.DeliveryAddress = strings.TrimSpace(o.DeliveryAddress)
	switch {
	case !slices.Contains(Statuses, o.Status):
		return fault.Field("status", "expected one of %s", strings.Join(Statuses, ", "))
	case !ids.Valid(ids.Business, o.BusinessID):
		return fault.Field("business", "expected the id of a business")
	case !ids.Valid(ids.Customer, o.CustomerID):
		return fault.Field("customer", "expected the id of a rider")
	case o.DriverID != nil && !ids.Valid(ids.Driver, *o.DriverID):
		return fault.Field("driver", "expected the id of a driver")
	case o.DeliveryAddress == "" || utf8.RuneCountInString(o.DeliveryAddress) > 300:
		return fault.Field("deliveryAddress", "expected 1 to 300 characters")
	case len(o.Items) == 0 || len(o.Items) > 100:
		return fault.Field("item", "expected 1 to 100 lines")
	}
	subtotal := decimal.Zero
	for i := range o.Items {
		line := &o.Items[i]
		price, err := money.Accept(line.UnitPrice, o.Currency)
		if err != nil {
			return fault.Field("item", "%v", err)
		}
		if line.Name == "" || utf8.RuneCountInString(line.Name) > 100 || line.Quantity < 1 || line.Quantity > 1000 {
			return fault.Field("item", "expected a name of at most 100 characters and a quantity of 1 to 1,000")
		}
		line.UnitPrice = money.Number(price)
		subtotal = subtotal.Add(price.Mul(decimal.NewFromInt(int64(line.Quantity))))
	}
	if o.DeliveryFee == "" {
		o.DeliveryFee = "0"
	}
	fee, err := money.Accept(o.DeliveryFee, o.Currency)
	if err != nil {
		return fault.Field("deliveryFee", "%v", err)
	}
	o.DeliveryFee, o.Subtotal, o.Total = money.Number(fee), money.Number(subtotal), money.Number(subtotal.Add(fee))
	return nil
}

package erasure

import (
	"context"
	"time"

	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// part is one kind of data that a tenant's retention (tenant.Retention) removes from old
// trips or orders.
type part struct {
	name string // its key in retained.Positions
	days func(tenant.Retention) int
	aged
	edits map[string]func(document) (changed bool, err error) // by type of item: removes the data from the document
}

// aged reads trips or orders from the oldest on. older returns index entries from before
// a time, and key returns the key of an item. state reports whether the trip or order has
// ended (over), and when it was last changed.
type aged struct {
	older func(ctx context.Context, t table.Tenant, before time.Time, after string, limit int) (table.Page, error)
	key   func(t table.Tenant, id string) table.Key
	state func(table.Item) (over bool, updated string, err error)
}

var (
	trips = aged{trip.Older, trip.Key, func(it table.Item) (bool, string, error) {
		t, err := trip.FromItem(it)
		return t.Status == trip.Completed || t.Status == trip.Cancelled, t.UpdatedAt, err
	}}
	orders = aged{delivery.Older, delivery.OrderKey, func(it table.Item) (bool, string, error) {
		o, err := delivery.OrderKind.FromItem(it)
		return o.Over(), o.UpdatedAt, err
	}}
)

// daysOfAddresses returns after how many days addresses are removed; 0 means never.
func daysOfAddresses(r tenant.Retention) int { return r.Addresses }

// parts are the kinds of personal data that a tenant's retention removes after some days.
var parts = []part{
	{"addresses", daysOfAddresses, trips, map[string]func(document) (bool, error){
		"trip": func(doc document) (bool, error) { return cut(doc, "oa", "da"), nil }}},
	{"orders", daysOfAddresses, orders, map[string]func(document) (bool, error){
		"order": func(doc document) (bool, error) { return cut(doc, orderWords...), nil }}},
	{"positions", func(r tenant.Retention) int { return r.Positions }, trips, map[string]func(document) (bool, error){
		"trip": func(doc document) (bool, error) { return roundPlaces(doc), nil }}},
	{"logs", func(r tenant.Retention) int { return r.Logs }, trips, map[string]func(document) (bool, error){
		"trip": func(doc document) (bool, error) {
			past, err := cutHistory(doc, everyEntry)
			return cut(doc, "n", "w") || past, err
		},
		"log":     cutLog,
		"receipt": cutReceipt,
	}},
}

// orderWords are the members of an order that tell where its rider is.
var orderWords = []string{"deliveryAddress"}

// remove adds a write to the transaction that removes the part's data from row, an item
// in the partition of a trip or order.
func (p part) remove(tx *table.Tx, row table.Item) error {
	edit := p.edits[row.Type]
	if edit == nil {
		return nil
	}
	doc, err := table.DecodeDoc[document](row)
	if err != nil {
		return err
	}
	changed, err := edit(doc)
	if err == nil && changed {
		put(tx, row, doc)
	}
	return err
}

package delivery

import (
	"context"
	"fmt"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// mostOnMenu is the maximum number of items of a menu.
const mostOnMenu = 500

// MenuItem is what a business sells. It is not deleted: Available hides it from riders.
type MenuItem struct {
	ID string `json:"id" doc:"The value of menuItemId in an order."`
	MenuItemEdit
	Currency string `json:"currency" doc:"ISO 4217 code."`
}

// MenuItemEdit has the fields of a menu item that an operator of the company sets.
type MenuItemEdit struct {
	Name        string       `json:"name" minLength:"1" maxLength:"100" example:"Reuben" doc:"Name of the item."`
	Description *string      `json:"description,omitempty" nullable:"true" maxLength:"1000" example:"On rye, with sauerkraut" doc:"What riders get."`
	Section     *string      `json:"section,omitempty" nullable:"true" minLength:"1" maxLength:"100" example:"Sandwiches" doc:"The part of the menu in which it is."`
	Price       money.Amount `json:"price" minimum:"0" example:"15.5" doc:"Price of one, currency units."`
	Available   *bool        `json:"available,omitempty" default:"true" doc:"Whether riders see the item and may order it."`
}

// MenuItemKey returns the key of an item of a business's menu.
func MenuItemKey(t table.Tenant, businessID, id string) table.Key {
	return t.Key("BUSINESS", businessID, menuPrefix+id)
}

// menuPrefix begins the range key of each item of a menu.
const menuPrefix = "MENU#"

// MenuKind says how an item of a menu is stored. The currency is not stored: it is the
// tenant's.
var MenuKind = table.Kind[MenuItem]{Type: "menuitem", Personal: "nothing",
	Row: func(t table.Tenant, businessID string, m MenuItem) table.Item {
		m.Currency = ""
		return table.Item{Key: MenuItemKey(t, businessID, m.ID), Version: 1, Doc: m}
	}}

// in returns the menu item with the currency, an ISO 4217 code, of its price.
func (m MenuItem) in(currency string) MenuItem {
	m.Currency = currency
	return m
}

// prepare gives a new menu item an ID, unless it has one, and normalizes it. currency is
// the tenant's. Errors: a 400 with every fault.
func (m *MenuItem) prepare(by audit.By, currency string) error {
	if m.ID == "" {
		m.ID = ids.New(ids.MenuItem, by.At)
	}
	return m.normalize(currency)
}

// normalize checks the fields and puts them into the form in which they are stored: the
// price rounded to the currency's decimals, Available set. Errors: a 400 with every fault.
func (m *MenuItem) normalize(currency string) error {
	m.Name, m.Currency = strings.TrimSpace(m.Name), currency
	var wrong fault.Faults
	wrong.Unless(ids.Valid(ids.MenuItem, m.ID), "id", "expected the id of a menu item")
	wrong.Unless(plaintext.IsLine(m.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(m.Section == nil || plaintext.IsLine(*m.Section, 100), "section", "expected %s", plaintext.Rule(100))
	wrong.Unless(m.Description == nil || plaintext.IsText(*m.Description, 1000), "description",
		"expected at most 1,000 characters, and no control characters but line breaks and tabs")
	price, err := money.Accept(m.Price, currency)
	wrong.Unless(err == nil, "price", "%v", err)
	m.Price = money.Of(price)
	if m.Available == nil {
		yes := true
		m.Available = &yes
	}
	return wrong.Err()
}

// Menu reads the menu of a business, oldest item first.
//
// Access pattern: T#t#BUSINESS#b, MENU#…, strongly consistent.
func Menu(ctx context.Context, t table.Tenant, businessID string) ([]MenuItem, error) {
	return MenuKind.List(ctx, t.Handle, BusinessKey(t, businessID).PK, table.Query{Prefix: menuPrefix,
		Limit: mostOnMenu, Consistent: true, Fill: true})
}

// AddMenuItem adds an item to the menu of a business. It generates the ID if it is
// empty. Errors: fault.NotFound if there is no such business, a 409 if its menu is
// full.
func AddMenuItem(
	ctx context.Context, t table.Tenant, by audit.By, businessID string, m MenuItem,
) (MenuItem, error) {
	if !ids.Valid(ids.Business, businessID) {
		return MenuItem{}, fault.NotFound()
	}
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return MenuItem{}, err
	}
	if err := m.prepare(by, flags.Text("currency")); err != nil {
		return MenuItem{}, err
	}
	have, err := Menu(ctx, t, businessID)
	if err == nil {
		err = roomOnMenu(have)
	}
	if err != nil {
		return MenuItem{}, err
	}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		addToMenu(tx, t, by, businessID, m)
		return tx.Commit(ctx)
	})
	if err != nil {
		return MenuItem{}, fmt.Errorf("add menu item: %w", err)
	}
	return m, nil
}

// roomOnMenu returns a 409 if the menu has no room for another item.
func roomOnMenu(menu []MenuItem) error {
	if len(menu) >= mostOnMenu {
		return fault.InvalidState("A menu has at most %d items. Change one of them.", mostOnMenu)
	}
	return nil
}

// addToMenu adds the write of a new menu item and its audit entry to the transaction. The
// transaction fails with fault.NotFound if there is no such business.
func addToMenu(tx *table.Tx, t table.Tenant, by audit.By, businessID string, m MenuItem) {
	tx.Check(BusinessKey(t, businessID)).If("attribute_exists(pk)").Else(fault.NotFound())
	audit.Add(tx, t, by, "menu.add", businessID, MenuKind.Item(t, businessID, m), m)
}

// SetMenuItem changes an item of a menu with edit, adds an audit entry and returns the new
// item. It returns fault.NotFound if there is no such item.
func SetMenuItem(
	ctx context.Context, t table.Tenant, by audit.By, businessID, id string, edit func(*MenuItem) error,
) (MenuItem, error) {
	if !ids.Valid(ids.Business, businessID) || !ids.Valid(ids.MenuItem, id) {
		return MenuItem{}, fault.NotFound()
	}
	flags, err := tenant.Flags(ctx, t)
	if err != nil {
		return MenuItem{}, err
	}
	return menuChange(t, by, businessID, id, flags.Text("currency"), edit).Run(ctx)
}

// menuChange returns the change that applies edit to an item of a business's menu. Its Run
// makes the change. currency is the tenant's.
func menuChange(
	t table.Tenant, by audit.By, businessID, id, currency string, edit func(*MenuItem) error,
) audit.Change[MenuItem] {
	return audit.Change[MenuItem]{Tenant: t, By: by, What: "menu.set", Subject: businessID,
		Key: MenuItemKey(t, businessID, id), Kind: &MenuKind, In: businessID, Edit: edit,
		FromItem: func(it table.Item) (MenuItem, error) {
			m, err := MenuKind.FromItem(it)
			return m.in(currency), err
		},
		Check: func(was MenuItem, now *MenuItem) error {
			now.ID = was.ID
			return now.normalize(currency)
		}}
}

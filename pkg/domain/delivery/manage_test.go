package delivery_test

import (
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

// An operator adds a business with a menu. Prices stay exact. A change is of the
// given members only, and of the version that If-Match names.
func TestManageBusinessAndMenu(t *testing.T) {
	w := build(t, 2)
	var b delivery.ManagedBusiness
	w.Want(http.StatusCreated, &b, "POST", "/api/v1/businesses", w.token,
		`{"name":" Grill ","category":"restaurant","address":"5 Battery Place","lat":40.70,"lng":-74,"deliveryFee":2.50}`)
	if b.Name != "Grill" || b.DeliveryFee != "2.5" || !b.Active {
		t.Errorf("created %+v", b)
	}
	path := "/api/v1/businesses/" + b.ID
	var m delivery.MenuItem
	w.Want(http.StatusCreated, &m, "POST", path+"/menu", w.token, `{"name":"Soup","price":7.10,"section":"Soups"}`)
	if m.Price != "7.1" || m.Currency != "USD" || !*m.Available {
		t.Errorf("created %+v", m)
	}
	one := path + "/menu/" + m.ID
	m = delivery.MenuItem{}
	w.Want(http.StatusOK, &m, "PATCH", one, w.token, `{"available":false,"section":null}`)
	if m.Price != "7.1" || *m.Available || m.Section != nil {
		t.Errorf("changed %+v", m)
	}
	w.Want(http.StatusOK, &b, "PATCH", path, w.token, `{"active":false}`)
	w.Want(http.StatusOK, &b, "GET", path, w.token, "")
	if b.Active || b.DeliveryFee != "2.5" {
		t.Errorf("changed %+v", b)
	}
	if a := w.Do("GET", "/api/v1/businesses?limit=200", w.token, ""); strings.Contains(a.Body, "deliveryFee") {
		t.Errorf("the specified list has another shape: %s", a.Body)
	}
	for body, field := range map[string]string{`{"price":7.005}`: "body.price", `{"price":-1}`: "body.price",
		`{"name":"\u0007"}`: "body.name"} {
		if a := w.Do("PATCH", one, w.token, body); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, field) {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
}

// Another company's business, and what does not exist, are the same 404.
func TestForeignBusiness(t *testing.T) {
	w := build(t, 1)
	m, err := delivery.AddMenuItem(t.Context(), w.tn, by(0), w.biz[0],
		delivery.MenuItem{MenuItemEdit: delivery.MenuItemEdit{Name: "Tea", Price: "3"}})
	if err != nil {
		t.Fatal(err)
	}
	other := w.Tenant("EUR", 1)
	stranger := w.Token(other, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	none := ids.New(ids.Business, apitest.Start)
	for _, c := range []struct{ method, rest, body string }{{"GET", "", ""}, {"PATCH", "", `{"active":false}`},
		{"GET", "/menu", ""}, {"POST", "/menu", `{"name":"Tea","price":3}`}, {"PATCH", "/menu/" + m.ID, `{"price":1}`}} {
		there := w.Do(c.method, "/api/v1/businesses/"+w.biz[0]+c.rest, stranger, c.body)
		absent := w.Do(c.method, "/api/v1/businesses/"+none+c.rest, stranger, c.body)
		if there.Status != http.StatusNotFound || there.Body != absent.Body {
			t.Errorf("%s %s: %d %s, absent %s", c.method, c.rest, there.Status, there.Body, absent.Body)
		}
	}
	if a := w.Do("PATCH", "/api/v1/businesses/x/menu/"+m.ID, w.token, `{"price":1}`); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A change of a business, of its menu or of an order takes two round trips, however
// long the menu is. A full menu takes no other item.
func TestRoundTrips(t *testing.T) {
	w := build(t, 1)
	soup, _ := w.menu(t)
	var items []table.Item
	for range 497 {
		m := delivery.MenuItem{ID: ids.New(ids.MenuItem, apitest.Start), MenuItemEdit: soup.MenuItemEdit}
		items = append(items, table.Item{Key: delivery.MenuItemKey(w.tn, w.biz[0], m.ID), Type: "menuitem", Version: 1,
			Doc: m})
	}
	testkit.Must(t, w.tn.Load(t.Context(), items...))
	w.wire.Rounds(true)
	rider, path := w.Token(w.tn, authz.Rider, w.riders[0]), "/api/v1/businesses/"+w.biz[0]
	const item, business = `{"name":"Tea","price":3}`, `{"name":"B","category":"c","address":"a","lat":1,"lng":2}`
	for _, c := range []struct {
		method, path, token, body string
		status                    int
	}{
		{"POST", "/api/v1/businesses", w.token, business, 201},
		{"PATCH", path, w.token, `{"name":"C"}`, 200},
		{"GET", path + "/menu", w.token, "", 200},
		{"POST", path + "/menu", w.token, item, 201},
		{"POST", path + "/menu", w.token, item, 409},
		{"POST", "/api/v1/businesses/" + w.biz[1] + "/menu", w.token, item, 201},
		{"POST", "/api/v1/businesses/x/menu", w.token, item, 404},
		{"PATCH", path + "/menu/" + soup.ID, w.token, `{"price":4}`, 200},
		{"POST", "/api/v1/me/orders", rider, w.body(w.biz[0], soup.ID, 1, ""), 201},
		{"PATCH", "/api/v1/orders/" + w.orders[0].ID, w.token, `{"driverId":null}`, 200},
	} {
		a := w.Insist(c.method, c.path, c.token, c.body, "Idempotency-Key", "k"+ids.New(ids.Order, apitest.Start))
		if u := w.Last().Usage; a.Status != c.status || u.Sequential > 2 {
			t.Errorf("%s %s: %d in %d round trips: %s", c.method, c.path, a.Status, u.Sequential, a.Body)
		}
	}
}

package delivery_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/domain/delivery"
	"svc/pkg/domain/driver"
)

// menu has a business with a fee of 1.99, soup for 7.1, and tea for 0.35, which is
// not available.
func (w *world) menu(t *testing.T) (soup, tea delivery.MenuItem) {
	t.Helper()
	if _, err := delivery.SetBusiness(t.Context(), w.tn, by(0), w.biz[0], func(b *delivery.Business) error {
		b.DeliveryFee = "1.99"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	no := false
	for m, edit := range map[*delivery.MenuItem]delivery.MenuItemEdit{&soup: {Name: "Soup", Price: "7.1"},
		&tea: {Name: "Tea", Price: "0.35", Available: &no}} {
		var err error
		*m, err = delivery.AddMenuItem(t.Context(), w.tn, by(0), w.biz[0], delivery.MenuItem{MenuItemEdit: edit})
		if err != nil {
			t.Fatal(err)
		}
	}
	return soup, tea
}

func (w *world) body(business, item string, quantity int, more string) string {
	return fmt.Sprintf(`{"businessId":%q,"items":[{"menuItemId":%q,"quantity":%d}],"deliveryAddress":"1 Street"%s}`,
		business, item, quantity, more)
}

func TestPlaceOrder(t *testing.T) {
	w := build(t, 2)
	soup, tea := w.menu(t)
	rider := w.Token(w.tn, authz.Rider, w.riders[0])
	var listed struct{ Items []delivery.Business }
	w.Want(http.StatusOK, &listed, "GET", "/api/v1/me/businesses", rider, "")
	if len(listed.Items) != 3 {
		t.Errorf("businesses %+v", listed)
	}
	var menu struct{ Items []delivery.MenuItem }
	w.Want(http.StatusOK, &menu, "GET", "/api/v1/me/businesses/"+w.biz[0]+"/menu", rider, "")
	if len(menu.Items) != 1 || menu.Items[0].ID != soup.ID || menu.Items[0].Currency != "USD" {
		t.Errorf("menu %+v", menu)
	}
	var o delivery.Order
	w.Want(http.StatusCreated, &o, "POST", "/api/v1/me/orders", rider,
		w.body(w.biz[0], soup.ID, 3, `,"expectedTotal":23.290`))
	if o.Total != "23.29" || o.Subtotal != "21.3" || o.Status != "PENDING" || o.CustomerID != w.riders[0] {
		t.Errorf("placed %+v", o)
	}
	if got := w.read(t, "/api/v1/orders?limit=50&customerId="+w.riders[0]); !slices.Contains(got, o.ID) {
		t.Error("the operator's list is without the order")
	}
	other := delivery.MenuItem{MenuItemEdit: delivery.MenuItemEdit{Name: "Pie", Price: "5"}}
	other, err := delivery.AddMenuItem(t.Context(), w.tn, by(0), w.biz[1], other)
	if err != nil {
		t.Fatal(err)
	}
	closed := w.business(t, "Closed")
	if _, err := delivery.SetBusiness(t.Context(), w.tn, by(0), closed.ID,
		func(b *delivery.Business) error { b.Active = false; return nil }); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"another total":        {w.body(w.biz[0], soup.ID, 3, `,"expectedTotal":23.28`), 409},
		"not available":        {w.body(w.biz[0], tea.ID, 1, ""), 409},
		"closed":               {w.body(closed.ID, soup.ID, 1, ""), 409},
		"another's item":       {w.body(w.biz[0], other.ID, 1, ""), 400},
		"no item":              {w.body(w.biz[0], "itm_1", 1, ""), 400},
		"no business":          {w.body("biz_1", soup.ID, 1, ""), 400},
		"unknown business":     {w.body(ids.New(ids.Business, apitest.Start), soup.ID, 1, ""), 400},
		"a price":              {w.body(w.biz[0], soup.ID, 1, `,"total":0`), 400},
		"a quantity too large": {w.body(w.biz[0], soup.ID, 1001, ""), 400},
	} {
		if a := w.Do("POST", "/api/v1/me/orders", rider, c.body); a.Status != c.status {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := w.Do("GET", "/api/v1/me/businesses/"+closed.ID+"/menu", rider, ""); a.Status != http.StatusNotFound {
		t.Errorf("a closed business: %d", a.Status)
	}
}

// Orders of somebody else and of another company are the 404 of an absent one.
func TestForeignOrder(t *testing.T) {
	w := build(t, 1)
	w.menu(t)
	rider := w.Token(w.tn, authz.Rider, w.riders[0])
	stranger := w.Token(w.Tenant("EUR", 1), authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	theirs := w.orders[slices.IndexFunc(w.orders, func(o delivery.Order) bool { return o.CustomerID != w.riders[0] })]
	none := ids.New(ids.Order, apitest.Start)
	for _, c := range []struct{ method, path, rest, token, body string }{
		{"GET", "/api/v1/me/orders/", "", rider, ""}, {"POST", "/api/v1/me/orders/", "/cancel", rider, ""},
		{"GET", "/api/v1/orders/", "", stranger, ""}, {"PATCH", "/api/v1/orders/", "", stranger, `{"status":"CANCELLED"}`}} {
		there, absent := w.Do(c.method, c.path+theirs.ID+c.rest, c.token, c.body),
			w.Do(c.method, c.path+none+c.rest, c.token, c.body)
		if there.Status != http.StatusNotFound || there.Body != absent.Body {
			t.Errorf("%s %s: %d %s", c.method, c.path, there.Status, there.Body)
		}
	}
}

// For each pair of statuses, two operators change an order at once, and its rider
// cancels it. Each change that succeeded is one step of the state machine, in the
// order of the audit log.
func TestOrderRaces(t *testing.T) {
	w := build(t, 1)
	soup, _ := w.menu(t)
	rider := w.Token(w.tn, authz.Rider, w.riders[0])
	second := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	for _, a := range delivery.Statuses[1:] {
		for _, b := range delivery.Statuses[1:] {
			var o delivery.Order
			w.Want(http.StatusCreated, &o, "POST", "/api/v1/me/orders", rider, w.body(w.biz[0], soup.ID, 1, ""))
			calls := []struct{ method, path, token, body string }{
				{"PATCH", "/api/v1/orders/" + o.ID, w.token, `{"status":"` + a + `"}`},
				{"PATCH", "/api/v1/orders/" + o.ID, second, `{"status":"` + b + `"}`},
				{"POST", "/api/v1/me/orders/" + o.ID + "/cancel", rider, ""}}
			var wait sync.WaitGroup
			status := make([]int, len(calls))
			for i, c := range calls {
				wait.Go(func() { status[i] = w.Do(c.method, c.path, c.token, c.body).Status })
			}
			wait.Wait()
			for i, s := range status {
				if s != http.StatusOK && s != http.StatusConflict {
					t.Errorf("%s, %s: call %d is %d", a, b, i, s)
				}
			}
			w.follows(t, o, status)
		}
	}
}

// follows compares the order with its log: every entry is a legal step from the one
// before, and a rider cancels only what is pending.
func (w *world) follows(t *testing.T, o delivery.Order, status []int) {
	t.Helper()
	log, _, err := audit.List(t.Context(), w.tn, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	steps, at := map[string]string{}, "PENDING"
	for _, e := range log {
		if e.Subject != o.ID || e.What != "order.set" {
			continue
		}
		from, to := word(string(e.Before)), word(string(e.After))
		if _, twice := steps[from]; twice {
			t.Errorf("two changes from %s", from)
		}
		if steps[from] = to; e.Who == w.riders[0] && from != "PENDING" {
			t.Errorf("the rider cancelled what was %s", from)
		}
	}
	if len(steps) == 0 {
		t.Errorf("nobody changed the order: %v", status)
	}
	for range steps {
		next := steps[at]
		if slices.Index(delivery.Statuses, next) <= slices.Index(delivery.Statuses, at) {
			t.Errorf("%s became %q: %v", at, next, steps)
		}
		at = next
	}
	var now delivery.Order
	if w.Want(http.StatusOK, &now, "GET", "/api/v1/orders/"+o.ID, w.token, ""); now.Status != at {
		t.Errorf("the order is %s, its log says %s", now.Status, at)
	}
}

func word(doc string) string {
	_, rest, _ := strings.Cut(doc, `"status":"`)
	status, _, _ := strings.Cut(rest, `"`)
	return status
}

// An order's driver is one of the company who is not disabled, and changes until
// the order is over.
func TestOrderDriver(t *testing.T) {
	w := build(t, 1)
	soup, _ := w.menu(t)
	rider := w.Token(w.tn, authz.Rider, w.riders[0])
	var o delivery.Order
	w.Want(http.StatusCreated, &o, "POST", "/api/v1/me/orders", rider, w.body(w.biz[0], soup.ID, 1, ""))
	path := "/api/v1/orders/" + o.ID
	var drivers []string
	for _, off := range []bool{false, true} {
		r := driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, apitest.Start), Status: "OFFLINE"}, Disabled: off}
		if err := w.tn.Load(t.Context(), driver.Item(w.tn, r, 1)); err != nil {
			t.Fatal(err)
		}
		drivers = append(drivers, r.ID)
	}
	for _, c := range []struct {
		body   string
		status int
	}{{`{"driverId":"` + drivers[1] + `"}`, 400}, {`{"driverId":"drv_1"}`, 400}, {`{"driverId":"` + drivers[0] + `"}`, 200},
		{`{"driverId":null}`, 200}, {`{"status":"DELIVERED","driverId":"` + drivers[0] + `"}`, 200}, {`{"driverId":null}`, 409},
		{`{"status":"CANCELLED"}`, 409}, {`{"status":null}`, 400}, {`{"total":1}`, 400}} {
		if a := w.Do("PATCH", path, w.token, c.body); a.Status != c.status {
			t.Errorf("%s: %d %s", c.body, a.Status, a.Body)
		}
	}
}

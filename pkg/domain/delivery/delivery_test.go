package delivery_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/delivery"
)

func by(after time.Duration) audit.By {
	return audit.By{Who: "svc:test", At: apitest.Start.Add(after)}
}

type world struct {
	*apitest.Stand
	tn     table.Tenant
	token  string
	biz    []string
	riders []string
	orders []delivery.Order // newest first
	wire   *testkit.Wire
}

func build(t *testing.T, shards int) *world {
	t.Helper()
	wire := &testkit.Wire{}
	s := apitest.New(t, testkit.TableOnWire(t, wire), delivery.Rows()...)
	w := &world{Stand: s, tn: s.Tenant("USD", shards), wire: wire}
	w.token = s.Token(w.tn, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	for _, name := range []string{"Noodles", "apples", "Corner Deli"} {
		w.biz = append(w.biz, w.business(t, name).ID)
	}
	for range 2 {
		r := customer.Record{Customer: customer.Customer{ID: ids.New(ids.Customer, apitest.Start), Name: "R",
			CreatedAt: "2026-01-01T00:00:00.000Z"}}
		if err := w.tn.Load(t.Context(), customer.Item(w.tn, r, 1)); err != nil {
			t.Fatal(err)
		}
		w.riders = append(w.riders, r.ID)
	}
	for i := range 12 {
		w.orders = append([]delivery.Order{w.order(t, i)}, w.orders...)
	}
	return w
}

func (w *world) business(t *testing.T, name string) delivery.Business {
	t.Helper()
	b, err := delivery.AddBusiness(t.Context(), w.tn, by(0), delivery.Business{Name: name, Category: "restaurant",
		Address: "1 Street", Lat: "1.50", Lng: "-0", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (w *world) order(t *testing.T, i int) delivery.Order {
	t.Helper()
	o, err := delivery.AddOrder(t.Context(), w.tn, by(time.Duration(i)*time.Minute),
		delivery.Order{BusinessID: w.biz[i%3], CustomerID: w.riders[i%2],
			Status: delivery.Statuses[i%4], Currency: "USD", DeliveryAddress: "12 Harbour Street", DeliveryFee: "1.50",
			Items: []delivery.Line{{Name: "Ramen", Quantity: 2, UnitPrice: "12.25"},
				{Name: "Tea", Quantity: 1, UnitPrice: "3"}}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// read follows the pages of a list.
func (w *world) read(t *testing.T, path string) (got []string) {
	t.Helper()
	for cursor := ""; ; {
		var p struct {
			Items      []struct{ ID string }
			NextCursor *string `json:"next_cursor"`
		}
		w.Want(http.StatusOK, &p, "GET", path+cursor, w.token, "")
		for _, item := range p.Items {
			got = append(got, item.ID)
		}
		if p.NextCursor == nil {
			return got
		}
		cursor = "&cursor=" + *p.NextCursor
	}
}

func TestOrderFilters(t *testing.T) {
	for _, shards := range []int{1, 3} {
		w := build(t, shards)
		tests := []struct {
			query string
			keep  func(delivery.Order) bool
		}{
			{"", func(delivery.Order) bool { return true }},
			{"&status=READY", func(o delivery.Order) bool { return o.Status == "READY" }},
			{"&status=DELIVERED", func(delivery.Order) bool { return false }},
			{"&businessId=" + w.biz[1], func(o delivery.Order) bool { return o.BusinessID == w.biz[1] }},
			{"&customerId=" + w.riders[0], func(o delivery.Order) bool { return o.CustomerID == w.riders[0] }},
			{"&customerId=" + w.riders[1] + "&businessId=" + w.biz[0],
				func(o delivery.Order) bool { return o.CustomerID == w.riders[1] && o.BusinessID == w.biz[0] }},
			{"&status=PENDING&businessId=" + w.biz[0], func(o delivery.Order) bool {
				return o.Status == "PENDING" &&
					o.BusinessID == w.biz[0]
			}},
			{"&status=ACCEPTED&customerId=" + w.riders[1] + "&businessId=" + w.biz[1], func(o delivery.Order) bool {
				return o.Status == "ACCEPTED" && o.CustomerID == w.riders[1] && o.BusinessID == w.biz[1]
			}},
			{"&customerId=nobody", func(delivery.Order) bool { return false }},
			{"&businessId=" + w.biz[0] + "%23x", func(delivery.Order) bool { return false }},
		}
		for _, tc := range tests {
			var want []string
			for _, o := range w.orders {
				if tc.keep(o) {
					want = append(want, o.ID)
				}
			}
			if diff := cmp.Diff(want, w.read(t, "/api/v1/orders?limit=2"+tc.query)); diff != "" {
				t.Errorf("%d shards, %q: %s", shards, tc.query, diff)
			}
		}
	}
}

func TestOrderShape(t *testing.T) {
	w := build(t, 1)
	o := w.orders[0]
	want := `{"items":[{"id":"` + o.ID + `","orderCode":"` + o.OrderCode + `","status":"READY","businessId":"` +
		o.BusinessID + `","customerId":"` + o.CustomerID +
		`","driverId":null,"items":[{"name":"Ramen","quantity":2,"unitPrice":12.25},{"name":"Tea","quantity":1,` +
		`"unitPrice":3}],"subtotal":27.5,"deliveryFee":1.5,"total":29,` +
		`"currency":"USD","deliveryAddress":"12 Harbour Street","createdAt":"2026-03-01T12:11:00.000Z",` +
		`"updatedAt":"2026-03-01T12:11:00.000Z"}],"next_cursor":`
	if a := w.Want(http.StatusOK, nil, "GET", "/api/v1/orders?limit=1", w.token, ""); !strings.HasPrefix(a.Body, want) {
		t.Error(cmp.Diff(want, a.Body))
	}
	for _, query := range []string{"status=ready", "status=SEARCHING", "limit=0", "limit=201", "cursor=x", "driverId=x",
		"businessId=" + strings.Repeat("x", 101)} {
		if a := w.Do("GET", "/api/v1/orders?"+query, w.token, ""); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}

func TestMyOrders(t *testing.T) {
	w := build(t, 2)
	token := w.Token(w.tn, authz.Rider, w.riders[0])
	var got struct{ Items []delivery.Order }
	w.Want(http.StatusOK, &got, "GET", "/api/v1/me/orders", token, "")
	want := slices.DeleteFunc(slices.Clone(w.orders), func(o delivery.Order) bool { return o.CustomerID != w.riders[0] })
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Error(diff)
	}
	w.Want(http.StatusOK, &got, "GET", "/api/v1/me/orders?limit=2", token, "")
	if len(got.Items) != 2 || got.Items[0].ID != want[0].ID {
		t.Errorf("limit: %+v", got)
	}
	for i := range 40 {
		w.order(t, 100+2*i)
	}
	w.Want(http.StatusOK, &got, "GET", "/api/v1/me/orders", token, "")
	if len(got.Items) != 30 {
		t.Errorf("%d orders without a limit", len(got.Items))
	}
	for _, query := range []string{"limit=0", "limit=201", "cursor=x", "status=READY"} {
		if a := w.Do("GET", "/api/v1/me/orders?"+query, token, ""); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.Status)
		}
	}
}

func TestBusinesses(t *testing.T) {
	w := build(t, 2)
	byName := []string{w.biz[1], w.biz[2], w.biz[0]}
	if diff := cmp.Diff(byName, w.read(t, "/api/v1/businesses?limit=2")); diff != "" {
		t.Error(diff)
	}
	a := w.Want(http.StatusOK, nil, "GET", "/api/v1/businesses?limit=1", w.token, "")
	want := `{"items":[{"id":"` + w.biz[1] +
		`","name":"apples","category":"restaurant","address":"1 Street","lat":1.5,"lng":0,"phone":null,"logoUrl":null,` +
		`"active":true}],"next_cursor":"`
	if !strings.HasPrefix(a.Body, want) {
		t.Error(cmp.Diff(want, a.Body))
	}
	set := func(change func(*delivery.Business)) {
		t.Helper()
		if _, err := delivery.SetBusiness(t.Context(), w.tn, by(0), w.biz[1],
			func(b *delivery.Business) error { change(b); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	set(func(b *delivery.Business) { b.Name = "Zucchini" })
	if diff := cmp.Diff([]string{w.biz[2], w.biz[0], w.biz[1]}, w.read(t, "/api/v1/businesses?limit=2")); diff != "" {
		t.Errorf("renamed: %s", diff)
	}
	set(func(b *delivery.Business) { b.Active = false })
	if diff := cmp.Diff([]string{w.biz[2], w.biz[0]}, w.read(t, "/api/v1/businesses?limit=2")); diff != "" {
		t.Errorf("not active: %s", diff)
	}
	if every, _, err := delivery.Businesses(t.Context(), w.tn, "", 10); err != nil || len(every) != 3 {
		t.Errorf("%d in all, %v", len(every), err)
	}
}

// With the feature off, an operator gets the feature error only after the
// permission check. No list contains items of a different tenant.
func TestFeatureAndTenant(t *testing.T) {
	w := build(t, 1)
	other := w.Tenant("EUR", 1)
	stranger := w.Token(other, authz.Dashboard, ids.New(ids.Person, apitest.Start), authz.Permissions()...)
	for _, path := range []string{"/api/v1/orders", "/api/v1/businesses", "/api/v1/orders?customerId=" + w.riders[0],
		"/api/v1/orders?businessId=" + w.biz[0]} {
		if a := w.Want(http.StatusOK, nil, "GET", path, stranger, ""); a.Body != `{"items":[],"next_cursor":null}` {
			t.Errorf("%s of another tenant: %s", path, a.Body)
		}
	}
	none := w.Token(w.tn, authz.Dashboard, ids.New(ids.Person, apitest.Start))
	w.Flags(w.tn, map[string]any{"taxiEnabled": true, "deliveryEnabled": false})
	for path, token := range map[string]string{"/api/v1/orders": w.token, "/api/v1/businesses": w.token,
		"/api/v1/me/orders": w.Token(w.tn, authz.Rider, w.riders[0])} {
		if a := w.Want(http.StatusForbidden, nil, "GET", path, token, ""); a.Code() != "feature_disabled" ||
			!strings.Contains(a.Body, `"feature":"deliveryEnabled"`) {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	if a := w.Do("GET", "/api/v1/orders", none, ""); a.Code() != "forbidden" {
		t.Errorf("without the permission: %s", a.Body)
	}
}

func TestOrderRules(t *testing.T) {
	w := build(t, 1)
	good := delivery.Order{BusinessID: w.biz[0], CustomerID: w.riders[0], Currency: "USD", DeliveryAddress: "1 Street",
		Items: []delivery.Line{{Name: "Tea", Quantity: 1, UnitPrice: "3"}}}
	nobody := ids.New(ids.Driver, apitest.Start)
	for name, change := range map[string]func(*delivery.Order){
		"business": func(o *delivery.Order) { o.BusinessID = ids.New(ids.Business, apitest.Start) },
		"rider":    func(o *delivery.Order) { o.CustomerID = ids.New(ids.Customer, apitest.Start) },
		"driver":   func(o *delivery.Order) { o.DriverID = &nobody }, "status": func(o *delivery.Order) { o.Status = "LOST" },
		"address":  func(o *delivery.Order) { o.DeliveryAddress = "" },
		"no lines": func(o *delivery.Order) { o.Items = nil },
		"quantity": func(o *delivery.Order) { o.Items = []delivery.Line{{Name: "Tea", UnitPrice: "3"}} },
		"price": func(o *delivery.Order) {
			o.Items = []delivery.Line{{Name: "Tea", Quantity: 1, UnitPrice: money.Amount("3.005")}}
		}, "fee": func(o *delivery.Order) { o.DeliveryFee = "-1" },
	} {
		o := good
		change(&o)
		if _, err := delivery.AddOrder(context.Background(), w.tn, by(0), o); err == nil {
			t.Errorf("accepted a wrong %s", name)
		}
	}
	asked := good
	asked.Items = []delivery.Line{{Name: " Tea ", Quantity: 1, UnitPrice: "3.00"}}
	o, err := delivery.AddOrder(t.Context(), w.tn, by(0), asked)
	if err != nil || o.Status != "PENDING" || !slices.Equal(o.Items, good.Items) {
		t.Fatal(o, err)
	}
	if asked.Items[0] != (delivery.Line{Name: " Tea ", Quantity: 1, UnitPrice: "3.00"}) {
		t.Errorf("the caller's line became %+v", asked.Items[0])
	}
	for i, step := range []struct {
		status string
		ok     bool
	}{{"ACCEPTED", true}, {"PENDING", false}, {"PICKED_UP", true}, {"CANCELLED", false}, {"DELIVERED", true},
		{"READY", false}, {"LOST", false}} {
		_, err := delivery.SetOrder(t.Context(), w.tn, by(time.Duration(i)*time.Second), o.ID, step.status, nil)
		if (err == nil) != step.ok || (err != nil && !errors.Is(err, fault.InvalidState(""))) {
			t.Errorf("to %s: %v", step.status, err)
		}
	}
	if got, _, err := delivery.Orders(t.Context(), w.tn, "DELIVERED", "", 10); err != nil || len(got) != 1 ||
		got[0].UpdatedAt != "2026-03-01T12:00:04.000Z" {
		t.Errorf("%+v, %v", got, err)
	}
}

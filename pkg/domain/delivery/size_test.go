package delivery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

// A page of the largest orders fits into the function's response, and the
// cursor continues after the last order shown.
func TestLargestOrders(t *testing.T) {
	testkit.LongHere(t)
	const shards = 10
	w := build(t, shards)
	lines := slices.Repeat([]delivery.Line{{Name: strings.Repeat("\U0001f695", 50) + strings.Repeat(`"`, 50),
		Quantity: 1000, UnitPrice: "1.25"}}, 100)
	var items []table.Item
	var want []string // newest first
	for i := range 200 {
		at := apitest.Start.Add(time.Duration(i) * time.Hour)
		o := delivery.Order{ID: ids.New(ids.Order, at), OrderCode: fmt.Sprint("C", i), Status: "CANCELLED",
			BusinessID: w.biz[0], CustomerID: w.riders[0], Items: lines, Subtotal: "1", DeliveryFee: "1", Total: "2",
			Currency: "USD", DeliveryAddress: "1 Street", CreatedAt: timestamp.Format(at), UpdatedAt: timestamp.Format(at)}
		items = append(items, delivery.OrderKind.Sharded(w.tn, o, o.ID, shards))
		want = append([]string{o.ID}, want...)
	}
	if err := w.tn.Load(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	for path, token := range map[string]string{"/api/v1/me/orders?limit=200": w.Token(w.tn, authz.Rider, w.riders[0]),
		"/api/v1/orders?limit=200": w.token} {
		var got struct{ Items []delivery.Order }
		a := w.Want(http.StatusOK, &got, "GET", path, token, "")
		answer, err := json.Marshal(map[string]string{"body": a.Body})
		if err != nil {
			t.Fatal(err)
		}
		if len(answer) > 6_000_000 || len(answer) < 4_500_000 || got.Items[0].ID != want[0] {
			t.Errorf("%s: %d orders in an answer of %d bytes", path, len(got.Items), len(answer))
		}
	}
	if diff := cmp.Diff(want, w.read(t, "/api/v1/orders?limit=200&status=CANCELLED")); diff != "" {
		t.Error(diff)
	}
}

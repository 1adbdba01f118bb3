package delivery_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/domain/delivery"
)

// An order reads back with every field that was written.
func TestEveryFieldIsRead(t *testing.T) {
	db := testkit.Table(t)
	tn, driver := db.Tenant("ten_01JT7M4C6Q8V2N5X9B3D1F7H0K"), "drv \"1\""
	full := delivery.Order{ID: "ord_1", OrderCode: "R1", Status: "DELIVERED", BusinessID: "biz_1", CustomerID: "cus_1",
		DriverID: &driver,
		Items: []delivery.Line{{Name: "Pastel de nata, \"warm\"", Quantity: 2, UnitPrice: "1.9"},
			{Name: "Ramen", Quantity: 1, UnitPrice: "16.75"}},
		Subtotal: "20.55", DeliveryFee: "2.99", Total: "23.54", Currency: "USD", DeliveryAddress: "12 Harbour Street",
		CreatedAt: "2026-03-01T12:00:00.000Z", UpdatedAt: "2026-03-01T12:40:00.000Z"}
	bare := full
	bare.ID, bare.DriverID, bare.Items = "ord_2", nil, []delivery.Line{{Name: "Ramen", Quantity: 1, UnitPrice: "16.75"}}
	for _, want := range []delivery.Order{full, bare} {
		if err := tn.Load(t.Context(), delivery.OrderKind.Sharded(tn, want, want.ID, 1)); err != nil {
			t.Fatal(err)
		}
		it, err := tn.Get(t.Context(), delivery.OrderKey(tn, want.ID))
		if err != nil {
			t.Fatal(err)
		}
		got, err := delivery.OrderKind.FromItem(it)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

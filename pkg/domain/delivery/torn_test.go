package delivery_test

import (
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/delivery"
)

// TestOrdersOfTornReads: a batch read may find an order as it was before a change. The
// second change is then decided by the order as it is in the table, whoever makes it.
func TestOrdersOfTornReads(t *testing.T) {
	w := build(t, 1)
	soup, _ := w.menu(t)
	rider := w.Token(w.tn, authz.Rider, w.riders[0])
	const order, cancel = "/api/v1/orders/%", "/api/v1/me/orders/%/cancel"
	for name, tt := range map[string]struct {
		before, method, path, token, body string
		status                            int
		want                              string
	}{
		"cancelled, accepted":   {"ACCEPTED", "POST", cancel, rider, "", 409, "ACCEPTED"},
		"cancelled twice":       {"CANCELLED", "POST", cancel, rider, "", 409, "CANCELLED"},
		"accepted, cancelled":   {"CANCELLED", "PATCH", order, w.token, `{"status":"ACCEPTED"}`, 409, "CANCELLED"},
		"prepared, picked up":   {"PICKED_UP", "PATCH", order, w.token, `{"status":"PREPARING"}`, 409, "PICKED_UP"},
		"ready, accepted":       {"ACCEPTED", "PATCH", order, w.token, `{"status":"READY"}`, 200, "READY"},
		"its driver, delivered": {"DELIVERED", "PATCH", order, w.token, `{"driverId":null}`, 200, "DELIVERED"},
	} {
		var o, now delivery.Order
		w.Want(http.StatusCreated, &o, "POST", "/api/v1/me/orders", rider, w.body(w.biz[0], soup.ID, 1, ""))
		older := w.wire.Older(func() {
			_, err := w.tn.Batch(t.Context(), delivery.OrderKey(w.tn, o.ID))
			testkit.Must(t, err)
		})
		w.Want(http.StatusOK, nil, "PATCH", "/api/v1/orders/"+o.ID, w.token, `{"status":"`+tt.before+`"}`)
		older.Serve(delivery.OrderKey(w.tn, o.ID))
		a := w.Insist(tt.method, strings.Replace(tt.path, "%", o.ID, 1), tt.token, tt.body)
		if !older.Served() {
			t.Errorf("%s: the order was not read in a batch", name)
		}
		w.Want(http.StatusOK, &now, "GET", "/api/v1/orders/"+o.ID, w.token, "")
		if a.Status != tt.status || now.Status != tt.want {
			t.Errorf("%s: %d %s, and the order is %s", name, a.Status, a.Body, now.Status)
		}
	}
}

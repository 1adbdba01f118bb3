package projection_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/projection"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// badItems are items whose data makes their counting fail. mend corrects an item.
var badItems = map[string]func(w *world) (bad table.Key, mend func()){
	"a trip without its document": func(w *world) (table.Key, func()) {
		w.newTrip()
		id, _ := pick(w, w.trips)
		key := trip.Key(w.tenant, id)
		w.put(table.Item{Key: key, Type: "trip", Attrs: map[string]any{"status": "PENDING"}})
		return key, func() { w.put(w.trips[id].Item(w.tenant, w.shards)) }
	},
	"a customer's document that is no object": func(w *world) (table.Key, func()) {
		for len(w.customers) == 0 {
			w.changeCustomer()
		}
		id, _ := pick(w, w.customers)
		key := authz.ActorKey(w.tenant, authz.Rider, id)
		w.put(table.Item{Key: key, Type: "customer", Doc: "odd"})
		return key, func() { w.put(customer.Item(w.tenant, w.customers[id], w.shards)) }
	},
	"a wallet whose count is no object": func(w *world) (table.Key, func()) {
		for len(w.wallets) == 0 {
			w.moveWallet()
		}
		id, _ := pick(w, w.wallets)
		good := w.wallets[id]
		key := wallet.Key(w.tenant, good.Side, good.Actor)
		w.put(table.Item{Key: projection.CountedKey(key), Type: "counted", Doc: "odd"})
		w.put(good.Item(w.tenant, w.shards))
		return key, func() { w.remove(projection.CountedKey(key)) }
	},
}

// One item that cannot be counted delays none of the 100 around it: its records
// become a dead letter once, and a replay after the mending counts it once.
func TestBadDataDelaysNobody(t *testing.T) {
	testkit.Long(t)
	for name, damage := range badItems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, streamtest.Table(t), 5, 1)
			w.keeps = true
			w.change(50)
			key, mend := damage(w)
			for range 50 {
				w.newTrip()
			}

			var given []events.DynamoDBEventRecord
			f := w.function()
			handle := f.With(func(_ context.Context, records []events.DynamoDBEventRecord, cause error) error {
				if !errors.Is(cause, table.ErrData) {
					t.Errorf("given up for %v", cause)
				}
				given = append(given, records...)
				return nil
			})
			all := streamtest.Records(t, w.name)
			streamtest.Deliver(t, handle, all, 1, nil)
			for _, r := range given {
				if k, _ := stream.KeyOf(r); k != key {
					t.Errorf("the record of %v was given up", k)
				}
			}
			if len(given) == 0 {
				t.Fatal("nothing was given up")
			}

			mend()
			for range 2 {
				if err := f.Redo(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			w.recount()
			given = nil
			streamtest.Deliver(t, handle, streamtest.Records(t, w.name), 1, nil)
			if len(given) != 0 {
				t.Errorf("%d records were given up after the mending", len(given))
			}
			w.recount()
		})
	}
}

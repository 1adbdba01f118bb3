package settlement_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

// items returns what the verbs read of the road, by name.
func (r *road) items() map[string]table.Key {
	out := map[string]table.Key{"trip": trip.Key(r.tenant, r.trip), "receipt": receipt.Key(r.tenant, r.trip)}
	for i, id := range r.drivers {
		out[fmt.Sprint("driver ", i)] = driver.Key(r.tenant, id)
		out[fmt.Sprint("offer ", i)] = dispatch.OfferKey(r.tenant, id)
		out[fmt.Sprint("wallet ", i)] = wallet.Key(r.tenant, wallet.Driver, id)
	}
	return out
}

// tear runs one verb to its end. Then the other verb reads one item in its old state. The
// result must be that of the verbs one after the other, or a refusal that changes
// nothing. It reports whether the verb reads the item in a batch.
func (k *rules) tear(r *road, wire *testkit.Wire, place, item string, a, b verb) bool {
	first := k.of(r, place, place, a)
	last := k.of(r, place, first.state, b, a)
	r.doing = fmt.Sprintf("%s: %s, then %s that finds the %s as before", place, a.name, b.name, item)
	r.begin(place)
	keys := r.items()
	older := wire.Older(func() {
		_, err := r.tenant.Batch(r.t.Context(), slices.Collect(maps.Values(keys))...)
		testkit.Must(r.t, err)
	})
	a.do(r)
	_, before := r.state()
	older.Serve(keys[item])
	status := b.do(r)
	served := older.Served()
	got, entries := r.state()
	refused := status == 404 || status == 409
	if (status != last.status || got != last.state) && (!refused || got != first.state) {
		r.t.Errorf("%s: %d %s, want %d %s", r.doing, status, got, last.status, last.state)
	}
	if refused && entries != before && !strings.HasPrefix(got, "gone") {
		r.t.Errorf("%s: refused with %d, and the log has %d entries instead of %d", r.doing, status, entries, before)
	}
	r.end()
	return served
}

// TestTornReadsOfEveryPair: a batch read is no snapshot, so a verb may find one item as it
// was before another verb and the next one as it is after.
func TestTornReadsOfEveryPair(t *testing.T) {
	testkit.LongHere(t)
	wire := &testkit.Wire{}
	s := apitest.New(t, testkit.TableOnWire(t, wire), slices.Concat(trip.Rows(), dispatch.Rows(), receipt.TripRows())...)
	tenant := s.Tenant("USD", 1)
	s.Flags(tenant, map[string]any{"taxiEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1,
		"driverStatus": "strict"})
	r, k := newRoad(t, s, tenant), &rules{known: map[string]after{}}
	unread, torn := map[string]bool{}, 0
	all := pairs()
	for _, n := range testkit.Sample(t, len(all)) {
		place, a, b := all[n].place, all[n].a, all[n].b
		if k.of(r, place, place, a).status != 200 {
			continue
		}
		r.begin(place)
		for item := range r.items() {
			what := b.name + "|" + item
			switch {
			case unread[what]:
			case k.tear(r, wire, place, item, a, b):
				torn++
			default:
				unread[what] = true
			}
		}
	}
	t.Logf("%d torn reads", torn)
	least := 50
	if testkit.OnDynamoDBLocal() { // a quarter of the cases
		least = 12
	}
	if torn < least {
		t.Errorf("only %d torn reads", torn)
	}
}

package table_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// TestFootprintOfChosenKeys: a caller of another tenant may choose the text of
// a key, such as an Idempotency-Key or a client_id. Such a text does not belong
// to the footprint of the tenant that it names, and does not stop the deletion
// of that tenant.
func TestFootprintOfChosenKeys(t *testing.T) {
	db := testkit.Table(t)
	gone, other := db.Tenant("ten_gone"), db.Tenant("ten_other")
	own := table.Item{Key: gone.Key("THING", "1", "THING"), Type: "thing"}
	foreign := table.Item{Key: other.Key("IDEMPOTENCY", "cus_1", "ten_gone", "IDEMPOTENCY"), Type: "idempotency"}
	testkit.Must(t, gone.Load(t.Context(), own))
	testkit.Must(t, other.Load(t.Context(), foreign))
	f := gone.Footprint()
	var found []table.Key
	for more := true; more; {
		keys, next, err := f.Next(t.Context())
		testkit.Must(t, err)
		found, more = append(found, keys...), next
	}
	if diff := cmp.Diff([]table.Key{own.Key}, found); diff != "" {
		t.Fatal(diff)
	}
	testkit.Must(t, f.Remove(t.Context(), found))
	if it, err := other.Get(t.Context(), foreign.Key); err != nil || !it.Found() {
		t.Errorf("the other tenant's item: %v", err)
	}
}

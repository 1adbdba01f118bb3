package projection_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/address"
)

// TestAddressesStayWithinTheirNumber: a new address expires the least recently used one
// of its rider, and of nobody else.
func TestAddressesStayWithinTheirNumber(t *testing.T) {
	db := testkit.Table(t)
	tn := db.Tenant(ids.New(ids.Tenant, apitest.Start))
	full, few := ids.New(ids.Customer, apitest.Start), ids.New(ids.Customer, apitest.Start)
	add := func(rider string, n int) table.Item {
		it := address.Kind.Item(tn, rider, address.Address{ID: ids.New(ids.Address, apitest.Start), Address: "A",
			Lat: json.Number(fmt.Sprintf("0.%03d1", n)), Lng: "0.1", UsageCount: 1,
			LastUsedAt: fmt.Sprintf("2026-01-01T00:00:00.%03dZ", n)})
		testkit.Must(t, tn.Load(t.Context(), it))
		return it
	}
	for n := range address.Most {
		add(full, n)
	}
	reader := projection.Addresses{DB: db, Now: func() time.Time { return apitest.Start }}
	count := func(rider string) int {
		all, err := address.List(t.Context(), tn, rider, apitest.Start)
		testkit.Must(t, err)
		return len(all)
	}
	for _, rider := range []string{full, few} {
		it := add(rider, address.Most)
		image := map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(it.PK),
			"sk": events.NewStringAttribute(it.SK), "type": events.NewStringAttribute("address"),
			"doc": events.NewStringAttribute("{}")}
		event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{EventName: "INSERT",
			Change: events.DynamoDBStreamRecord{SequenceNumber: "1", Keys: image, NewImage: image}}}}
		for range 2 { // a batch may come again
			if failed := reader.Process(t.Context(), event); len(failed) != 0 {
				t.Fatalf("%+v", failed)
			}
		}
	}
	oldest, err := tn.Get(t.Context(), address.Key(tn, full, "0.0001", "0.1"))
	testkit.Must(t, err)
	next, err := tn.Get(t.Context(), address.Key(tn, full, "0.0011", "0.1"))
	testkit.Must(t, err)
	if oldest.Live(apitest.Start) || !next.Live(apitest.Start) || count(full) != address.Most || count(few) != 1 {
		t.Errorf("%d and %d addresses; the oldest is live: %v", count(full), count(few), oldest.Live(apitest.Start))
	}
}

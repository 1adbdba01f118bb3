package counter_test

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/data/counter"
)

func TestChangesThatCancelOutWriteNothing(t *testing.T) {
	a, b := counter.Changes{}, counter.Changes{}
	a.Add(counter.Drivers, "ONLINE", decimal.NewFromInt(1))
	a.Add(counter.Customers, "count", decimal.NewFromInt(1))
	b.Add(counter.Drivers, "ONLINE", decimal.NewFromInt(1))
	a.AddAll(b, -1)
	if _, there := a[counter.Drivers]; there || len(a) != 1 {
		t.Errorf("changes left: %v", a)
	}
	tx := testkit.Table(t).Tenant("ten_1").Write()
	counter.Changes{}.Write(tx, testkit.Table(t).Tenant("ten_1"), 0)
	if tx.Len() != 0 {
		t.Errorf("%d operations for an empty change", tx.Len())
	}
}

// Sums are exact decimals, whichever shard an addition went to.
func TestReadAddsTheShardsUp(t *testing.T) {
	tenant := testkit.Table(t).Tenant("ten_1")
	for i := range 30 {
		changes := counter.Changes{}
		changes.Add(counter.DriverWallets, "balance", decimal.RequireFromString([]string{"0.1", "0.2", "-0.05"}[i%3]))
		changes.Add(counter.DriverWallets, "count", decimal.NewFromInt(1))
		tx := tenant.Write()
		changes.Write(tx, tenant, i%counter.Shards(16))
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]string{16: "30 2.5", 4: "30 2.5", 1: "10 1"} { // one shard has a third of the additions
		sums, err := counter.Read(t.Context(), tenant, n, counter.DriverWallets, counter.CustomerWallets)
		if err != nil {
			t.Fatal(err)
		}
		drivers, customers := sums[counter.DriverWallets], sums[counter.CustomerWallets]
		if got := fmt.Sprint(drivers.Int("count"), " ", drivers["balance"]); got != want || len(customers) != 0 {
			t.Errorf("%d shards: %s, want %s; %v", n, got, want, customers)
		}
	}
}

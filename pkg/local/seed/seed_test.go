package seed

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/report"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/domain/wallet"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by    = audit.By{Who: "svc:test", At: start}
)

// newTenant creates a tenant with two service types in a new table.
func newTenant(t *testing.T, db *table.DB) (tenant.Tenant, table.Tenant) {
	t.Helper()
	n, err := tenant.Store{DB: db}.Create(t.Context(), by, tenant.Tenant{Slug: "metro", Name: "Metro", TaxiEnabled: true,
		DeliveryEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	tn := db.Tenant(n.ID)
	for _, s := range []settings.Service{
		{CommissionRate: "0.2", ServiceType: settings.ServiceType{Name: "Standard", BaseFare: "3", PerKm: "1.45",
			PerMinute: "0.35", MinimumFare: "6.5", Capacity: 4, Active: true}},
		{CommissionRate: "0.225", ServiceType: settings.ServiceType{Name: "Comfort", BaseFare: "5", PerKm: "2.1",
			PerMinute: "0.5", MinimumFare: "10", Capacity: 4, Active: true}},
	} {
		if _, err := settings.AddService(t.Context(), tn, by, s); err != nil {
			t.Fatal(err)
		}
	}
	return n, tn
}

func options(trips int) Options { return Options{Trips: trips, Seed: 7, Now: start, By: by, Days: 60} }

// every reads a whole partition of by-g<index>.
func every(t *testing.T, tn table.Tenant, index int, partition string) []table.Item {
	t.Helper()
	var out []table.Item
	for after := ""; ; {
		page, err := tn.Query(t.Context(), partition, table.Query{Index: index, After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Items...)
		if after = page.Last; !page.More {
			return out
		}
	}
}

func allTrips(t *testing.T, tn table.Tenant) []trip.Trip {
	t.Helper()
	var out []trip.Trip
	for _, it := range every(t, tn, 1, tn.Partition("TRIPS", "0")) {
		tr, err := trip.FromItem(it)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	return out
}

func TestTheSumsHold(t *testing.T) {
	testkit.Long(t)
	db := testkit.Table(t)
	n, tn := newTenant(t, db)
	for run, trips := range []int{500, 60} { // the second run adds
		made, err := Run(t.Context(), db, n, options(trips))
		if err != nil || made.Resumed || made.Run != run+1 || made.Trips != trips {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	trips := allTrips(t, tn)
	if len(trips) != 560 {
		t.Errorf("%d trips", len(trips))
	}
	checkWallets(t, tn)
	checkTrips(t, tn, trips)
	swept, err := settlement.Sweep(t.Context(), tn, time.Time{}, func() time.Time { return start })
	if err != nil || len(swept.Settled) > 0 || swept.Examined == 0 {
		t.Errorf("trips without a receipt: %+v, %v", swept, err)
	}
	checkCounters(t, tn, trips)
}

// checkWallets checks that the postings of every wallet add up to its balance,
// and that its version is their number.
func checkWallets(t *testing.T, tn table.Tenant) {
	t.Helper()
	wallets, negative := 0, 0
	for _, side := range wallet.Sides {
		for _, it := range every(t, tn, 1, wallet.Partition(tn, side, 0)) {
			w, err := wallet.FromItem(it)
			if err != nil {
				t.Fatal(err)
			}
			postings := postingsOf(t, tn, side, w.Actor)
			sum := decimal.Zero
			for _, p := range postings {
				sum = sum.Add(p.Amount.Decimal())
			}
			if !sum.Equal(w.Balance) || int64(len(postings)) != w.Version || postings[len(postings)-1].CreatedAt != w.UpdatedAt {
				t.Errorf("%s %s: balance %s, %d postings of %s, version %d", side, w.Actor, w.Balance, len(postings), sum,
					w.Version)
			}
			wallets++
			if w.Balance.IsNegative() {
				negative++
			}
		}
	}
	if wallets < 10 || negative == 0 {
		t.Errorf("%d wallets, %d below zero", wallets, negative)
	}
}

// checkTrips checks the statuses of the trips, the order of their times, their
// logs, and the people's trip counts.
func checkTrips(t *testing.T, tn table.Tenant, trips []trip.Trip) {
	t.Helper()
	count, settled := map[trip.Status]int{}, map[string]int64{}
	for _, tr := range trips {
		count[tr.Status]++
		at := tr.RequestedAt
		for _, next := range []*string{tr.AcceptedAt, tr.ArrivedAt, tr.StartedAt, tr.CompletedAt} {
			if next != nil && (*next <= at || *next > "2026-03-01T12:00:00.000Z") {
				t.Errorf("%s %s: %s after %s", tr.ID, tr.Status, *next, at)
			}
			if next != nil {
				at = *next
			}
		}
		if tr.Status == trip.Completed {
			settled[*tr.DriverID]++
			settled[tr.CustomerID]++
		}
	}
	for _, status := range trip.Statuses {
		if count[status] == 0 {
			t.Errorf("no trip is %s", status)
		}
	}
	for _, tr := range trips[:5] {
		entries, err := trip.Log(t.Context(), tn, tr)
		if err != nil || int64(len(entries)) != tr.Version {
			t.Errorf("%s of version %d has %d log entries, %v", tr.ID, tr.Version, len(entries), err)
		}
	}
	for _, it := range append(every(t, tn, 1, tn.Partition("DRIVERS", "0")), every(t, tn, 1,
		tn.Partition("CUSTOMERS", "0"))...) {
		id := it.R[max(0, len(it.R)-30):]
		if it.Int("totalTrips") != settled[id] || it.Version != 1+settled[id] {
			t.Errorf("%s: %d trips, version %d; %d settled", id, it.Int("totalTrips"), it.Version, settled[id])
		}
	}
}

// checkCounters checks that after a rebuild the report and the totals equal a
// recount.
func checkCounters(t *testing.T, tn table.Tenant, trips []trip.Trip) {
	t.Helper()
	step := projection.Step{Now: func() time.Time { return start }}
	if _, err := step.Rebuild(t.Context(), tn, nil); err != nil {
		t.Fatal(err)
	}
	from, to := start.AddDate(0, 0, -31).Add(1234567*time.Millisecond), start.Add(-2*time.Hour-1*time.Millisecond)
	want := &report.Summary{TripsByStatus: map[trip.Status]int64{}}
	revenue := decimal.Zero
	for _, status := range trip.Statuses {
		want.TripsByStatus[status] = 0
	}
	within := func(text string) bool {
		at, err := time.Parse(time.RFC3339, text)
		return err == nil && !at.Before(from) && at.Before(to)
	}
	for _, tr := range trips {
		if within(tr.RequestedAt) {
			want.TripsByStatus[tr.Status]++
		}
		if tr.Status == trip.Completed && within(*tr.CompletedAt) {
			want.CompletedTrips++
			if tr.FinalFare != nil {
				revenue = revenue.Add(tr.FinalFare.Decimal())
			}
		}
	}
	got, err := report.Summarize(t.Context(), tn, from, to, 1)
	if err != nil {
		t.Fatal(err)
	}
	want.Revenue, want.Window = money.Of(revenue), got.Window
	for _, it := range every(t, tn, 1, tn.Partition("DRIVERS", "0")) {
		if it.Text("status") != driver.Offline {
			want.ActiveDrivers++
		}
	}
	want.TotalCustomers = int64(len(every(t, tn, 1, tn.Partition("CUSTOMERS", "0"))))
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sums, err := counter.Read(t.Context(), tn, 1, counter.DriverWallets, counter.CustomerWallets)
	if err != nil {
		t.Fatal(err)
	}
	for ref, side := range map[counter.Ref]wallet.Side{
		counter.DriverWallets: wallet.Driver, counter.CustomerWallets: wallet.Customer} {
		total, wallets := decimal.Zero, every(t, tn, 1, wallet.Partition(tn, side, 0))
		for _, it := range wallets {
			total = total.Add(it.Number("balance").Decimal())
		}
		if sums[ref].Int("count") != int64(len(wallets)) || !sums[ref]["balance"].Equal(total) {
			t.Errorf("%s wallets: counted %v, there are %d of %s", side, sums[ref], len(wallets), total)
		}
	}
}

// For a completed trip the seed writes the same items as settlement.
func TestAsSettlementWouldHave(t *testing.T) {
	db := testkit.Table(t)
	n, tn := newTenant(t, db)
	r := &run{plan: plan{Run: 1, Seed: 3, Trips: 80, Days: 30, Now: "2026-03-01T12:00:00.000Z", Pays: []string{"CARD",
		"CASH", "WALLET"}}, tenant: n, t: tn}
	if err := r.look(t.Context(), tn); err != nil {
		t.Fatal(err)
	}
	g, err := newGenerator(r.plan, n)
	if err != nil {
		t.Fatal(err)
	}
	var items []table.Item
	for _, a := range slices.Concat(g.drivers, g.riders) {
		if a.id[:3] == "drv" {
			items = append(items, g.driverItem(tn, a, 1))
		} else {
			items = append(items, g.riderItems(tn, a, 1)[0])
		}
	}
	receipts, postings := map[string]receipt.Receipt{}, map[string][]wallet.Posting{}
	for range 70 {
		one, err := g.next()
		if err != nil {
			t.Fatal(err)
		}
		if items = append(items, one.trip.Item(tn, 1)); one.receipt != nil {
			receipts[one.trip.ID] = *one.receipt
		}
		for _, p := range one.postings {
			p.ID = "" // any
			postings[p.actor] = append(postings[p.actor], p.Posting)
		}
	}
	if err := tn.Load(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	swept, err := settlement.Sweep(t.Context(), tn, time.Time{}, func() time.Time { return start })
	if err != nil || len(swept.Settled) != len(receipts) {
		t.Fatalf("settled %d of %d, %v", len(swept.Settled), len(receipts), err)
	}
	for id, want := range receipts {
		it, err := tn.Get(t.Context(), receipt.Key(tn, id))
		var got receipt.Receipt
		if err != nil || it.Decode(&got) != nil {
			t.Fatal(err)
		}
		got.ID, got.IssuedAt = want.ID, want.IssuedAt
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	for _, a := range slices.Concat(g.drivers, g.riders) {
		checkBooked(t, tn, a, postings[a.id])
	}
}

// checkBooked checks that the wallet and its postings equal those of the
// generator.
func checkBooked(t *testing.T, tn table.Tenant, a *actor, want []wallet.Posting) {
	t.Helper()
	side := wallet.Driver
	if a.id[:3] != "drv" {
		side = wallet.Customer
	}
	it, err := tn.Get(t.Context(), wallet.Key(tn, side, a.id))
	if err != nil || it.Found() != (a.postings > 0) {
		t.Fatalf("%s: wallet %v, %d postings, %v", a.id, it.Found(), a.postings, err)
	}
	if !it.Found() {
		return
	}
	got := postingsOf(t, tn, side, a.id)
	for i := range got {
		got[i].ID = "" // any
	}
	slices.SortFunc(want, func(a, b wallet.Posting) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w, err := wallet.FromItem(it); err != nil || w.UpdatedAt != a.moved || !w.Balance.Equal(a.balance) ||
		w.Version != a.postings || w.Name != a.name() {
		t.Errorf("%s: %+v, want %s after %d, %v", a.id, w, a.balance, a.postings, err)
	}
}

// postingsOf reads all of a wallet's postings, oldest first.
func postingsOf(t *testing.T, tn table.Tenant, side wallet.Side, actor string) []wallet.Posting {
	t.Helper()
	page, err := tn.Query(t.Context(), wallet.Key(tn, side, actor).PK, table.Query{Prefix: "POSTING#",
		Limit: table.Examined, Consistent: true, Fill: true})
	if err != nil || page.More {
		t.Fatalf("postings: more %v, %v", page.More, err)
	}
	out := make([]wallet.Posting, len(page.Items))
	for i, it := range page.Items {
		if err := it.Decode(&out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

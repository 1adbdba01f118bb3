package tenant_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func by(after time.Duration) audit.By { return audit.By{Who: "svc:test", At: start.Add(after)} }

func create(t *testing.T, s tenant.Store, n tenant.Tenant) tenant.Tenant {
	t.Helper()
	made, err := s.Create(t.Context(), by(0), n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestCreate(t *testing.T) {
	s := tenant.Store{DB: testkit.Table(t)}
	made := create(t, s, tenant.Tenant{Slug: "metro", Name: " Metro ", CustomDomain: "Ride.Metro.Example.",
		TaxiEnabled: true})
	want := tenant.Tenant{ID: made.ID, Slug: "metro", Name: "Metro", Currency: "USD", Timezone: "UTC",
		CustomDomain: "ride.metro.example",
		TaxiEnabled:  true, ReadShards: 1, WriteShards: 1, CreatedAt: "2026-03-01T12:00:00.000Z",
		MaxOpenTrips: tenant.NewOpenTrips}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	for name, find := range map[string]func(context.Context, string) (tenant.Tenant, error){"metro": s.BySlug,
		"METRO": s.BySlug, "mEtrO": s.BySlug, made.ID: s.ByID} {
		got, err := find(t.Context(), name)
		if err != nil || got != want {
			t.Errorf("by %s: %+v, %v", name, got, err)
		}
		for _, other := range []string{"", "other", "other.example", "a#b", "ten_00000000000000000000000000"} {
			if _, err := find(t.Context(), other); !errors.Is(err, fault.NotFound()) {
				t.Errorf("by %q: %v", other, err)
			}
		}
	}
	bad := map[string]tenant.Tenant{
		"slug taken":                    {Slug: "metro", Name: "M"},
		"domain taken":                  {Slug: "metro2", Name: "M", CustomDomain: "ride.metro.example"},
		"slug taken in capital letters": {Slug: "METRO", Name: "M"},
		"slug":                          {Slug: "met_ro", Name: "M"},
		"slug with edge":                {Slug: "-metro", Name: "M"},
		"no name":                       {Slug: "m"},
		"currency":                      {Slug: "m", Name: "M", Currency: "usd"},
		"currency out of use":           {Slug: "m", Name: "M", Currency: "HRK"},
		"timezone":                      {Slug: "m", Name: "M", Timezone: "Mars/Olympus"},
		"domain":                        {Slug: "m", Name: "M", CustomDomain: "https://metro.example"},
		"shards to write":               {Slug: "m", Name: "M", ReadShards: 1, WriteShards: 2},
	}
	for name, n := range bad {
		if _, err := s.Create(t.Context(), by(0), n); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("list: %v, %v", all, err)
	}
}

func TestChangeWritesFlagsDomainAndAudit(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	made := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro", CustomDomain: "old.metro.example", TaxiEnabled: true})
	changed, err := s.Change(t.Context(), made.ID, by(time.Second), func(n *tenant.Tenant) error {
		n.TaxiEnabled, n.DeliveryEnabled, n.CustomDomain, n.Disabled = false, true, "new.metro.example", true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := db.Tenant(made.ID)
	for i := range authz.Copies {
		it, err := h.Get(t.Context(), authz.FlagsKey(h, i))
		if err != nil || it.Flag(authz.Taxi) || !it.Flag(authz.Delivery) || !it.Flag("disabled") ||
			it.Text("slug") != "metro" || it.Int("readShards") != 1 {
			t.Fatalf("copy %d: %+v, %v", i, it, err)
		}
	}
	for domain, want := range map[string]error{"old.metro.example": nil, "new.metro.example": tenant.ErrDomainTaken} {
		if _, err := s.Create(t.Context(), by(0),
			tenant.Tenant{Slug: domain[:3], Name: "Other", CustomDomain: domain}); !errors.Is(err, want) {
			t.Errorf("%s for another tenant: %v", domain, err)
		}
	}
	if got, err := s.BySlug(t.Context(), "metro"); err != nil || got != changed {
		t.Errorf("%+v, %v", got, err)
	}
	entries, next, err := audit.List(t.Context(), h, "", 10)
	if err != nil || next != "" || len(entries) != 2 {
		t.Fatalf("audit: %v %q %v", entries, next, err)
	}
	if e := entries[0]; e.What != "tenant.set" || e.Who != "svc:test" || e.Subject != made.ID || e.Before == nil ||
		e.After == nil || string(e.Before) == string(e.After) {
		t.Errorf("entry: %+v", e)
	}
	if string(entries[1].Before) != "null" {
		t.Errorf("created from %s", entries[1].Before)
	}
	if _, err := s.Change(t.Context(), made.ID, by(2*time.Second), func(*tenant.Tenant) error { return nil }); err != nil {
		t.Error(err)
	}
	if entries, _, _ = audit.List(t.Context(), h, "", 10); len(entries) != 2 {
		t.Error("a change of nothing left an entry")
	}
	for name, change := range map[string]func(*tenant.Tenant){
		"slug": func(n *tenant.Tenant) { n.Slug = "other" },
		"id":   func(n *tenant.Tenant) { n.ID = ids.New(ids.Tenant, start) },
	} {
		if _, err := s.Change(t.Context(), made.ID, by(0),
			func(n *tenant.Tenant) error { change(n); return nil }); err == nil {
			t.Errorf("%s may change", name)
		}
	}
}

func TestShards(t *testing.T) {
	steps := []struct {
		name        string
		after       time.Duration
		read, write int
		ok          bool
	}{
		{"both at once", time.Second, 4, 4, false},
		{"reads first", time.Second, 4, 1, true},
		{"writes too early", 30 * time.Second, 4, 4, false},
		{"writes after a minute", 62 * time.Second, 4, 4, true},
		{"reads fall", 3 * time.Minute, 2, 2, false},
		{"writes fall", 3 * time.Minute, 4, 1, false},
		{"too many", 3 * time.Minute, 1000, 4, false},
	}
	s := tenant.Store{DB: testkit.Table(t)}
	made := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro"})
	for _, step := range steps {
		_, err := s.Change(t.Context(), made.ID, by(step.after), func(n *tenant.Tenant) error {
			n.ReadShards, n.WriteShards = step.read, step.write
			return nil
		})
		if (err == nil) != step.ok {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

// If many tenants request one slug concurrently, one gets it. Concurrent
// changes all take effect.
func TestRaces(t *testing.T) {
	s := tenant.Store{DB: testkit.Table(t)}
	won := make(chan tenant.Tenant, 20)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			made, err := s.Create(context.Background(), by(0), tenant.Tenant{Slug: "metro", Name: "Metro"})
			deadline := time.Now().Add(testkit.Patience)
			for errors.Is(err, fault.Unavailable(nil)) && time.Now().Before(deadline) {
				made, err = s.Create(context.Background(), by(0), tenant.Tenant{Slug: "metro", Name: "Metro"})
			}
			switch {
			case err == nil:
				won <- made
			case !errors.Is(err, tenant.ErrSlugTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d tenants got the slug", len(won))
	}
	made := <-won
	changes := []func(*tenant.Tenant){func(n *tenant.Tenant) { n.TaxiEnabled = true },
		func(n *tenant.Tenant) { n.DeliveryEnabled = true },
		func(n *tenant.Tenant) { n.Name = "Metro Rides" }, func(n *tenant.Tenant) { n.Currency = "EUR" }}
	for _, change := range changes {
		wg.Go(func() {
			if _, err := s.Change(context.Background(), made.ID, by(0),
				func(n *tenant.Tenant) error { change(n); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := s.ByID(t.Context(), made.ID)
	want := made
	want.TaxiEnabled, want.DeliveryEnabled, want.Name, want.Currency = true, true, "Metro Rides", "EUR"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// The limit of open trips is among the flags, which every request reads. A tenant
// from before this limit has the largest one.
func TestMaxOpenTrips(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	n := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro"})
	for _, tc := range []struct {
		set, want int
		ok        bool
	}{{20, 20, true}, {200, 200, true}, {201, 200, false}, {-2, 200, false}, {1, 1, true},
		{tenant.NoOpenTripsLimit, 0, true}, {0, tenant.MostOpenTrips, true}} {
		_, err := s.Change(t.Context(), n.ID, by(time.Minute), func(n *tenant.Tenant) error {
			n.MaxOpenTrips = tc.set
			return nil
		})
		it, readErr := db.Tenant(n.ID).Get(t.Context(), authz.FlagsKey(db.Tenant(n.ID), authz.Copies-1))
		if (err == nil) != tc.ok || readErr != nil || tenant.OpenTrips(it) != tc.want {
			t.Errorf("%d: %v, the flags have %d, %v", tc.set, err, tenant.OpenTrips(it), readErr)
		}
	}
	if got := tenant.OpenTrips(table.Item{}); got != tenant.MostOpenTrips {
		t.Errorf("flags from before the limit: %d", got)
	}
}

// The largest fare is among the flags, which every request reads.
func TestMaxFare(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	n := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro"})
	for _, tc := range []struct {
		set  money.Amount
		want string
		ok   bool
	}{{"250.50", "250.5", true}, {"-1", "250.5", false}, {"0", "250.5", false}, {"1.999", "250.5", false},
		{"x", "250.5", false}, {"", "", true}} {
		_, err := s.Change(t.Context(), n.ID, by(time.Minute), func(n *tenant.Tenant) error {
			n.MaxFare = tc.set
			return nil
		})
		if (err == nil) != tc.ok {
			t.Errorf("%q: %v", tc.set, err)
		}
		for _, copied := range []int{0, authz.Copies - 1} {
			it, err := db.Tenant(n.ID).Get(t.Context(), authz.FlagsKey(db.Tenant(n.ID), copied))
			if err != nil || it.Text("maxFare") != tc.want {
				t.Errorf("%q: the flags have %q, %v", tc.set, it.Text("maxFare"), err)
			}
		}
	}
}

// A tenant keeps its currency when the currency goes out of use. It can change
// everything else, and cannot return to the currency.
func TestCurrencyOutOfUse(t *testing.T) {
	db := testkit.Table(t)
	s := tenant.Store{DB: db}
	n := create(t, s, tenant.Tenant{Slug: "Zagreb", Name: "Zagreb", Currency: "EUR"})
	h := db.Tenant(n.ID)
	it, err := h.Get(t.Context(), tenant.Key(h))
	if err != nil || n.Slug != "zagreb" {
		t.Fatal(n.Slug, err)
	}
	n.Currency = "HRK"
	it.Doc = n
	tx := h.Write()
	tx.Put(it)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, currency string
		ok             bool
	}{{"Taxi Zagreb", "HRK", true}, {"Taxi", "BGN", false}, {"Taxi", "EUR", true}, {"Taxi", "HRK", false}} {
		_, err := s.Change(t.Context(), n.ID, by(time.Minute), func(n *tenant.Tenant) error {
			n.Name, n.Currency = step.name, step.currency
			return nil
		})
		if (err == nil) != step.ok {
			t.Errorf("%s %s: %v", step.name, step.currency, err)
		}
	}
}

// TestRetain: a setting outside of its bounds is refused, and the error names them.
func TestRetain(t *testing.T) {
	var r tenant.Retention
	for _, text := range []string{"addresses=7", "positions=1", "logs=3650", "audit=90"} {
		if err := r.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if want := (tenant.Retention{Addresses: 7, Positions: 1, Logs: 3650, Audit: 90}); r != want {
		t.Errorf("the setting is %+v", r)
	}
	for text, want := range map[string]string{"addresses=6": "7 to 3650 days, or keep", "audit=89": "90 to 3650",
		"logs=3651": "7 to 3650", "positions=0": "1 to 3650", "audit=": "90 to 3650", "audit=ten": "90 to 3650",
		"audit": "90 to 3650", "receipts=30": "the kinds are addresses, positions, logs, audit", "": "KIND=DAYS"} {
		if err := r.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	testkit.Must(t, r.Set("audit=keep"))
	if r.Audit != 0 {
		t.Errorf("the setting is %+v", r)
	}
	s := tenant.Store{DB: testkit.Table(t)}
	made := create(t, s, tenant.Tenant{Slug: "metro", Name: "Metro"})
	_, err := s.Change(t.Context(), made.ID, by(time.Minute), func(n *tenant.Tenant) error {
		n.Retain.Audit = 89
		return nil
	})
	if f := fault.Of(err); len(f.Details) != 1 || f.Details[0].Field != "retain.audit" {
		t.Errorf("a change beside svc: %v", err)
	}
}

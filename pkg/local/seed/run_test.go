package seed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
)

// The next run finishes a run that was interrupted at any point. The result
// equals that of an undisturbed run.
func TestInterrupted(t *testing.T) {
	contents := func(tn table.Tenant) map[string]string {
		out := map[string]string{}
		for i := 1; i <= 4; i++ {
			for _, part := range [][]string{{"TRIPS"}, {"DRIVERS"}, {"CUSTOMERS"}, {"WALLETS", "driver"}, {"WALLETS",
				"customer"}, {"ORDERS"}} {
				for _, it := range every(t, tn, i, tn.Partition(append(part, "0")...)) {
					out[it.PK+it.SK] = it.R + it.Raw() + strconv.FormatInt(it.Version, 10)
				}
			}
		}
		return out
	}
	wire := &testkit.Wire{}
	db := testkit.TableOnWire(t, wire)
	n, tn := newTenant(t, db)
	if _, err := Run(t.Context(), db, n, options(40)); err != nil {
		t.Fatal(err)
	}
	want := contents(tn)
	points := []int{6, 9, 15, 30}
	for _, i := range testkit.Sample(t, len(points)) {
		after := points[i]
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel() // a broken wire waits between attempts
			wire := &testkit.Wire{}
			db := testkit.TableOnWire(t, wire)
			if err := db.Tenant(n.ID).Load(t.Context(), serviceItems(t, n, tn)...); err != nil {
				t.Fatal(err)
			}
			wire.BreakAfter(after)
			if _, err := Run(t.Context(), db, n, options(40)); err == nil {
				t.Fatalf("%d requests were enough", after)
			}
			wire.Restore()
			if _, err := Run(t.Context(), db, n, options(40)); !errors.Is(err, ErrAtWork) {
				t.Errorf("a run that may still be active is continued by another: %v", err)
			}
			later := options(41)
			later.By.At = start.Add(time.Hour)
			if made, err := Run(t.Context(), db, n, later); err != nil || !made.Resumed || made.Trips != 40 {
				t.Errorf("after %d requests: %+v, %v", after, made, err)
			}
			if diff := cmp.Diff(want, contents(db.Tenant(n.ID))); diff != "" {
				t.Errorf("after %d requests: %s", after, diff)
			}
		})
	}
}

// serviceItems returns the tenant's items that a run reads.
func serviceItems(t *testing.T, n tenant.Tenant, tn table.Tenant) []table.Item {
	t.Helper()
	services, err := settings.Services(t.Context(), tn)
	if err != nil {
		t.Fatal(err)
	}
	out := []table.Item{{Key: authz.FlagsKey(tn, 0), Type: "flags", Attrs: map[string]any{"currency": n.Currency}}}
	for _, s := range services {
		out = append(out, settings.ServiceKind.Item(tn, "", s))
	}
	return out
}

// A run that is cancelled through ctx records that the next run need not wait.
func TestStopped(t *testing.T) {
	db := testkit.Table(t)
	n, _ := newTenant(t, db)
	ctx, stop := context.WithCancel(t.Context())
	o := options(900)
	o.Note = func(stage string, done, total int) {
		if stage == "trips" && done < total {
			stop()
		}
	}
	if _, err := Run(ctx, db, n, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	stages := map[string]bool{}
	o.Note = func(stage string, _, _ int) { stages[stage] = true }
	if made, err := Run(t.Context(), db, n, o); err != nil || !made.Resumed {
		t.Errorf("%+v, %v", made, err)
	}
	if stages["drivers"] || stages["riders"] || !stages["trips"] || !stages["sign-ins"] {
		t.Errorf("stages of the second run: %v", slices.Sorted(maps.Keys(stages)))
	}
}

// Every created person can be found by mail address and by name.
func TestPeople(t *testing.T) {
	db := testkit.Table(t)
	n, tn := newTenant(t, db)
	if _, err := Run(t.Context(), db, n, options(30)); err != nil {
		t.Fatal(err)
	}
	if d, err := driver.Store.Find(t.Context(), tn, "driver.1.3@metro.example"); err != nil || d.VehiclePlate == nil {
		t.Errorf("%+v, %v", d, err)
	}
	c, err := customer.Store.Find(t.Context(), tn, "rider.1.20@metro.example")
	if err != nil || c.Name == "" || c.CreatedAt > "2026-03-01T12" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Run(t.Context(), db, n, Options{By: by, Now: start}); !errors.Is(err, ErrTrips) {
		t.Errorf("no trips: %v", err)
	}
}

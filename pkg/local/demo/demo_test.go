package demo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
	"svc/pkg/local/demo"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestEverybodyCanSignIn(t *testing.T) {
	testkit.Long(t)
	db := testkit.Table(t)
	loaded, err := demo.Load(t.Context(), db, start)
	if err != nil || !loaded {
		t.Fatal(loaded, err)
	}
	count := map[authz.Audience]int{}
	for _, p := range demo.People() {
		count[p.Audience]++
		kind := map[authz.Audience]string{authz.Dashboard: ids.Person, authz.Driver: ids.Driver,
			authz.Rider: ids.Customer}[p.Audience]
		if !ids.Valid(kind, p.ID) {
			t.Errorf("%s is no identifier", p.ID)
		}
		var l login.Login
		var err error
		if p.Audience == authz.Dashboard {
			l, err = person.Store{DB: db}.Login(t.Context(), p.Email)
		} else {
			found, err2 := tenant.Store{DB: db}.BySlug(t.Context(), p.Tenant)
			if err2 != nil {
				t.Fatal(err2)
			}
			l, err = login.Find(t.Context(), db.Tenant(found.ID), p.Audience, p.Email)
		}
		if err != nil || l.Actor != p.ID || !password.Verify(l.Hash, demo.Password) {
			t.Errorf("%s: %+v, %v", p.Email, l, err)
		}
	}
	if count[authz.Dashboard] != 4 || count[authz.Driver] != 7 || count[authz.Rider] != 7 {
		t.Errorf("people: %v", count)
	}
	var both []string
	memberships, err := person.Store{DB: db}.Memberships(t.Context(), demo.People()[len(demo.People())-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range memberships {
		both = append(both, m.TenantID)
		if !slices.Equal(m.Permissions, authz.Permissions()) {
			t.Errorf("permissions: %v", m.Permissions)
		}
	}
	if len(both) != 2 {
		t.Errorf("both@svc.example has %v", both)
	}
}

// The second load changes nothing; later changes stay.
func TestLoadedOnce(t *testing.T) {
	db := testkit.Table(t)
	if _, err := demo.Load(t.Context(), db, start); err != nil {
		t.Fatal(err)
	}
	metro, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	if err != nil {
		t.Fatal(err)
	}
	by := audit.By{Who: "svc:test", At: start}
	if _, err := (tenant.Store{DB: db}).Change(t.Context(), metro.ID, by,
		func(n *tenant.Tenant) error { n.TaxiEnabled = false; return nil }); err != nil {
		t.Fatal(err)
	}
	if loaded, err := demo.Load(t.Context(), db, start.Add(time.Hour)); loaded || err != nil {
		t.Fatal(loaded, err)
	}
	if metro, err = (tenant.Store{DB: db}).BySlug(t.Context(), "metro"); err != nil || metro.TaxiEnabled {
		t.Error("the change is gone", err)
	}
	if entries, _, err := audit.List(t.Context(), db.Tenant(metro.ID), "", 1000); err != nil || len(entries) < 20 {
		t.Errorf("%d audit entries, %v", len(entries), err)
	}
	for _, p := range demo.People() {
		if p.Tenant != "metro" {
			continue
		}
		switch p.Audience {
		case authz.Driver:
			if _, err := driver.Store.ByID(t.Context(), db.Tenant(metro.ID), p.ID); err != nil {
				t.Error(err)
			}
		case authz.Rider:
			if _, err := customer.Store.ByID(t.Context(), db.Tenant(metro.ID), p.ID); err != nil {
				t.Error(err)
			}
		}
	}
}

// No driver has two trips at once, and a driver on a trip is not offline.
func TestDriversAreWhereTheirTripsAre(t *testing.T) {
	db := testkit.Table(t)
	if _, err := demo.Load(t.Context(), db, start); err != nil {
		t.Fatal(err)
	}
	all, err := tenant.Store{DB: db}.List(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, n := range all {
		if n.Sandbox { // its trips are those of its robots
			continue
		}
		tn, open := db.Tenant(n.ID), map[string]trip.Status{}
		for _, status := range []trip.Status{trip.Assigned, trip.DriverArrived, trip.InProgress} {
			page, err := tn.Query(t.Context(), tn.Partition("STATUS", string(status), "0"), table.Query{Index: 2, Limit: 100})
			if err != nil || len(page.Items) == 0 {
				t.Fatalf("%s: no trip is %s, %v", n.Slug, status, err)
			}
			for _, it := range page.Items {
				one, err := trip.FromItem(it)
				if err != nil {
					t.Fatal(err)
				}
				if other, busy := open[*one.DriverID]; busy {
					t.Errorf("%s: %s has a trip that is %s and one that is %s", n.Slug, *one.DriverID, other, status)
				}
				open[*one.DriverID] = status
				if d, err := driver.Store.ByID(t.Context(), tn, *one.DriverID); err != nil || d.Status == driver.Offline {
					t.Errorf("%s: the driver of a trip that is %s: %+v, %v", n.Slug, status, d.Status, err)
				}
			}
		}
	}
}

// The next load completes a load that was interrupted at any point.
func TestBrokenLoad(t *testing.T) {
	testkit.Long(t)
	points := []int{3, 17, 60, 120}
	for _, n := range testkit.Sample(t, len(points)) {
		after := points[n]
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel() // a broken wire waits between attempts
			wire := &testkit.Wire{}
			db := testkit.TableOnWire(t, wire)
			wire.BreakAfter(after)
			if _, err := demo.Load(t.Context(), db, start); err == nil {
				t.Fatalf("%d requests were enough", after)
			}
			wire.Restore()
			if loaded, err := demo.Load(t.Context(), db, start); err != nil || !loaded {
				t.Errorf("the second load: %v, %v", loaded, err)
			}
		})
	}
}

// A load leaves a foreign tenant with a demo tenant's slug unchanged.
func TestNameTaken(t *testing.T) {
	db := testkit.Table(t)
	if _, err := (tenant.Store{DB: db}).Create(t.Context(), audit.By{Who: "svc:test", At: start},
		tenant.Tenant{Slug: "harbor", Name: "Mine"}); err != nil {
		t.Fatal(err)
	}
	if loaded, err := demo.Load(t.Context(), db, start); loaded || err != nil {
		t.Error(loaded, err)
	}
	all, err := tenant.Store{DB: db}.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("tenants: %v, %v", all, err)
	}
}

package person_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by    = audit.By{Who: "svc:test", At: start}
)

func whats(t *testing.T, tn table.Tenant) (out []string) {
	t.Helper()
	entries, _, err := audit.List(t.Context(), tn, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.What)
	}
	slices.Sort(out)
	return out
}

// grantAndRevoke grants a permission and then revokes all permissions of the
// member.
func grantAndRevoke(t *testing.T, s person.Store, metro table.Tenant, id string) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.Grant(ctx, metro, by, id, "FLY"); err == nil {
		t.Error("granted a permission that does not exist")
	}
	if _, err := s.Grant(ctx, metro, by, id, "VIEW_REPORTS"); err != nil {
		t.Fatal(err)
	}
	m, err := s.Revoke(ctx, metro, by, id, "VIEW_TRIPS")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"VIEW_DRIVERS", "VIEW_REPORTS"}, m.Permissions); diff != "" {
		t.Error(diff)
	}
	it, err := metro.Get(ctx, authz.ActorKey(metro, authz.Dashboard, id))
	if err != nil || slices.Contains(it.Strings("permissions"), "VIEW_TRIPS") {
		t.Errorf("what the checks read: %v %v", it.Strings("permissions"), err)
	}
	for _, p := range m.Permissions {
		if m, err = s.Revoke(ctx, metro, by, id, p); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.Permissions) != 0 {
		t.Errorf("left: %v", m.Permissions)
	}
}

func TestMemberships(t *testing.T) {
	db := testkit.Table(t)
	s, ctx := person.Store{DB: db}, t.Context()
	metro, harbor := db.Tenant(ids.New(ids.Tenant, start)), db.Tenant(ids.New(ids.Tenant, start))
	both, err := s.Create(ctx, by, person.Person{Email: "Both@svc.example", FirstName: "Bo", LastName: "Th"}, "hash")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, by, person.Person{Email: " both@SVC.example "}, ""); !errors.Is(err, person.ErrTaken) {
		t.Errorf("the address again: %v", err)
	}
	if l, err := s.Login(ctx, "BOTH@svc.example"); err != nil || l.Actor != both.ID || l.Hash != "hash" || l.Disabled {
		t.Errorf("login: %+v, %v", l, err)
	}
	for _, tn := range []table.Tenant{metro, harbor} {
		if _, err := s.Join(ctx, tn, by, both.ID, "owner", []string{"VIEW_TRIPS", "VIEW_DRIVERS", "VIEW_TRIPS"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Join(ctx, metro, by, both.ID, "owner", nil); !errors.Is(err, person.ErrMember) {
		t.Errorf("a second membership: %v", err)
	}
	grantAndRevoke(t, s, metro, both.ID)
	all, err := s.Memberships(ctx, both.ID)
	if err != nil || len(all) != 2 || all[0].TenantID != metro.ID() || len(all[1].Permissions) != 2 {
		t.Errorf("memberships: %+v, %v", all, err)
	}
	if members, next, err := s.Members(ctx, metro, "", 10); err != nil || next != "" || len(members) != 1 {
		t.Errorf("members: %+v, %v", members, err)
	}
	if err := s.Leave(ctx, metro, by, both.ID); err != nil {
		t.Fatal(err)
	}
	if all, err = s.Memberships(ctx, both.ID); err != nil || len(all) != 1 || all[0].TenantID != harbor.ID() {
		t.Errorf("after leaving: %+v, %v", all, err)
	}
	if err := s.Leave(ctx, metro, by, both.ID); !errors.Is(err, fault.NotFound()) {
		t.Errorf("leaving twice: %v", err)
	}
	want := []string{"member.add", "member.grant", "member.remove", "member.revoke", "member.revoke", "member.revoke"}
	if diff := cmp.Diff(want, whats(t, metro)); diff != "" {
		t.Error(diff)
	}
}

func TestDisable(t *testing.T) {
	db := testkit.Table(t)
	s, ctx := person.Store{DB: db}, t.Context()
	metro, harbor := db.Tenant(ids.New(ids.Tenant, start)), db.Tenant(ids.New(ids.Tenant, start))
	p, err := s.Create(ctx, by, person.Person{Email: "both@svc.example"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tn := range []table.Tenant{metro, harbor} {
		if _, err := s.Join(ctx, tn, by, p.ID, "owner", nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(step string, want ...bool) {
		t.Helper()
		l, err := s.Login(ctx, p.Email)
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Memberships(ctx, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := []bool{l.Disabled, all[0].Disabled, all[1].Disabled}; !slices.Equal(got, want) {
			t.Errorf("%s: login, metro, harbor disabled: %v, want %v", step, got, want)
		}
	}
	if _, err := s.Disable(ctx, metro, by, p.ID, true); err != nil {
		t.Fatal(err)
	}
	check("in one tenant", false, true, false)
	if err := s.DisableEverywhere(ctx, by, p.ID, true); err != nil {
		t.Fatal(err)
	}
	check("everywhere", true, true, true)
	if _, err := s.Disable(ctx, metro, by, p.ID, false); err == nil {
		t.Error("enabled in one tenant what is disabled everywhere")
	}
	if err := s.DisableEverywhere(ctx, by, p.ID, false); err != nil {
		t.Fatal(err)
	}
	check("enabled everywhere", false, true, false) // the membership that the tenant disabled stays disabled
	if _, err := s.Disable(ctx, metro, by, p.ID, false); err != nil {
		t.Fatal(err)
	}
	check("enabled", false, false, false)
	if p, err = s.ByID(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	tx := db.Platform("EMAIL").Write()
	s.SetPassword(tx, by, p, "", "new")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Login(ctx, p.Email); err != nil || l.Hash != "new" || l.Since != "2026-03-01T12:00:00.000Z" {
		t.Errorf("password: %+v, %v", l, err)
	}
}

// SetPassword works with the maximum number of memberships and invalidates the
// tokens of each.
func TestSetPasswordOfMostMemberships(t *testing.T) {
	db := testkit.Table(t)
	s, ctx := person.Store{DB: db}, context.Background()
	p, err := s.Create(ctx, by, person.Person{Email: "m@svc.example"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for range person.MaxTenants {
		if _, err := s.Join(ctx, db.Tenant(ids.New(ids.Tenant, start)), by, p.ID, "owner", nil); err != nil {
			t.Fatal(err)
		}
	}
	if p, err = s.ByID(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	later := audit.By{Who: "test", At: start.Add(time.Hour)}
	tx := db.Platform("EMAIL").Write()
	s.SetPassword(tx, later, p, "", "new")
	if err := tx.Commit(ctx); err != nil {
		t.Fatalf("%d operations: %v", tx.Len(), err)
	}
	for _, id := range p.Tenants {
		in := db.Tenant(id)
		if _, err := s.Grant(ctx, in, later, p.ID, "VIEW_TRIPS"); err != nil { // a later change keeps since
			t.Fatal(err)
		}
		it, err := in.Get(ctx, authz.ActorKey(in, authz.Dashboard, p.ID))
		if err != nil || it.Text("since") != timestamp.Format(later.At) {
			t.Errorf("%s: since %q, %v", id, it.Text("since"), err)
		}
	}
}

// A person who is disabled everywhere is disabled in every tenant, even in one
// that enables the membership at the same time.
func TestDisableRace(t *testing.T) {
	db := testkit.Table(t)
	s, ctx := person.Store{DB: db}, context.Background()
	metro := db.Tenant(ids.New(ids.Tenant, start))
	p, err := s.Create(ctx, by, person.Person{Email: "r@svc.example"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Join(ctx, metro, by, p.ID, "owner", nil); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := s.Disable(ctx, metro, by, p.ID, true); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = s.Disable(ctx, metro, by, p.ID, false) }) // may be rejected
		wg.Go(func() {
			if err := s.DisableEverywhere(ctx, by, p.ID, true); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if m, err := s.Memberships(ctx, p.ID); err != nil || len(m) != 1 || !m[0].Disabled {
			t.Fatalf("a membership of a disabled person is in force: %+v, %v", m, err)
		}
		if err := s.DisableEverywhere(ctx, by, p.ID, false); err != nil {
			t.Fatal(err)
		}
	}
}

// Concurrent grants and revocations all take effect.
func TestGrantRace(t *testing.T) {
	db := testkit.Table(t)
	s := person.Store{DB: db}
	metro := db.Tenant(ids.New(ids.Tenant, start))
	p, err := s.Create(t.Context(), by, person.Person{Email: "o@svc.example"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Join(t.Context(), metro, by, p.ID, "owner", []string{"VIEW_TRIPS", "VIEW_DRIVERS"}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, change := range []func() (person.Membership, error){
		func() (person.Membership, error) {
			return s.Grant(context.Background(), metro, by, p.ID, "VIEW_REPORTS")
		},
		func() (person.Membership, error) {
			return s.Grant(context.Background(), metro, by, p.ID, "VIEW_WALLETS")
		},
		func() (person.Membership, error) {
			return s.Revoke(context.Background(), metro, by, p.ID, "VIEW_TRIPS")
		},
		func() (person.Membership, error) {
			return s.Revoke(context.Background(), metro, by, p.ID, "VIEW_DRIVERS")
		},
	} {
		wg.Go(func() {
			if _, err := change(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	m, err := s.Memberships(t.Context(), p.ID)
	testkit.Must(t, err)
	if diff := cmp.Diff([]string{"VIEW_REPORTS", "VIEW_WALLETS"}, m[0].Permissions); diff != "" {
		t.Error(diff, err)
	}
}

// A change of a person or a membership keeps what a newer build has stored.
func TestNewerBuildsDataSurvives(t *testing.T) {
	db, ctx := testkit.Table(t), t.Context()
	s := person.Store{DB: db}
	metro, platform := db.Tenant(ids.New(ids.Tenant, start)), db.Platform(person.Kinds...)
	p, err := s.Create(ctx, by, person.Person{Email: "o@svc.example"}, "")
	testkit.Must(t, err)
	_, err = s.Join(ctx, metro, by, p.ID, "owner", []string{"VIEW_TRIPS"})
	testkit.Must(t, err)
	type stored struct {
		table.Handle
		key table.Key
	}
	both := []stored{{platform.Handle, person.Key(platform, p.ID)},
		{metro.Handle, authz.ActorKey(metro, authz.Dashboard, p.ID)}}
	for _, at := range both {
		it, err := at.Get(ctx, at.key)
		testkit.Must(t, err)
		tx := at.Write()
		tx.Update(at.key, table.Change{Set: map[string]any{"newer": "attribute", "v": 7,
			"doc": strings.TrimSuffix(it.Raw(), "}") + `,"newer":{"a":1}}`}})
		testkit.Must(t, tx.Commit(ctx))
	}
	_, err = s.Disable(ctx, metro, by, p.ID, true)
	testkit.Must(t, err)
	_, err = s.Grant(ctx, metro, by, p.ID, "VIEW_REPORTS")
	testkit.Must(t, err)
	testkit.Must(t, s.DisableEverywhere(ctx, by, p.ID, true))
	for _, at := range both {
		it, err := at.Get(ctx, at.key)
		testkit.Must(t, err)
		if it.Text("newer") != "attribute" || it.Layout != 7 || !strings.Contains(it.Raw(), `"newer":{"a":1}`) ||
			!it.Flag("disabled") {
			t.Errorf("%s: layout %d, %s", at.key.PK, it.Layout, it.Raw())
		}
	}
}

package tenant_test

import (
	"fmt"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// TestListOmitsDeleted: the index may still name a tenant that was deleted. The
// list omits it and has all others.
func TestListOmitsDeleted(t *testing.T) {
	t.Parallel()
	s := tenant.Store{DB: testkit.Table(t)}
	p := s.DB.Platform(tenant.Kinds...)
	testkit.Must(t, p.Load(t.Context(), table.Item{Key: p.Key("SLUG", "gone", "SLUG"), Type: "slug",
		G: [4]string{p.Partition("SLUG")}, R: "gone", Attrs: map[string]any{"tenant": "ten_01JMETR0000000000000000009"}}))
	kept := create(t, s, tenant.Tenant{Slug: "kept", Name: "Kept"})
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != kept.ID {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestListReadsManyAtATime: a list of 64 tenants takes one round trip for the page
// and a few for the records, in the order of the slugs.
func TestListReadsManyAtATime(t *testing.T) {
	t.Parallel()
	wire := &testkit.Wire{}
	s := tenant.Store{DB: testkit.TableOnWire(t, wire)}
	for n := range 64 {
		create(t, s, tenant.Tenant{Slug: fmt.Sprintf("t%02d", n), Name: "Company"})
	}
	wire.Rounds(true)
	ctx, meter := table.Metered(t.Context())
	all, err := s.List(ctx)
	testkit.Must(t, err)
	for n, one := range all {
		if want := fmt.Sprintf("t%02d", n); one.Slug != want {
			t.Errorf("%s in the place of %s", one.Slug, want)
		}
	}
	if u := meter.Usage(); len(all) != 64 || u.Requests != 65 || u.Sequential > 20 {
		t.Errorf("%d tenants, %d requests, %d in sequence", len(all), u.Requests, u.Sequential)
	}
}

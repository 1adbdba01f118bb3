package tenant_test

import (
	"testing"

	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/testkit"
)

// TestListOmitsDeleted: the index may still name a tenant that was deleted. The
// list omits it and has all others.
func TestListOmitsDeleted(t *testing.T) {
	t.Parallel()
	s := tenant.Store{DB: testkit.Table(t)}
	p := s.DB.Platform(tenant.Kinds...)
	testkit.Must(t, p.Load(t.Context(), table.Item{Key: p.Key("SLUG", "SLUG", "gone"), Type: "slug",
		G: [4]string{p.Partition("SLUG")}, R: "gone", Attrs: map[string]any{"tenant": "ten_01JMETR0000000000000000009"}}))
	kept := create(t, s, tenant.Tenant{Slug: "kept", Name: "Kept"})
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != kept.ID {
		t.Errorf("%+v, %v", all, err)
	}
}

package authz_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
)

func TestGrantable(t *testing.T) {
	all := authz.Have{Permissions: authz.Permissions(), Taxi: true, Delivery: true}
	for _, c := range []struct {
		name     string
		audience authz.Audience
		asked    []string
		have     authz.Have
		want     []string
	}{
		{"everything", authz.Dashboard, []string{"openid", "tenant.trips:read"}, all,
			[]string{"openid", "tenant.trips:read"}},
		{"no permission", authz.Dashboard, []string{"openid", "tenant.trips:read"}, authz.Have{}, []string{"openid"}},
		{"settings by branding", authz.Dashboard, []string{"tenant.settings:read"},
			authz.Have{Permissions: []string{"VIEW_BRANDING"}}, []string{"tenant.settings:read"}},
		{"flags never take operator scopes", authz.Dashboard, []string{"tenant.delivery:read"},
			authz.Have{Permissions: []string{"VIEW_FOOD_ORDERS"}}, []string{"tenant.delivery:read"}},
		{"another audience's", authz.Rider, []string{"tenant.trips:read", "driver.trips:read", "rider.trips:read"}, all,
			[]string{"rider.trips:read"}},
		{"taxi off", authz.Rider, []string{"rider.trips:create", "rider.trips:read"}, authz.Have{Delivery: true},
			[]string{"rider.trips:read"}},
		{"delivery off", authz.Rider, []string{"rider.orders:read", "rider.orders:create", "rider.trips:create"},
			authz.Have{Taxi: true}, []string{"rider.trips:create"}},
		{"twice and unknown", authz.Driver, []string{"driver.trips:read", "x", "driver.trips:read"}, all,
			[]string{"driver.trips:read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, authz.Grantable(c.audience, c.asked, c.have)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommonAudience(t *testing.T) {
	for _, c := range []struct {
		scopes string
		want   authz.Audience
		ok     bool
	}{
		{"openid email", "", true}, {"", "", true}, {"openid tenant.trips:read feedback:vote", authz.Dashboard, true},
		{"rider.trips:read driver.trips:read", "", false}, {"rider.trips:read x", "", false},
		{"driver.status:write", authz.Driver, true},
	} {
		if got, ok := authz.CommonAudience(authz.Split(c.scopes)); got != c.want || ok != c.ok {
			t.Errorf("%q: %q %v", c.scopes, got, ok)
		}
	}
}

// TestCatalog checks that the lists of scopes and permissions are sorted and
// without duplicates. pkg/app/repository compares the catalog with the specification.
func TestCatalog(t *testing.T) {
	lists := map[string][]string{"permissions": authz.Permissions()}
	for _, audience := range authz.Audiences {
		lists[string(audience)] = authz.Scopes(audience)
	}
	for name, got := range lists {
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := authz.Permissions(); !slices.Contains(got, "VIEW_BRANDING") {
		t.Errorf("permissions: %v", got)
	}
}

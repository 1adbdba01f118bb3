package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// A deprecated operation says so with every response, errors too, and in the
// document. Others say nothing.
func TestDeprecated(t *testing.T) {
	type thing struct {
		ID string `json:"id"`
	}
	show := func(context.Context, *api.Caller, *struct{}) (*thing, error) { return &thing{"1"}, nil }
	policy := authz.Operators("tenant.settings:read", "MANAGE_SETTINGS")
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sunset := time.Date(2026, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	s := apitest.New(t, testkit.Table(t), api.Get("/api/v1/old", "svc_get_old", policy, show,
		api.Deprecated(since, sunset)),
		api.Get("/api/v1/new", "svc_get_new", policy, show))
	tenant := s.Tenant("USD", 1)
	s.Flags(tenant, nil)
	good, bad := s.Token(tenant, authz.Dashboard, "usr_1", "MANAGE_SETTINGS"), "wrong"
	for _, test := range []struct {
		path, token         string
		status              int
		deprecation, expiry string
	}{
		{"/api/v1/old", good, http.StatusOK, "@1767225600", "Thu, 31 Dec 2026 22:59:59 GMT"},
		{"/api/v1/old", bad, http.StatusUnauthorized, "@1767225600", "Thu, 31 Dec 2026 22:59:59 GMT"},
		{"/api/v1/old?x=1", good, http.StatusBadRequest, "@1767225600", "Thu, 31 Dec 2026 22:59:59 GMT"},
		{"/api/v1/new", good, http.StatusOK, "", ""},
		{"/api/v1/older", good, http.StatusNotFound, "", ""},
	} {
		a := s.Do(http.MethodGet, test.path, test.token, "")
		if a.Status != test.status || a.Header.Get("Deprecation") != test.deprecation ||
			a.Header.Get("Sunset") != test.expiry {
			t.Errorf("%s: %d %v %s", test.path, a.Status, a.Header, a.Body)
		}
	}
	paths := s.Server.OpenAPI().Paths
	old, current := paths["/api/v1/old"].Get, paths["/api/v1/new"].Get
	if !old.Deprecated || !strings.Contains(old.Description, "until 2026-12-31") || current.Deprecated ||
		strings.Contains(current.Description, "Deprecated") {
		t.Errorf("the document: %v %q, %v %q", old.Deprecated, old.Description, current.Deprecated, current.Description)
	}
}

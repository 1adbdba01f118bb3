package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// TestPanicsTellNoData: a panic in a handler, in an early read and in the read of the
// checks is a 500 whose log line has the operation and the place, and quotes nothing.
func TestPanicsTellNoData(t *testing.T) {
	t.Parallel()
	const secret = "+49 170 1234567"
	quoted := fmt.Errorf("cannot read %w", errors.New(secret))
	type thing struct {
		ID string `json:"id"`
	}
	policy := authz.Operators("tenant.settings:read", "MANAGE_SETTINGS")
	handler := func(context.Context, *api.Caller, *struct{}) (*thing, error) { panic(quoted) }
	waits := func(ctx context.Context, c *api.Caller, _ *struct{}) (*thing, error) {
		_, err := api.EarlyOf[string](ctx, c)
		return &thing{"1"}, err
	}
	early := func(context.Context, table.Tenant, api.Peek) (string, error) { panic("early " + secret) }
	wire := &testkit.Wire{}
	s := apitest.New(t, testkit.TableOnWire(t, wire),
		api.Get("/api/v1/handler", "svc_handler", policy, handler),
		api.Get("/api/v1/early", "svc_early", policy, waits, api.Early(early)),
		api.Get("/api/v1/checks", "svc_checks", policy, func(context.Context, *api.Caller, *struct{}) (*thing, error) {
			return &thing{"1"}, nil
		}))
	tenant := s.Tenant("USD", 1)
	token := s.Token(tenant, authz.Dashboard, "usr_1", "MANAGE_SETTINGS")
	for _, name := range []string{"handler", "early", "checks"} {
		if name == "checks" {
			wire.Panics(func(string, []byte) bool { return true })
		}
		a := s.Do(http.MethodGet, "/api/v1/"+name, token, "")
		if a.Status != http.StatusInternalServerError || strings.Contains(string(a.Body), secret) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		last := s.Last()
		cause := fmt.Sprint(last.Cause)
		if strings.Contains(cause, secret) || strings.Contains(cause, tenant.ID()) || last.Operation != "svc_"+name ||
			!strings.Contains(cause, " at svc/") {
			t.Errorf("%s: %s, the cause is %s", name, last.Operation, cause)
		}
	}
}

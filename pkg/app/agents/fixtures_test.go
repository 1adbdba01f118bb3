package agents

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
	"svc/pkg/edge/mcp"
)

// fixtureScenarios lists, by revision, the scenarios that call tools of the
// suite's own fixture server, and that rows can satisfy.
var fixtureScenarios = map[string][]string{
	"2025-06-18": {"tools-call-simple-text", "tools-call-error"},
	"2025-11-25": {"tools-call-simple-text", "tools-call-error"},
	"2026-07-28": {"tools-call-simple-text", "tools-call-error", "input-required-result-request-state",
		"input-required-result-missing-input-response", "input-required-result-result-type",
		"input-required-result-unsupported-methods", "input-required-result-tampered-state",
		"input-required-result-validate-input"},
}

type nothing struct{}

type words struct {
	Text string `json:"text"`
}

// fixtureRows returns operations whose tools have the names that the suite
// calls. Tools are made from rows here as everywhere.
func fixtureRows() []api.Row {
	says := func(text string) api.Handler[nothing, words] {
		return func(context.Context, *api.Caller, *nothing) (*words, error) { return &words{text}, nil }
	}
	fails := func(context.Context, *api.Caller, *nothing) (*words, error) {
		return nil, fault.InvalidState("This tool intentionally returns an error for testing")
	}
	rider := authz.Riders("rider.trips:read")
	rows := []api.Row{
		api.Get("/api/v1/fixtures/text", "test_simple_text", rider, says("This is a simple text response for testing."),
			api.Tag("Fixtures"), api.Summary("Return a text")),
		api.Get("/api/v1/fixtures/error", "test_error_handling", rider, fails,
			api.Tag("Fixtures"), api.Summary("Return an error")),
	}
	for _, name := range []string{"elicitation", "request_state", "tampered_state"} {
		rows = append(rows, api.Post("/api/v1/fixtures/"+strings.ReplaceAll(name, "_", "-"),
			"test_input_required_result_"+name, rider, says("state-ok"),
			api.Tag("Fixtures"), api.Summary("Ask first"), api.Confirm("This fixture does nothing.")))
	}
	return rows
}

// TestConformanceOfFixtures runs the suite's fixture scenarios against our
// server with fixture rows: the protocol, the tools made from rows, the checks
// and the confirmation are those of the real server.
func TestConformanceOfFixtures(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	server, err := mcp.New(api.Config{DB: s.DB, Verifier: s.Runtime.Keys(), BaseURL: s.URL, Now: s.Clock.Now,
		Logger: slog.New(slog.DiscardHandler)}, fixtureRows()...)
	testkit.Must(t, err)
	served := httptest.NewServer(server)
	t.Cleanup(served.Close)
	const path = "/mcp/rider/metro"
	proxy := authorized(t, served.URL, s.SignInFor(t, s.Rider(t, "metro", "rita"), path).AccessToken)
	for version, names := range fixtureScenarios {
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) { conforms(t, node(t), proxy+path, version, name) })
		}
	}
}

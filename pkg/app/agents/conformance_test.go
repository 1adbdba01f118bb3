package agents

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// scenarios lists, by revision, the scenarios of the official suite that apply
// to the real server. fixtureScenarios lists more. The others need a stream, a
// session, or tools, prompts and resources that this server cannot have.
var scenarios = map[string][]string{
	"2025-06-18": {"server-initialize", "ping", "tools-list"},
	"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list",
		"dns-rebinding-protection"},
	"2026-07-28": {"server-stateless", "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found",
		"caching", "http-header-validation", "dns-rebinding-protection"},
}

// inapplicable lists checks within those scenarios that need something the
// server does not have. If such a check passes, the test fails, so the list
// stays true.
var inapplicable = map[string]string{
	// test_missing_capability: no tool of ours needs a client's capability.
	"sep-2575-server-rejects-undeclared-capability": "server-stateless",
	"sep-2575-missing-capability-http-400":          "server-stateless",
	// test_streaming_elicitation and test_logging_tool: we have no stream and log
	// nothing to clients.
	"sep-2575-http-server-no-independent-requests-on-stream": "server-stateless",
	"sep-2575-server-no-log-without-loglevel":                "server-stateless",
}

// TestConformance runs the official conformance suite against the real server.
func TestConformance(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	proxy := authorized(t, s.URL, s.SignInFor(t, s.Rider(t, "metro", "rita"), "/mcp/rider/metro").AccessToken)
	for version, names := range scenarios {
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) {
				conforms(t, node(t), proxy+"/mcp/rider/metro", version, name)
			})
		}
	}
}

// verdict is the line of one check in the suite's output.
var verdict = regexp.MustCompile(`\[([a-z0-9-]+) *\] \x1b\[\d+m(SUCCESS|FAILURE|WARNING)`)

func conforms(t *testing.T, node, address, version, scenario string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
		"--url", address, "--spec-version", version, "--scenario", scenario, "--timeout", "300000")
	cmd.Env = environment(t)
	out, _ := cmd.CombinedOutput() // a failed check is an error too; the output names the check
	checks := verdict.FindAllStringSubmatch(string(out), -1)
	if len(checks) == 0 {
		t.Fatalf("the suite did not run:\n%s", out)
	}
	failed := map[string]bool{}
	for _, check := range checks {
		failed[check[1]] = failed[check[1]] || check[2] == "FAILURE"
		if check[2] != "SUCCESS" && inapplicable[check[1]] != scenario {
			t.Errorf("%s: %s\n%s", check[1], check[2], out)
		}
	}
	for check, where := range inapplicable {
		if where == scenario && !failed[check] {
			t.Errorf("%s does not fail any more: take it from the list", check)
		}
	}
}

// authorized returns the address of a proxy that adds the token: the suite has
// no option for one.
func authorized(t *testing.T, base, token string) string {
	t.Helper()
	to, err := url.Parse(base)
	testkit.Must(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

package agents

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"svc/pkg/app/apptest"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth/flow"
)

// signInAt is the address that the inspector prints for the person.
var signInAt = regexp.MustCompile(`http://\S+/oauth/authorize\?\S+`)

// TestInspector runs the inspector's command line: given the address alone it
// registers, listens for the redirect, and calls tools with the stored token.
func TestInspector(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	who, env := s.Rider(t, "metro", "rita"), append(environment(t), "MCP_AUTO_OPEN_ENABLED=true",
		"BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=file")
	a := &agent{t: t, person: flow.NewBrowser(flow.Options{BaseURL: s.URL, Tenant: who.Tenant,
		Audience: string(who.Audience), Email: who.Email, Password: apptest.Password})}
	inspect := func(more ...string) (out string, addresses int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node(t), append([]string{"node_modules/.bin/mcp-inspector", "--cli",
			s.URL + "/mcp/rider/metro", "--transport", "http", "--protocol-era", "modern", "--connect-timeout", "0",
			"--format", "json", "--callback-url",
			"http://127.0.0.1:" + strconv.Itoa(freePort(t)) + "/oauth/callback"}, more...)...)
		cmd.Env = env
		stdout := &strings.Builder{}
		cmd.Stdout = stdout
		stderr, err := cmd.StderrPipe()
		testkit.Must(t, err)
		testkit.Must(t, cmd.Start())
		var log strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if address := signInAt.FindString(lines.Text()); address != "" && addresses == 0 {
				addresses++
				res, err := http.Get(a.visit(address))
				testkit.Must(t, err)
				_ = res.Body.Close()
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v %v\n%s%s", more, err, stdout, &log)
		}
		return stdout.String(), addresses
	}
	listed, first := inspect("--method", "tools/list")
	called, second := inspect("--method", "tools/call", "--tool-name", "svc_me", "--stored-auth-only")
	if first != 1 || !strings.Contains(listed, "svc_request_ride") || strings.Contains(listed, "svc_list_trips") {
		t.Errorf("%d sign-ins; the tools are %s", first, listed)
	}
	if second != 0 || !strings.Contains(called, who.Email) || !json.Valid([]byte(called)) {
		t.Errorf("%d sign-ins again; the rider is %s", second, called)
	}
}

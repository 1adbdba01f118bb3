package replay_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// lambda is a test server for the endpoints of Lambda and CodeDeploy. Version 2
// of each function is the running process.
type lambda struct {
	processes map[string]*replay.Process

	mu      sync.Mutex
	reports []string
}

// ServeHTTP implements http.Handler.
func (l *lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name, isInvoke := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	if !isInvoke {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reports = append(l.reports, r.Header.Get("X-Amz-Target")+" "+string(body))
		return
	}
	p := l.processes[strings.TrimSuffix(name, "/invocations")]
	if p == nil || r.URL.Query().Get("Qualifier") != "2" {
		http.Error(w, "ResourceNotFoundException", http.StatusNotFound)
		return
	}
	answer, err := p.Invoke(r.Context(), body)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error()})
	}
	_, _ = w.Write(answer)
}

// TestHook starts new versions of functions, both working and broken ones, and
// lets the built hook test them.
func TestHook(t *testing.T) {
	testkit.Long(t)
	s := start(t)
	otherKey := filepath.Join(t.TempDir(), "sealing.key")
	secret := "ORIGIN_SECRET_SHA256=" + strings.Repeat("0", 64)
	for _, tt := range []struct {
		name   string
		broken string   // the only function that gets the variables in added; "" means all functions and the hook
		added  []string // environment
		status string
		says   string
	}{
		{name: "healthy", status: "Succeeded"},
		{name: "behind CloudFront", added: []string{secret}, status: "Succeeded"},
		{name: "with switches", added: []string{"SWITCHED_OFF=svc_list_trips,agents,sign-in"}, status: "Succeeded"},
		{name: "without an address", added: []string{"BASE_URL="}, status: "Succeeded"},
		{name: "a misspelt switch", added: []string{"SWITCHED_OFF=svc_list_tripz"}, status: "Failed", says: "svc_list_tripz"},
		{name: "a switch that one lacks", broken: app.MCP, added: []string{"SWITCHED_OFF=agents"}, status: "Failed",
			says: "MCPFunction: POST /mcp: status 503, want 401"},
		{name: "no table", broken: app.Fleet, added: []string{"TABLE_NAME=missing"}, status: "Failed",
			says: "FleetFunction: GET /api/v1/"},
		{name: "another sealing key", broken: app.OAuth, added: []string{"SEALING_KEY_FILE=" + otherKey}, status: "Failed",
			says: "OAuthFunction: GET /health/ready: status 503, want 200"},
		{name: "another address", broken: app.Me, added: []string{"BASE_URL=https://svc.example"}, status: "Failed",
			says: "Www-Authenticate is"},
		{name: "no start", broken: app.Docs, added: []string{"ORIGIN_SECRET_SHA256=x"}, status: "Failed",
			says: "DocsFunction: GET /health: the function fails"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.broken != "" { // the hook tries again for some seconds
				t.Parallel()
			}
			l := &lambda{processes: maps.Clone(s.processes)}
			for name := range l.processes {
				if functions[name] == "request" && (name == tt.broken || tt.broken == "" && tt.added != nil) {
					l.processes[name] = s.version(t, name, s.output, tt.added...)
				}
			}
			said := &log{}
			hook := s.hook(t, l, said, tt.broken == "", tt.added)
			event := json.RawMessage(`{"DeploymentId": "d-ABC", "LifecycleEventHookExecutionId": "eyJ.x"}`)
			if _, err := hook.Invoke(t.Context(), event); err != nil {
				t.Fatalf("%v\n%s", err, said.tail())
			}
			hook.Stop() // its last lines may still be on their way
			want := `CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus {"deploymentId":"d-ABC",` +
				`"lifecycleEventHookExecutionId":"eyJ.x","status":"` + tt.status + `"}`
			if !slices.Equal(l.reports, []string{want}) || !strings.Contains(said.tail(), tt.says) {
				t.Errorf("reported %q, want %s and %q in the log\n%s", l.reports, want, tt.says, said.tail())
			}
			if tt.name == "without an address" {
				s.issuerIsTheGateway(t, l.processes[app.OAuth])
			}
		})
	}
}

// version starts a function with additional environment variables.
func (s *deployment) version(t *testing.T, name string, output io.Writer, added ...string) *replay.Process {
	t.Helper()
	p, err := replay.Start(name, filepath.Join(s.dir, folder(name)), append(slices.Clone(s.environment), added...), output)
	testkit.Must(t, err)
	t.Cleanup(p.Stop)
	return p
}

// hook starts SmokeFunction as it is deployed.
func (s *deployment) hook(t *testing.T, l *lambda, output io.Writer, own bool, added []string) *replay.Process {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	environment := []string{"AWS_ENDPOINT_URL_LAMBDA=" + server.URL, "AWS_ENDPOINT_URL_CODEDEPLOY=" + server.URL}
	for _, name := range app.RequestFunctions() {
		environment = append(environment, name+"=arn:aws:lambda:us-east-1:123456789012:function:"+name+":2")
	}
	if own {
		environment = append(environment, added...)
	}
	return s.version(t, app.Smoke, output, environment...)
}

// issuerIsTheGateway checks that the address of the hook's calls did not become
// the issuer.
func (s *deployment) issuerIsTheGateway(t *testing.T, p *replay.Process) {
	t.Helper()
	event, err := os.ReadFile(eventFile("v2", "oauth-metadata"))
	testkit.Must(t, err)
	answer, err := p.Invoke(t.Context(), event)
	testkit.Must(t, err)
	var a struct{ Body string }
	testkit.Must(t, json.Unmarshal(answer, &a))
	var metadata struct{ Issuer string }
	testkit.Must(t, json.Unmarshal([]byte(a.Body), &metadata))
	if metadata.Issuer != "https://"+host {
		t.Errorf("the issuer is %q", metadata.Issuer)
	}
}

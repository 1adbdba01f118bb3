package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	gocmp "github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/base/config"
)

// console is a test server for the endpoints of Lambda and CodeDeploy.
type console struct {
	answer http.HandlerFunc // handles every call of Lambda's Invoke

	mu      sync.Mutex
	invoked []string // "FUNCTION VERSION"
	reports []string
	refuse  int // number of reports to reject, from the first
}

// ServeHTTP implements http.Handler.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	service := "lambda"
	name, isInvoke := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	if !isInvoke {
		service = "codedeploy"
	}
	if by := r.Header.Get("Authorization"); !strings.Contains(by, "/eu-central-1/"+service+"/aws4_request") {
		http.Error(w, "not signed for "+service, http.StatusForbidden)
		return
	}
	if isInvoke {
		c.mu.Lock()
		c.invoked = append(c.invoked, strings.TrimSuffix(name, "/invocations")+" "+r.URL.Query().Get("Qualifier"))
		c.mu.Unlock()
		c.answer(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, r.Method+" "+r.Header.Get("X-Amz-Target")+" "+r.Header.Get("Content-Type")+" "+
		string(body))
	if len(c.reports) <= c.refuse {
		http.Error(w, `{"__type":"ThrottlingException"}`, http.StatusBadRequest)
	}
}

// hooked runs a hook against the console, as SmokeFunction is deployed but
// without pauses, and returns its log.
func hooked(t *testing.T, c *console, call time.Duration) (string, error) {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_LAMBDA": server.URL,
		"AWS_ENDPOINT_URL_CODEDEPLOY": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local"} {
		t.Setenv(name, value)
	}
	var log bytes.Buffer
	s := newSmoke(&Runtime{BaseURL: "https://svc.example", Config: config.Read(os.Getenv),
		Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	s.call, s.pause = call, 0
	err := s.handle(t.Context(), lifecycle{"d-1", "execution"})
	return log.String(), err
}

// setVersions puts the versions into the environment, as the template does.
func setVersions(t *testing.T) {
	t.Helper()
	for _, name := range RequestFunctions() {
		t.Setenv(name, "arn:aws:lambda:eu-central-1:123456789012:function:stack-"+name+":7")
	}
}

func reported(status string) string {
	return `POST CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus application/x-amz-json-1.1 ` +
		`{"deploymentId":"d-1","lifecycleEventHookExecutionId":"execution","status":"` + status + `"}`
}

// answering returns a handler that sends the expected response of each call,
// modified by change.
func answering(t *testing.T, change func(p probe, a *events.APIGatewayV2HTTPResponse)) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		var e events.APIGatewayV2HTTPRequest
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/stack-"), "/")
		for _, p := range probes(name) {
			if p.path != e.RawPath || p.signed != (e.Headers["authorization"] != "") {
				continue
			}
			a := events.APIGatewayV2HTTPResponse{StatusCode: p.want, Headers: map[string]string{},
				Body: strings.ReplaceAll(p.holds, "{base}", "https://svc.example")}
			if p.want == http.StatusUnauthorized {
				a.Headers["Www-Authenticate"] = `Bearer resource_metadata="https://svc.example/x"`
			}
			if change != nil {
				change(p, &a)
			}
			_ = json.NewEncoder(w).Encode(a)
			return
		}
		t.Errorf("%s has no call %s", name, e.RawPath)
	}
}

// TestSmokeSucceeds: every call is sent to the new version of every function,
// and CodeDeploy gets one report, signed, with its ids.
func TestSmokeSucceeds(t *testing.T) {
	setVersions(t)
	c := &console{answer: answering(t, nil)}
	log, err := hooked(t, c, time.Hour)
	testkit.Must(t, err)
	if diff := gocmp.Diff([]string{reported("Succeeded")}, c.reports); diff != "" {
		t.Errorf("%s\n%s", diff, log)
	}
	var want []string
	for _, name := range RequestFunctions() {
		if len(probes(name)) == 0 {
			t.Errorf("%s is not tried", name)
		}
		for range probes(name) {
			want = append(want, "stack-"+name+" 7")
		}
	}
	if diff := gocmp.Diff(want, c.invoked); diff != "" {
		t.Error(diff)
	}
}

// TestSmokeFails: every kind of failure is reported to CodeDeploy, and the log
// names the function.
func TestSmokeFails(t *testing.T) {
	at := func(path string, change func(a *events.APIGatewayV2HTTPResponse)) http.HandlerFunc {
		return answering(t, func(p probe, a *events.APIGatewayV2HTTPResponse) {
			if p.path == path {
				change(a)
			}
		})
	}
	for name, tt := range map[string]struct {
		answer      http.HandlerFunc
		environment [2]string
		call        time.Duration
		says        string
	}{
		"status": {answer: at("/api/v1/trips", func(a *events.APIGatewayV2HTTPResponse) { a.StatusCode = 503 }),
			says: "TripsFunction: GET /api/v1/trips: status 503, want 401"},
		"body": {answer: at("/.well-known/jwks.json", func(a *events.APIGatewayV2HTTPResponse) { a.Body = `{"keys":[]}` }),
			says: "OAuthFunction: GET /.well-known/jwks.json: the body does not contain"},
		"issuer": {answer: at("/.well-known/oauth-authorization-server",
			func(a *events.APIGatewayV2HTTPResponse) { a.Body = `{"issuer":"https://smoke.invalid"}` }),
			says: "the body does not contain"},
		"challenge": {answer: at("/mcp", func(a *events.APIGatewayV2HTTPResponse) { a.Headers = nil }),
			says: "MCPFunction: POST /mcp: Www-Authenticate is"},
		"no answer": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "null") },
			says: "not an HTTP response"},
		"function error": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorType":"Runtime.ExitError"}`)
		}, says: "the function fails: {\"errorType\":\"Runtime.ExitError\"}"},
		"refused": {answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "denied", http.StatusForbidden) },
			says: "lambda answers 403: denied"},
		"timeout": {answer: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after that
			<-r.Context().Done()
		}, call: time.Millisecond, says: "deadline exceeded"},
		"version":  {answer: answering(t, nil), environment: [2]string{Trips, "$LATEST"}, says: "expected the ARN"},
		"switch":   {answer: answering(t, nil), environment: [2]string{"SWITCHED_OFF", "sign_in"}, says: `sign_in`},
		"hash":     {answer: answering(t, nil), environment: [2]string{"ORIGIN_SECRET_SHA256", "x"}, says: "ORIGIN_SECRET"},
		"not shut": {answer: answering(t, nil), environment: [2]string{"SWITCHED_OFF", offAgents}, says: "want 503"},
	} {
		t.Run(name, func(t *testing.T) {
			setVersions(t)
			if tt.environment[0] != "" {
				t.Setenv(tt.environment[0], tt.environment[1])
			}
			c := &console{answer: tt.answer}
			log, err := hooked(t, c, cmp.Or(tt.call, time.Hour))
			testkit.Must(t, err)
			if diff := gocmp.Diff([]string{reported("Failed")}, c.reports); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(strings.ReplaceAll(log, `\`, ""), tt.says) {
				t.Errorf("the log does not say %q: %s", tt.says, log)
			}
		})
	}
}

// TestSmokeTriesAgain: one throttled call does not fail a deployment, and a
// report that CodeDeploy rejects is repeated.
func TestSmokeTriesAgain(t *testing.T) {
	setVersions(t)
	healthy, failing := answering(t, nil), 2
	c := &console{refuse: 2, answer: func(w http.ResponseWriter, r *http.Request) {
		if failing--; failing >= 0 {
			http.Error(w, "TooManyRequestsException", http.StatusTooManyRequests)
			return
		}
		healthy(w, r)
	}}
	_, err := hooked(t, c, time.Hour)
	testkit.Must(t, err)
	if len(c.reports) != 3 || c.reports[2] != reported("Succeeded") {
		t.Errorf("reported %q", c.reports)
	}
	c = &console{refuse: 3, answer: healthy}
	if _, err := hooked(t, c, time.Hour); err == nil || len(c.reports) != 3 {
		t.Errorf("nobody took the report, and the hook ends with %v after %d", err, len(c.reports))
	}
}

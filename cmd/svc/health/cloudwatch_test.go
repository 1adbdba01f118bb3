package health

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/cmd/svc/cli"
)

// Lines of two requests, from different log groups or writers. The gateway's line
// of the second request says that the function timed out.
const (
	functionLine = `{"request_id":"mine-1","gateway_id":"req_JKJaXm=","status":500,"ms":12}`
	gatewayLine  = "req_JKJaXm= 500 20 - GET /api/v1/me"
	gatewayShown = `{"request_id":"req_JKJaXm=","status":500,"ms":20,"error":"-","route":"GET /api/v1/me"}`
	diedLine     = "req_LMLbYn= 503 15004 INTEGRATION_FAILURE ANY /oauth/{proxy+}"
	diedShown    = `{"request_id":"req_LMLbYn=","status":503,"ms":15004,"error":"INTEGRATION_FAILURE",` +
		`"route":"ANY /oauth/{proxy+}"}`
	lambdaLine = `{"type":"platform.report","record":{"requestId":"9f1c-77","status":"timeout"}}`
	exitLine   = "RequestId: 9f1c-77 Error: Runtime exited with error: exit status 2\n"
	exitShown  = `"RequestId: 9f1c-77 Error: Runtime exited with error: exit status 2\n"`
)

// cloudWatchLogs is a test server in place of CloudWatch Logs: it checks the
// signed request, and sends an empty page before the page with the lines that
// match the pattern and the times. Like LocalStack, it also sends a line that
// does not match the pattern.
func cloudWatchLogs(t *testing.T) *httptest.Server {
	type event struct {
		Timestamp int64  `json:"timestamp"`
		Message   string `json:"message"`
	}
	groups := map[string][]event{
		"svc-FunctionLog": {{1767225601000, functionLine + "\n"}, {1767225602000, `{"request_id":"another"}`},
			{1767225683995, lambdaLine}, {1767225683996, lambdaLine}, {1767225700000, exitLine},
			{1767225700000, `{"request_id":"another","msg":"panic: recovered"}`}, {1767225702001, lambdaLine}},
		"svc-AccessLog": {{1767225600000, gatewayLine}, {1767225700000, diedLine}},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			LogGroupName, FilterPattern, NextToken string
			StartTime, EndTime                     int64
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // an unreadable body is a wrong request below
		auth := r.Header.Get("Authorization")
		if r.Header.Get("X-Amz-Target") != "Logs_20140328.FilterLogEvents" ||
			!strings.Contains(auth, "/eu-central-1/logs/aws4_request") {
			t.Errorf("request %+v, %s", in, auth)
		}
		events, known := groups[in.LogGroupName]
		if !known {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type": "ResourceNotFoundException", "message": "no such group"}`))
			return
		}
		page := map[string]any{"events": []event{}, "nextToken": "n"}
		if in.NextToken != "" {
			terms := strings.Split(strings.Trim(in.FilterPattern, `?"`), `" ?"`)
			page = map[string]any{"events": slices.DeleteFunc(slices.Clone(events), func(e event) bool {
				return in.EndTime > 0 && (e.Timestamp < in.StartTime || e.Timestamp > in.EndTime) ||
					!strings.Contains(e.Message, "another") && !mentions([]byte(e.Message), terms)
			})}
		}
		_ = json.NewEncoder(w).Encode(page) // the test fails if the page is not read
	}))
}

// TestDeployedLogs: with TABLE_NAME set, svc logs searches CloudWatch Logs.
// Each id of a request finds all lines of the request, oldest first. If the
// gateway answered 5xx and no function wrote the request's line, svc logs also
// shows the failures that Lambda logged at that time.
func TestDeployedLogs(t *testing.T) {
	logs := cloudWatchLogs(t)
	t.Cleanup(logs.Close)
	for name, value := range map[string]string{"TABLE_NAME": "svc-live", "LOG_GROUP": "svc-FunctionLog,svc-AccessLog",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": logs.URL} {
		t.Setenv(name, value)
	}
	run := func(id string) (string, string, int) {
		var out, errs bytes.Buffer
		code := cli.New("", &out, &errs, Add).Run(t.Context(), []string{"logs", id})
		return out.String(), errs.String(), code
	}
	both := "2026-01-01T00:00:00Z " + gatewayShown + "\n2026-01-01T00:00:01Z " + functionLine + "\n"
	const nearby = "Z nearby, perhaps of another request: "
	died := "2026-01-01T00:01:23" + nearby + lambdaLine + "\n2026-01-01T00:01:40" + nearby + exitShown +
		"\n2026-01-01T00:01:40Z " + diedShown + "\n"
	for id, want := range map[string]string{
		"mine-1": both, "req_JKJaXm=": both, "JKJaXm=": both, "req_LMLbYn=": died, "LMLbYn=": died,
		"9f1c-77": "2026-01-01T00:01:23Z " + lambdaLine + "\n2026-01-01T00:01:23Z " + lambdaLine +
			"\n2026-01-01T00:01:40Z " + exitShown + "\n2026-01-01T00:01:42Z " + lambdaLine + "\n",
	} {
		if out, errs, code := run(id); code != 0 || out != want {
			t.Errorf("%s: exit code %d: %s%s", id, code, out, errs)
		}
	}
	t.Setenv("LOG_GROUP", "other")
	_, errs, code := run("mine-1")
	if code != 1 || !strings.Contains(errs, "ResourceNotFoundException: no such group") {
		t.Errorf("no such group: %d %s", code, errs)
	}
	t.Setenv("LOG_GROUP", "")
	if _, errs, code := run("mine-1"); code != 1 || !strings.Contains(errs, "set LOG_GROUP") {
		t.Errorf("no group: %d %s", code, errs)
	}
}

// TestAccessLine: a line in the template's format becomes an object with every
// field of the line.
func TestAccessLine(t *testing.T) {
	_, format, _ := strings.Cut(string(svc.Template), "        Format: ")
	format, _, _ = strings.Cut(format, "\n\n")
	format, _, _ = strings.Cut(format, "\n      DefaultRouteSettings")
	text := strings.NewReplacer("$context.requestId", "JKJaXm=", "$context.status", "429", "$context.responseLatency", "-",
		"$context.error.responseType", "THROTTLED", "$context.routeKey", "GET /me").
		Replace(strings.Join(strings.Fields(format), " "))
	want := `{"request_id":"req_JKJaXm=","status":429,"ms":0,"error":"THROTTLED","route":"GET /me"}`
	if got := string(parsedLine(text)); got != want {
		t.Errorf("%q becomes %s, want %s", text, got, want)
	}
}

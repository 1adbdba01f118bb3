package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Three lines of one request, from different log groups or writers.
const (
	functionLine = `{"request_id":"mine-1","gateway_id":"req_JKJaXm=","status":500}`
	gatewayLine  = `{"request_id":"req_JKJaXm=","lambda_id":"9f1c-77","status":"500"}`
	lambdaLine   = `{"type":"platform.report","record":{"requestId":"9f1c-77","status":"timeout"}}`
)

// cloudWatchLogs is a test server in place of CloudWatch Logs: it checks the
// signed request, and sends an empty page before the page with the lines that
// match. Like LocalStack, it also sends a line that does not match.
func cloudWatchLogs(t *testing.T) *httptest.Server {
	type event struct {
		Timestamp int64  `json:"timestamp"`
		Message   string `json:"message"`
	}
	groups := map[string][]event{
		"svc-FunctionLog": {{1767225601000, functionLine + "\n"}, {1767225602000, lambdaLine},
			{1767225602000, `{"request_id":"another"}`}},
		"svc-AccessLog": {{1767225600000, gatewayLine}},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ LogGroupName, FilterPattern, NextToken string }
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
			terms := strings.Fields(in.FilterPattern)
			page = map[string]any{"events": slices.DeleteFunc(slices.Clone(events), func(e event) bool {
				return !strings.Contains(e.Message, "another") && !slices.ContainsFunc(terms, func(term string) bool {
					text, ok := strings.CutPrefix(term, `?"`)
					return ok && strings.Contains(e.Message, strings.TrimSuffix(text, `"`))
				})
			})}
		}
		_ = json.NewEncoder(w).Encode(page) // the test fails if the page is not read
	}))
}

// TestDeployedLogs: with TABLE_NAME set, svc logs searches CloudWatch Logs.
// Each id of a request finds all lines of the request, oldest first.
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
		code := newCLI(&out, &errs).run(t.Context(), []string{"logs", id})
		return out.String(), errs.String(), code
	}
	gateway, lambda := "2026-01-01T00:00:00Z "+gatewayLine+"\n", "2026-01-01T00:00:02Z "+lambdaLine+"\n"
	for id, want := range map[string]string{
		"mine-1":      gateway + "2026-01-01T00:00:01Z " + functionLine + "\n" + lambda,
		"req_JKJaXm=": gateway + "2026-01-01T00:00:01Z " + functionLine + "\n" + lambda,
		"JKJaXm=":     gateway + "2026-01-01T00:00:01Z " + functionLine + "\n" + lambda,
		"9f1c-77":     gateway + lambda, // the function's own line does not name the invocation
	} {
		if out, errs, code := run(id); code != 0 || out != want {
			t.Errorf("%s: exit code %d: %s%s", id, code, out, errs)
		}
	}
	t.Setenv("LOG_GROUP", "other")
	_, errs, code := run("mine-1")
	if code != 1 || !strings.Contains(errs, "400 ResourceNotFoundException no such group") {
		t.Errorf("no such group: %d %s", code, errs)
	}
	t.Setenv("LOG_GROUP", "")
	if _, errs, code := run("mine-1"); code != 1 || !strings.Contains(errs, "set LOG_GROUP") {
		t.Errorf("no group: %d %s", code, errs)
	}
}

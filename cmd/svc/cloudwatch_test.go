package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDeployedLogs: with TABLE_NAME set, svc logs searches CloudWatch Logs. A
// server in this process stands in for it: it checks the signed request, and
// sends an empty page before the page with the line.
func TestDeployedLogs(t *testing.T) {
	const id = "req_01M82B7K8P4CQV2YJRQ6X756A9"
	pages := 0
	logs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ LogGroupName, FilterPattern, NextToken string }
		_ = json.NewDecoder(r.Body).Decode(&in) // an unreadable body is a wrong request below
		auth := r.Header.Get("Authorization")
		if r.Header.Get("X-Amz-Target") != "Logs_20140328.FilterLogEvents" ||
			!strings.Contains(auth, "/eu-central-1/logs/aws4_request") || in.FilterPattern != `"`+id+`"` {
			t.Errorf("request %+v, %s", in, auth)
		}
		if in.LogGroupName != "svc-FunctionLog" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type": "ResourceNotFoundException", "message": "no such group"}`))
			return
		}
		if pages++; in.NextToken == "" {
			_, _ = w.Write([]byte(`{"events": [], "nextToken": "n"}`))
			return
		}
		_, _ = w.Write([]byte(`{"events": [{"timestamp": 1767225600000, "message": "{\"request_id\":\"` + id +
			`\",\"status\":409}\n"}]}`))
	}))
	t.Cleanup(logs.Close)
	for name, value := range map[string]string{"TABLE_NAME": "svc-live", "LOG_GROUP": "svc-FunctionLog",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": logs.URL} {
		t.Setenv(name, value)
	}
	run := func() (string, string, int) {
		var out, errs bytes.Buffer
		code := newCLI(&out, &errs).run(t.Context(), []string{"logs", id})
		return out.String(), errs.String(), code
	}
	out, errs, code := run()
	if code != 0 || pages != 2 || !strings.HasPrefix(out, "2026-01-01T00:00:00Z {") ||
		!strings.Contains(out, `"status":409`) {
		t.Errorf("exit code %d after %d pages: %s%s", code, pages, out, errs)
	}
	t.Setenv("LOG_GROUP", "other")
	if _, errs, code := run(); code != 1 || !strings.Contains(errs, "400 ResourceNotFoundException no such group") {
		t.Errorf("no such group: %d %s", code, errs)
	}
	t.Setenv("LOG_GROUP", "")
	if _, errs, code := run(); code != 1 || !strings.Contains(errs, "set LOG_GROUP") {
		t.Errorf("no group: %d %s", code, errs)
	}
}

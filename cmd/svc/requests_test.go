package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/accesslog"
)

// request sends a request with the X-Request-Id id.
func request(t *testing.T, address, id string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", id)
	r.Header.Set("Authorization", "Bearer secret.secret.secret")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// svc logs rejects an empty id, because every logged request without a gateway's
// id would match it.
func TestLogsNeedAnID(t *testing.T) {
	var out, errs bytes.Buffer
	if code := newCLI(&out, &errs).Run(t.Context(), []string{"logs", "", "--data", t.TempDir()}); code != 2 ||
		!strings.Contains(errs.String(), "request id is empty") {
		t.Errorf("%d %s %s", code, &out, &errs)
	}
}

// TestRequestLog: every request is one line, without query or token, and `svc
// logs` finds it after the service has stopped.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	base, errs, stop := devFor(t, data, isRunning, "--no-demo", "--log", "json")
	paths := map[string]struct {
		status int
		code   string
	}{
		"/api/v1/me": {401, "unauthorized"}, "/health/none": {404, "not_found"},
		"/oauth/authorize": {400, ""}, "/nowhere": {404, "not_found"},
	}
	for path := range paths {
		request(t, base+path+"?q=secret", "id"+path)
	}
	var seen int
	for deadline := time.Now().Add(testkit.Patience); seen < len(paths) &&
		time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		seen = 0
		for line := range strings.Lines(errs.text()) {
			var e accesslog.Entry
			if json.Unmarshal([]byte(line), &e) != nil || e.RequestID != "id"+e.Path {
				continue
			}
			seen++
			if want := paths[e.Path]; e.Status != want.status || e.Code != want.code {
				t.Errorf("%s: status %d, code %q", e.Path, e.Status, e.Code)
			}
		}
	}
	if seen != len(paths) {
		t.Errorf("%d lines, want %d: %s", seen, len(paths), errs.text())
	}
	if strings.Contains(errs.text(), "secret") {
		t.Errorf("a query or a token is in the log: %s", errs.text())
	}
	request(t, base+"/health", "id/health")
	stop()
	if strings.Contains(errs.text(), "id/health\"") {
		t.Errorf("a good probe is printed: %s", errs.text())
	}
	w := &world{T: t, data: data}
	if out := w.ok("logs", "id/api/v1/me"); !strings.Contains(out, "401 /api/v1/me unauthorized") {
		t.Errorf("svc logs printed %q", out)
	}
	if found := read[[]accesslog.Entry](w, "logs", "id/health"); len(found) != 1 || found[0].Status != 200 {
		t.Errorf("svc logs --json: %+v", found)
	}
	found := read[[]accesslog.Entry](w, "logs", "id/health")
	for _, id := range []string{found[0].GatewayID, strings.TrimPrefix(found[0].GatewayID, "req_")} {
		if same := read[[]accesslog.Entry](w, "logs", id); len(same) != 1 || same[0] != found[0] {
			t.Errorf("by the gateway's id %q: %+v", id, same)
		}
	}
	if _, errs, code := w.run("logs", "id/never"); code != 1 || !strings.Contains(errs, "no request with the id") {
		t.Errorf("an unknown id: %d %s", code, errs)
	}
	if _, errs, code := w.run("dev", "--log", "xml"); code != 2 || !strings.Contains(errs, "expected text, json or off") {
		t.Errorf("--log xml: %d %s", code, errs)
	}
}

// TestQuiet: --quiet prints no request, but the file has all of them.
func TestQuiet(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	base, errs, stop := devFor(t, data, isRunning, "--no-demo", "--quiet")
	request(t, base+"/health", "quiet-1")
	stop()
	if strings.Contains(errs.text(), "/health") {
		t.Errorf("--quiet printed %s", errs.text())
	}
	if found, err := accesslog.Find(data, "quiet-1"); err != nil || len(found) != 1 {
		t.Errorf("%d entries, %v", len(found), err)
	}
}

package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"svc/pkg/edge/gateway"
)

// TestCrashIsCounted: a request whose handler panics has a line with its
// function and a status of 500, which the metric filters count. Any other
// request has only the line of its handler.
func TestCrashIsCounted(t *testing.T) {
	var out bytes.Buffer
	h := crashes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			panic("secret")
		}
		w.WriteHeader(http.StatusNoContent)
	}), &out, OAuth)
	call := func(path string) string {
		answer, err := gateway.Handler(h).Invoke(t.Context(), []byte(`{"version":"2.0","rawPath":"`+path+`",
			"requestContext":{"apiId":"a","requestId":"id=","http":{"method":"POST","path":"`+path+`"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	if got := call("/oauth/revoke"); out.Len() > 0 || !bytes.Contains([]byte(got), []byte(`"statusCode":204`)) {
		t.Errorf("%s; the line is %s", got, out.String())
	}
	if got := call("/oauth/token"); !bytes.Contains([]byte(got), []byte(`"statusCode":500`)) {
		t.Errorf("the response is %s", got)
	}
	var line struct {
		RequestID string `json:"request_id"`
		Function  string
		Status    int
		MS        int
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.RequestID != "req_id=" || line.Function != "OAuth" ||
		line.Status != http.StatusInternalServerError || line.MS < 1 || bytes.Contains(out.Bytes(), []byte("secret")) {
		t.Errorf("%v: the line is %s", err, out.String())
	}
}

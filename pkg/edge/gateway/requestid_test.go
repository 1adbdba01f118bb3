package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/edge/gateway"
)

// TestRequestID: a request has the gateway's id, which the access log has too.
// A caller may choose another id.
func TestRequestID(t *testing.T) {
	quiet(t)
	for name, tt := range map[string]struct{ given, own, id, gateway string }{
		"the gateway's":         {"JKJaXmPLvHcESHA=", "", "req_JKJaXmPLvHcESHA=", "req_JKJaXmPLvHcESHA="},
		"the caller's":          {"JKJaXmPLvHcESHA=", "mine-1", "mine-1", "req_JKJaXmPLvHcESHA="},
		"the caller's is wrong": {"JKJaXmPLvHcESHA=", "<b>", "req_JKJaXmPLvHcESHA=", "req_JKJaXmPLvHcESHA="},
		"of a REST API":         {"c6af9ac6-7b61", "", "req_c6af9ac6-7b61", "req_c6af9ac6-7b61"},
		"none":                  {"", "", "", ""},
		"the gateway's is odd":  {"a b", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			event, _ := json.Marshal(map[string]any{"version": "2.0", "rawPath": "/", "headers": map[string]string{
				"x-request-id": tt.own}, "requestContext": map[string]any{"requestId": tt.given,
				"http": map[string]string{"method": "GET", "path": "/"}}})
			var id, given, line string
			_, err := gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				id, given = gateway.RequestID(r, time.Now()), gateway.ID(r.Context())
				line = gateway.Named(r.Context(), id).String()
			}))(context.Background(), event)
			if err != nil || given != tt.gateway || id != tt.id && (tt.id != "" || !ids.Valid(ids.Request, id)) {
				t.Errorf("%q, %q (%v)", id, given, err)
			}
			// The log line always has the gateway's id, whatever id the caller chose.
			other := given != "" && given != id
			if !strings.Contains(line, "request_id="+id) || strings.Contains(line, "gateway_id="+given) != other {
				t.Errorf("logged as %s", line)
			}
		})
	}
	if id := gateway.RequestID(&http.Request{}, time.Now()); !strings.HasPrefix(id, "req_") {
		t.Errorf("without a gateway: %q", id)
	}
}

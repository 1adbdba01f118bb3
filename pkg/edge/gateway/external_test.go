package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"svc/pkg/edge/gateway"
)

// TestGreedySegment: an HTTP API decodes a path before it looks for a route. A greedy
// parameter of one segment reaches the handler as one segment, whatever it has in it.
func TestGreedySegment(t *testing.T) {
	for value, want := range map[string]string{
		"crm-1042":  "/v1/trips/external/crm-1042",
		"2026/0815": "/v1/trips/external/2026%2F0815",
		"/a//b/":    "/v1/trips/external/%2Fa%2F%2Fb%2F",
		"100%":      "/v1/trips/external/100%25",
		"a%2Fb":     "/v1/trips/external/a%252Fb",
		"a?b#c":     "/v1/trips/external/a%3Fb%23c",
		"é 界":       "/v1/trips/external/%C3%A9%20%E7%95%8C",
	} {
		const route = "/v1/trips/external/{externalId+}"
		path, parameters := "/v1/trips/external/"+value, map[string]string{"externalId": value}
		for version, event := range map[string]map[string]any{
			"2.0": {"version": "2.0", "routeKey": "ANY " + route, "rawPath": path, "pathParameters": parameters,
				"requestContext": map[string]any{"http": map[string]string{"method": "GET", "path": path}}},
			"1.0": {"version": "1.0", "resource": route, "path": path, "httpMethod": "GET", "pathParameters": parameters},
		} {
			raw, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			got, decoded := "", ""
			_, err = gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, decoded = r.URL.EscapedPath(), r.URL.Path
			})).Invoke(context.Background(), raw)
			if err != nil || got != want || decoded != "/v1/trips/external/"+value {
				t.Errorf("%q by payload %s: %s, decoded %s, %v", value, version, got, decoded, err)
			}
		}
	}
}

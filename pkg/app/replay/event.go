package replay

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Event returns the gateway's event of a request, in format 2.0. It has no token and no
// body if they are "".
func Event(token, contentType, method, target, body string) (json.RawMessage, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"host": "api.svc.example",
		"accept": "application/json", "x-forwarded-for": "192.0.2.1",
		"x-forwarded-proto": "https", "x-forwarded-port": "443", "user-agent": "bench/1"}
	if token != "" {
		headers["authorization"] = "Bearer " + token
	}
	if body != "" {
		headers["content-type"] = contentType
	}
	query := map[string]string{}
	for name, values := range u.Query() {
		query[name] = strings.Join(values, ",")
	}
	at := time.Now()
	return json.Marshal(map[string]any{"version": "2.0", "routeKey": "$default", "rawPath": u.Path,
		"rawQueryString": u.RawQuery, "headers": headers,
		"queryStringParameters": query, "body": body, "isBase64Encoded": false,
		"requestContext": map[string]any{"accountId": "123456789012", "apiId": "local", "domainName": "api.svc.example",
			"domainPrefix": "api", "stage": "$default",
			"requestId": fmt.Sprintf("%016x", at.UnixNano()), "routeKey": "$default",
			"time": at.UTC().Format("02/Jan/2006:15:04:05 -0700"), "timeEpoch": at.UnixMilli(),
			"http": map[string]any{"method": method, "path": u.Path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1",
				"userAgent": "bench/1"}}})
}

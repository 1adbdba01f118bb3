package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app"
)

// event returns the gateway's event of a request, in format 2.0.
func event(token, contentType, method, target, body string) (json.RawMessage, error) {
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

// functionOf returns the function that handles a path of the API. It ignores a
// query after the path.
func functionOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return app.FunctionOf(path)
}

// functionsOfOperations returns the function of each operation of the API.
var functionsOfOperations = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, row := range app.Rows(nil) {
		out[row.ID] = app.FunctionOf(row.Path)
	}
	return out
})

// call sends one request and returns the response body. For a status other than
// 2xx it returns an error.
func (w *world) call(ctx context.Context, audience authz.Audience, method, target, body string) ([]byte, error) {
	raw, err := event(w.tokens[audience], "application/json", method, target, body)
	if err != nil {
		return nil, err
	}
	out, err := w.functions[functionOf(target)](ctx, raw)
	if err != nil {
		return nil, err
	}
	return bodyOf(out)
}

func bodyOf(out json.RawMessage) ([]byte, error) {
	var answer struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, fmt.Errorf("status %d: %s", answer.StatusCode, answer.Body)
	}
	return []byte(answer.Body), nil
}

package replay_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/edge/gateway/emulator"
)

const (
	host     = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
	agent    = "replay/1.0"
	sourceIP = "198.51.100.7"
	at       = 1780315200000 // time of every event, in milliseconds
)

// route finds the template's route of a request.
func route(routes []emulator.Route, method, path string) (emulator.Route, map[string]string) {
	best, found, score := emulator.Route{Path: emulator.Default, Method: "ANY", Function: "DocsFunction"},
		map[string]string(nil), -1
	for _, r := range routes {
		if r.Path == emulator.Default || (r.Method != "ANY" && r.Method != method) {
			continue
		}
		parameters, fixed, ok := match(strings.Split(r.Path, "/"), strings.Split(path, "/"))
		points := 2 * fixed
		if r.Method == method { // has precedence over ANY of the same path
			points++
		}
		if ok && points > score {
			best, found, score = r, parameters, points
		}
	}
	return best, found
}

func match(pattern, path []string) (parameters map[string]string, fixed int, ok bool) {
	parameters = map[string]string{}
	for i, part := range pattern {
		name, greedy := strings.CutSuffix(strings.Trim(part, "{}"), "+")
		switch {
		case i >= len(path):
			return nil, 0, false
		case greedy:
			parameters[name] = strings.Join(path[i:], "/")
			return parameters, fixed, true
		case strings.HasPrefix(part, "{"):
			parameters[name] = path[i]
		case part != path[i]:
			return nil, 0, false
		default:
			fixed++
		}
	}
	return parameters, fixed, len(pattern) == len(path)
}

func (r request) headers() map[string]string {
	h := map[string]string{"host": host, "user-agent": agent, "accept": "*/*", "x-forwarded-for": sourceIP,
		"x-forwarded-proto": "https", "x-forwarded-port": "443"}
	if r.person != "" {
		h["authorization"] = "Bearer {{" + r.person + "}}"
	}
	if r.body != "" {
		h["content-type"] = "application/json"
	}
	for name, value := range r.header {
		h[name] = value
	}
	return h
}

// payload returns the body as an HTTP API sends it: JSON unchanged, a form in
// base64.
func (r request) payload() (body string, encoded bool) {
	if strings.Contains(r.headers()["content-type"], "form") {
		return base64.StdEncoding.EncodeToString([]byte(r.body)), true
	}
	return r.body, false
}

// events returns the content of the request's files, by payload.
func (r request) events(routes []emulator.Route) map[string][]byte {
	to, parameters := route(routes, r.method, r.path)
	for name, value := range parameters { // an HTTP API decodes them
		parameters[name], _ = url.PathUnescape(value)
	}
	r.path, _ = url.PathUnescape(r.path)
	return map[string][]byte{"v2": indented(r.v2(to, parameters)), "v1": indented(r.v1(to, parameters))}
}

// routeKey is the route's key in an event of payload 2.0.
func routeKey(r emulator.Route) string {
	if r.Path == emulator.Default {
		return emulator.Default
	}
	return r.Method + " " + r.Path
}

// v2 returns the request as payload 2.0.
func (r request) v2(to emulator.Route, parameters map[string]string) any {
	key := routeKey(to)
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: key, RawPath: r.path, RawQueryString: r.query,
		Headers: r.headers(), PathParameters: parameters,
		RequestContext: events.APIGatewayV2HTTPRequestContext{RouteKey: key, AccountID: "123456789012", APIID: "a1b2c3d4e5",
			Stage:     "$default",
			RequestID: "replayed=", DomainName: host, DomainPrefix: "a1b2c3d4e5", Time: "01/Jun/2026:12:00:00 +0000",
			TimeEpoch: at,
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: r.method, Path: r.path, Protocol: "HTTP/1.1",
				SourceIP: sourceIP, UserAgent: agent}}}
	e.Body, e.IsBase64Encoded = r.payload()
	for name, values := range r.values() {
		if e.QueryStringParameters == nil {
			e.QueryStringParameters = map[string]string{}
		}
		e.QueryStringParameters[name] = strings.Join(values, ",")
	}
	return e
}

// v1 returns the request as payload 1.0, as a REST API sends it.
func (r request) v1(to emulator.Route, parameters map[string]string) any {
	resource := to.Path
	if to.Path == emulator.Default {
		resource, parameters = "/{proxy+}", map[string]string{"proxy": strings.TrimPrefix(r.path, "/")}
	}
	multi := map[string][]string{}
	for name, value := range r.headers() {
		multi[name] = []string{value}
	}
	e := events.APIGatewayProxyRequest{Resource: resource, Path: r.path, HTTPMethod: r.method, Headers: r.headers(),
		MultiValueHeaders: multi, PathParameters: parameters,
		RequestContext: events.APIGatewayProxyRequestContext{AccountID: "123456789012", ResourceID: "res", Stage: "live",
			DomainName: "api.svc.example", DomainPrefix: "api", RequestID: "replayed", Protocol: "HTTP/1.1",
			ResourcePath: resource, Path: r.path, HTTPMethod: r.method, APIID: "a1b2c3d4e5",
			RequestTime: "01/Jun/2026:12:00:00 +0000", RequestTimeEpoch: at,
			Identity: events.APIGatewayRequestIdentity{SourceIP: sourceIP, UserAgent: agent}}}
	e.Body, e.IsBase64Encoded = r.payload()
	if values := r.values(); len(values) > 0 {
		e.MultiValueQueryStringParameters, e.QueryStringParameters = values, map[string]string{}
		for name, list := range values {
			e.QueryStringParameters[name] = list[len(list)-1]
		}
	}
	return e
}

func (r request) values() url.Values {
	values, err := url.ParseQuery(r.query)
	if err != nil {
		panic(fmt.Sprintf("query of %s: %v", r.name, err))
	}
	return values
}

// indented formats an event as its file has it.
func indented(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return text.Bytes()
}

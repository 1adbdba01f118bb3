package emulator

import (
	"encoding/base64"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// The ids of the account and the API in events.
const (
	accountID = "123456789012"
	apiID     = "local"
)

// Event returns the payload 2.0 event of a request, as an HTTP API on its
// $default stage builds it: the path decoded, the query as sent. parameters are
// those of the path, and id is the gateway's id of the request.
func Event(
	r *http.Request, body []byte, route Route, parameters map[string]string, id string, now time.Time,
) events.APIGatewayV2HTTPRequest {
	ip := peer(r)
	domain := hostname(r)
	prefix, _, _ := strings.Cut(domain, ".")
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: route.key(), RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Cookies: cookies(r.Header), Headers: headers(r, ip),
		QueryStringParameters: query(r.URL.RawQuery), PathParameters: parameters,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: route.key(), AccountID: accountID, APIID: apiID, Stage: "$default", RequestID: id,
			DomainName: domain, DomainPrefix: prefix,
			Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: ip, UserAgent: r.UserAgent(),
			},
		},
	}
	switch {
	case len(body) == 0:
	case isText(r.Header.Get("Content-Type")) && utf8.Valid(body):
		e.Body = string(body)
	default:
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e
}

// isText reports whether an HTTP API passes bodies of this type without base64.
// An HTTP API encodes forms in base64.
func isText(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType == ""
	}
	switch t {
	case "application/json", "application/javascript", "application/xml":
		return true
	}
	return strings.HasPrefix(t, "text/")
}

// peer returns the remote address of the request, without its port.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// hostname returns the host of the request in lower case, without its port.
func hostname(r *http.Request) string {
	u := url.URL{Host: r.Host}
	return strings.ToLower(u.Hostname())
}

// headers returns the headers of an event: names in lower case, several values
// joined, without cookies, and with the headers that the gateway adds. ip is the
// client's address.
func headers(r *http.Request, ip string) map[string]string {
	h := make(map[string]string, len(r.Header)+4)
	for name, values := range r.Header {
		if name != "Cookie" {
			h[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	h["host"] = r.Host
	h["x-forwarded-for"] = strings.Join(append(r.Header.Values("X-Forwarded-For"), ip), ", ")
	h["x-forwarded-proto"], h["x-forwarded-port"] = "http", "80"
	if r.TLS != nil {
		h["x-forwarded-proto"], h["x-forwarded-port"] = "https", "443"
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		h["x-forwarded-port"] = port
	}
	return h
}

// cookies returns the request's cookies, each as name=value.
func cookies(h http.Header) []string {
	var list []string
	for _, line := range h.Values("Cookie") {
		for c := range strings.SplitSeq(line, ";") {
			if c = strings.TrimSpace(c); c != "" {
				list = append(list, c)
			}
		}
	}
	return list
}

// query returns the decoded names and values of a query. It joins several
// values of a name by commas. A name or value that cannot be decoded stays
// unchanged.
func query(raw string) map[string]string {
	var m map[string]string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		if m == nil {
			m = map[string]string{}
		}
		if before, ok := m[name]; ok {
			value = before + "," + value
		}
		m[name] = value
	}
	return m
}

// unescape decodes a name or value of a query. A malformed text stays unchanged.
func unescape(s string) string {
	decoded, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return decoded
}

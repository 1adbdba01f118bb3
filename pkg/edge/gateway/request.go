package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

var (
	errMethod = errors.New("gateway: the event's method is not a token")
	errHeader = errors.New("gateway: malformed header")
)

// request builds the http.Request of an event. Its context holds what the
// gateway itself reports about the request.
func (e *event) request(ctx context.Context) (*http.Request, error) {
	method := strings.ToUpper(e.method())
	if !httpguts.ValidHeaderFieldName(method) { // both are tokens, RFC 9110 sections 5.1 and 9.1
		return nil, errMethod
	}
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	header, err := e.header()
	if err != nil {
		return nil, err
	}
	query, err := e.rawQuery()
	if err != nil {
		return nil, err
	}
	// The event's path is already decoded: text that looks like an escape is
	// literal. RequestURI escapes literal "?" and "%" again.
	u := &url.URL{RawQuery: query}
	u.Path, u.RawPath = e.localPath()
	r := &http.Request{
		Method: method, URL: u, RequestURI: u.RequestURI(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Host: e.host(header.Get("Host")),
		Body: http.NoBody, ContentLength: int64(len(body)),
	}
	header.Del("Host")
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	ip := e.sourceIP()
	if ip != "" {
		r.RemoteAddr = net.JoinHostPort(ip, "0")
	}
	return r.WithContext(withEdge(ctx, &edge{sourceIP: ip, event: e})), nil
}

// host returns the domain that the request used. It uses the Host header for
// the port, and for the domain only if the event names none.
func (e *event) host(header string) string {
	domain := e.RequestContext.DomainName
	if domain == "" {
		return header
	}
	if name, _, err := net.SplitHostPort(header); err == nil && strings.EqualFold(name, domain) {
		return header
	}
	return domain
}

// header returns the request's headers. It does not split values.
func (e *event) header() (http.Header, error) {
	h := make(http.Header, len(e.Headers)+1)
	add := func(name string, values []string) error {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: its name", errHeader)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if dropped(name) {
			return nil
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("%w: the value of %s", errHeader, name)
			}
		}
		h[name] = append(h[name], values...)
		return nil
	}
	for name, values := range e.MultiValueHeaders {
		if err := add(name, values); err != nil {
			return nil, err
		}
	}
	for name, value := range e.Headers {
		if _, ok := e.MultiValueHeaders[name]; ok {
			continue
		}
		if err := add(name, []string{value}); err != nil {
			return nil, err
		}
	}
	if e.v2 && len(e.Cookies) > 0 {
		h.Del("Cookie")
		if err := add("Cookie", []string{strings.Join(e.Cookies, "; ")}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// dropped reports whether to remove a header. A client could forge its address
// with some of these headers. The others describe the connection to the gateway.
// Content-Length is one of them, because request takes the length from the
// decoded body.
func dropped(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip", "True-Client-Ip", "Connection", "Keep-Alive", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded")
}

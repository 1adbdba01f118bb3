package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Transport is an http.RoundTripper for short requests with short responses. The
// calling goroutine sends the request in one piece, and reads the complete
// response. net/http runs two more goroutines for each connection. Switching
// between goroutines costs more processor time than a short request itself.
//
// Transport speaks HTTP/1.1. Requests that need a proxy go to Proxied.
type Transport struct {
	Proxied http.RoundTripper
	TLS     *tls.Config
	Idle    int // maximum number of idle connections per address; at least 1

	// Dial connects. nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu   sync.Mutex
	idle map[string][]*connection // by scheme and address; in each list, the last was used last
}

// longestIdle is how long a connection may be idle before a request uses it
// again. The wall clock measures this time, because Lambda stops a process
// between two events, and the monotonic clock may stop with it.
const longestIdle = 90 * time.Second

// largestResponse limits a response with its headers, in bytes. DynamoDB returns
// at most 16 MB of items in a response; their JSON is larger.
const largestResponse = 32 << 20

// mostInterim is how many responses with a status below 200 may precede the
// final response.
const mostInterim = 5

var (
	errTooLarge = errors.New("the response and its headers are larger than 32 MiB")
	errNotHTTP  = errors.New("the response is not HTTP/1.1")
)

type connection struct {
	net.Conn // TCP or TLS
	tcp      net.Conn
	in       *bufio.Reader // of this connection
	left     int           // bytes that the current response may still have
	failed   error         // of the last read
	since    time.Time     // when the last request ended
}

// Read implements io.Reader. It returns errTooLarge when the response exceeds
// largestResponse.
func (c *connection) Read(p []byte) (n int, err error) {
	if c.left <= 0 {
		n, err = 0, errTooLarge
	} else {
		n, err = c.Conn.Read(p[:min(len(p), c.left)])
	}
	c.left -= n
	c.failed = err
	return n, err
}

// Close implements io.Closer. It closes the TCP connection directly, because
// tls.Conn.Close first sends close_notify, which may block on a silent server.
func (c *connection) Close() error { return c.tcp.Close() }

// RoundTrip implements http.RoundTripper. The response's body is in memory. On
// Unix, RoundTrip does not use a connection that the server closed while it was
// idle. If the context ends, the error wraps the context's. If RoundTrip fails
// before it writes the request, the error is a net.OpError with the operation
// "dial". No error quotes the request or the response. For a request that goes
// to Proxied, the response and the errors are those of Proxied.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = ReadBody(req.Body, req.ContentLength); err != nil {
			return nil, unsent(fmt.Errorf("body of a request: %w", err))
		}
	}
	if proxy, err := http.ProxyFromEnvironment(req); proxy != nil || err != nil {
		return t.proxied(req, body)
	}
	message, err := message(req, body)
	if err != nil {
		return nil, unsent(err)
	}
	ctx := req.Context()
	c, err := t.connection(ctx, req)
	if err != nil {
		return nil, unsent(contextual(ctx, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // ends reads and writes
	res, err := c.exchange(req, message)
	if !stop() || err != nil || res.Close {
		_ = c.Close()
	} else {
		t.keep(req, c)
	}
	if err != nil {
		return nil, contextual(ctx, err)
	}
	return res, nil
}

// proxied sends the request through Proxied, with a body in memory. The SDK
// sometimes closes its own body while net/http still reads it, which would
// break the connection.
func (t *Transport) proxied(req *http.Request, body []byte) (*http.Response, error) {
	again := req.WithContext(req.Context()) // a shallow copy
	if req.Body != nil {
		again.Body, again.ContentLength = Body(body), int64(len(body))
	}
	return t.Proxied.RoundTrip(again)
}

// unsent returns the error of a request of which nothing was sent: a net.OpError
// with the operation "dial".
func unsent(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

// contextual returns the context's error if the context has ended, else err.
// When a context ends, reads and writes of its connection also fail, but with
// an error that does not say why.
func contextual(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// written are the headers that message writes itself.
var written = map[string]bool{"Content-Length": true, "Host": true}

// message returns the request as it is sent.
func message(req *http.Request, body []byte) ([]byte, error) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	out := bytes.NewBuffer(make([]byte, 0, len(body)+1024))
	out.WriteString(req.Method + " " + req.URL.RequestURI() + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: ")
	out.WriteString(strconv.Itoa(len(body)) + "\r\n")
	if err := req.Header.WriteSubset(out, written); err != nil {
		return nil, err
	}
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes(), nil
}

// exchange sends the message and reads the response.
func (c *connection) exchange(req *http.Request, message []byte) (*http.Response, error) {
	if _, err := c.Write(message); err != nil {
		return nil, err
	}
	c.left = largestResponse
	res, err := c.response(req)
	if err != nil {
		return nil, err
	}
	body, err := ReadBody(res.Body, res.ContentLength)
	if err != nil {
		return nil, err
	}
	if c.in.Buffered() > 0 { // more than one response to one request
		res.Close = true
	}
	res.Body = Body(body)
	return res, nil
}

// response reads the final response up to its body. It skips interim responses,
// such as 100 Continue, because they do not say whether the request succeeded.
func (c *connection) response(req *http.Request) (*http.Response, error) {
	for range mostInterim + 1 {
		res, err := http.ReadResponse(c.in, req)
		switch {
		case err == nil && res.StatusCode >= http.StatusOK:
			return res, nil
		case err == nil && res.StatusCode != http.StatusSwitchingProtocols:
			continue
		case errors.Is(c.failed, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil && c.failed != nil:
			return nil, c.failed
		}
		break // do not return net/http's error: it quotes the response
	}
	return nil, errNotHTTP
}

// connection returns an idle connection, or opens a new one.
func (t *Transport) connection(ctx context.Context, req *http.Request) (*connection, error) {
	if err := ctx.Err(); err != nil { // an idle connection would still accept the request
		return nil, err
	}
	for c := t.take(req); c != nil; c = t.take(req) {
		if time.Now().Round(0).Sub(c.since) < longestIdle && alive(c.tcp) {
			return c, nil
		}
		_ = c.Close()
	}
	dial := t.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	tcp, err := dial(ctx, "tcp", address(req.URL))
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: tcp, tcp: tcp}
	if req.URL.Scheme == "https" {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if t.TLS != nil {
			config = t.TLS.Clone()
		}
		config.ServerName, config.NextProtos = req.URL.Hostname(), []string{"http/1.1"}
		secure := tls.Client(tcp, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = tcp.Close()
			return nil, err
		}
		c.Conn = secure
	}
	c.in = bufio.NewReader(c)
	return c, nil
}

// address returns the host and port to connect to.
func address(u *url.URL) string {
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// take removes and returns the idle connection that was used last. It returns
// nil if there is none.
func (t *Transport) take(req *http.Request) *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := req.URL.Scheme + "://" + req.URL.Host
	kept := t.idle[name]
	if len(kept) == 0 {
		return nil
	}
	c := kept[len(kept)-1]
	kept[len(kept)-1] = nil
	t.idle[name] = kept[:len(kept)-1]
	return c
}

// keep adds the connection to the idle ones. If there are then more than Idle,
// or if the oldest has been idle for longestIdle, keep closes the oldest.
func (t *Transport) keep(req *http.Request, c *connection) {
	c.since = time.Now().Round(0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = map[string][]*connection{}
	}
	name := req.URL.Scheme + "://" + req.URL.Host
	kept := append(t.idle[name], c)
	if oldest := kept[0]; len(kept) > max(t.Idle, 1) || c.since.Sub(oldest.since) >= longestIdle {
		_ = oldest.Close()
		kept[0] = nil
		kept = kept[1:]
	}
	t.idle[name] = kept
}

// memory is a body in memory.
type memory struct {
	bytes.Reader
	all []byte
}

// Close implements io.Closer.
func (*memory) Close() error { return nil }

// Body returns a body in memory. ReadBody does not copy it.
func Body(b []byte) io.ReadCloser {
	m := &memory{all: b}
	m.Reset(b)
	return m
}

// ReadBody reads and closes a body. length is its length in bytes, −1 if it is
// not known. For an unread body that Body returned, the result is the slice
// that Body was called with, not a copy.
func ReadBody(body io.ReadCloser, length int64) ([]byte, error) {
	if m, ok := body.(*memory); ok && m.Len() == len(m.all) {
		return m.all, nil
	}
	var buf bytes.Buffer
	if length > 0 && length < 32<<20 { // a response has at most 16 MB
		buf.Grow(int(length) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(body)
	return buf.Bytes(), errors.Join(err, body.Close())
}

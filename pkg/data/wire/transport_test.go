package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc/pkg/data/wire"
)

// server answers requests with raw text.
type server struct {
	url      string
	accepted atomic.Int32 // connections
	requests atomic.Int32
}

// serve starts a server. respond gets each request and the number of requests
// before it. The connection stays open if it reports true.
func serve(t *testing.T, respond func(c net.Conn, body string, n int) bool) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &server{url: "http://" + listener.Addr().String()}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			go s.connection(c, respond)
		}
	}()
	return s
}

func (s *server) connection(c net.Conn, respond func(c net.Conn, body string, n int) bool) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !respond(c, string(body), int(s.requests.Add(1))-1) {
			return
		}
	}
}

// post sends a request and returns the response's body.
func post(ctx context.Context, t *wire.Transport, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, wire.Body([]byte(body)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "secret")
	req.ContentLength = int64(len(body))
	res, err := t.RoundTrip(req)
	if err != nil {
		return "", err
	}
	read, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, read), err
}

const (
	plain   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// TestResponses: a response is read to its end, and not further. A connection is
// used again only if it has no bytes after the response.
func TestResponses(t *testing.T) {
	for name, test := range map[string]struct {
		raw, want   string // want is "" for an error
		connections int32  // after a second request
	}{
		"with a length":          {plain, "200 ok", 1},
		"without a body":         {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 ", 1},
		"in chunks":              {chunked + "2\r\nok\r\n1\r\n!\r\n0\r\n\r\n", "200 ok!", 1},
		"no content":             {"HTTP/1.1 204 No Content\r\n\r\n", "204 ", 1},
		"an error":               {"HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad", "400 bad", 1},
		"told to close":          {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "200 ok", 2},
		"of HTTP/1.0":            {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok", 2},
		"after 100 Continue":     {"HTTP/1.1 100 Continue\r\n\r\n" + plain, "200 ok", 1},
		"after Early Hints":      {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", 5) + plain, "200 ok", 1},
		"after hints for ever":   {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50) + plain, "", 2},
		"another protocol":       {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + plain, "", 2},
		"twice":                  {plain + plain, "200 ok", 2},
		"with bytes behind it":   {plain + "x", "200 ok", 2},
		"not HTTP":               {"{\"secret\":1}\r\n\r\n", "", 2},
		"a header that is none":  {"HTTP/1.1 200 OK\r\nsecret\r\n\r\n", "", 2},
		"two lengths":            {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "", 2},
		"a chunk that is none":   {chunked + "secret\r\nok", "", 2},
		"without end of headers": {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("secret", 6<<20), "", 2},
		"without end":            {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + strings.Repeat("x", 33<<20), "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(c net.Conn, _ string, n int) bool {
				text := plain
				if n == 0 {
					text = test.raw
				}
				_, err := io.WriteString(c, text)
				return err == nil
			})
			transport := &wire.Transport{}
			got, err := post(t.Context(), transport, s.url, "secret")
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("it quotes the response: %v", err)
			}
			if again, err := post(t.Context(), transport, s.url, ""); again != "200 ok" || err != nil {
				t.Errorf("the next request: %q, %v", again, err)
			}
			if n := s.accepted.Load(); n != test.connections {
				t.Errorf("%d connections, want %d", n, test.connections)
			}
		})
	}
}

// TestCutResponses: a response that ends early gives an error, wherever it ends.
func TestCutResponses(t *testing.T) {
	for _, whole := range []string{plain, chunked + "2\r\nok\r\n0\r\n\r\n"} {
		s := serve(t, func(c net.Conn, _ string, n int) bool {
			_, _ = io.WriteString(c, whole[:n])
			return false
		})
		transport := &wire.Transport{}
		for cut := range len(whole) {
			if got, err := post(t.Context(), transport, s.url, ""); err == nil || isUnsent(err) {
				t.Errorf("%q: %q, %v", whole[:cut], got, err)
			}
		}
	}
}

// isUnsent reports whether an error says that no server has the request.
func isUnsent(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}

// TestBodyUntilTheEnd: a response without a length ends with its connection.
func TestBodyUntilTheEnd(t *testing.T) {
	s := serve(t, func(c net.Conn, _ string, _ int) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nall of it")
		return false
	})
	if got, err := post(t.Context(), &wire.Transport{}, s.url, ""); got != "200 all of it" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHEAD: the response to HEAD has a length but no body.
func TestHEAD(t *testing.T) {
	s := serve(t, func(c net.Conn, _ string, _ int) bool {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n")
		return true
	})
	transport := &wire.Transport{}
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+"/a?b=c", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusOK || s.accepted.Load() != 1 {
			t.Errorf("%v, %d connections", err, s.accepted.Load())
		}
	}
}

// TestClosedWhileIdle: no request goes to a connection that the server has
// closed, or on which it has sent something, since the last response.
func TestClosedWhileIdle(t *testing.T) {
	for name, after := range map[string]func(net.Conn) error{
		"closed":      net.Conn.Close,
		"half closed": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
		"reset":       func(c net.Conn) error { _ = c.(*net.TCPConn).SetLinger(0); return c.Close() },
		"a response to no request": func(c net.Conn) error {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nothers")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var first atomic.Pointer[net.Conn]
			s := serve(t, func(c net.Conn, body string, n int) bool {
				if n == 0 {
					first.Store(&c)
				}
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				return true
			})
			transport := &wire.Transport{}
			if got, err := post(t.Context(), transport, s.url, "1"); got != "200 1" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			if err := after(*first.Load()); err != nil {
				t.Fatal(err)
			}
			for _, body := range []string{"2", "3"} {
				if got, err := post(t.Context(), transport, s.url, body); got != "200 "+body || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
			if s.accepted.Load() != 2 {
				t.Errorf("%d connections", s.accepted.Load())
			}
		})
	}
}

// TestCancelled: a request ends with its context, whatever the server does. Its
// connection takes no other request.
func TestCancelled(t *testing.T) {
	for _, sent := range []string{"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"HTTP/1.1 103 Early Hints\r\n\r\n"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, func(c net.Conn, _ string, n int) bool {
			if n > 0 {
				_, _ = io.WriteString(c, plain)
				return true
			}
			_, _ = io.WriteString(c, sent)
			cancel()
			return true
		})
		transport := &wire.Transport{}
		if got, err := post(ctx, transport, s.url, ""); !errors.Is(err, context.Canceled) || isUnsent(err) {
			t.Errorf("after %q: %q, %v", sent, got, err)
		}
		if got, err := post(t.Context(), transport, s.url, ""); got != "200 ok" || err != nil || s.accepted.Load() != 2 {
			t.Errorf("the next request: %q, %v, %d connections", got, err, s.accepted.Load())
		}
	}
}

// TestEndedBefore: a request whose context has ended is not sent, not even on a
// connection that is open.
func TestEndedBefore(t *testing.T) {
	s := serve(t, func(c net.Conn, _ string, _ int) bool {
		_, _ = io.WriteString(c, plain)
		return true
	})
	transport := &wire.Transport{}
	for range 3 {
		if got, err := post(t.Context(), transport, s.url, ""); got != "200 ok" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		if got, err := post(ctx, transport, s.url, ""); !errors.Is(err, context.DeadlineExceeded) || !isUnsent(err) {
			t.Errorf("%q, %v", got, err)
		}
		cancel()
	}
	if s.requests.Load() != 3 || s.accepted.Load() != 1 {
		t.Errorf("%d requests on %d connections", s.requests.Load(), s.accepted.Load())
	}
}

// TestCancelledAtAnyTime: each request gets its own response or the context's
// error, and none suffers from the end of another's context.
func TestCancelledAtAnyTime(t *testing.T) {
	s := serve(t, func(c net.Conn, body string, _ int) bool {
		_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return err == nil
	})
	transport := &wire.Transport{Idle: 4}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 100 {
				body := fmt.Sprintf("%d/%d", worker, i)
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				got, err := post(ctx, transport, s.url, body)
				if (err != nil || got != "200 "+body) && (i%2 == 1 || !errors.Is(err, context.Canceled)) {
					t.Errorf("%s: %q, %v", body, got, err)
				}
				cancel() // after the response: it must not harm the connection
			}
		})
	}
	group.Wait()
}

// TestIdleConnections: no more connections are kept than allowed.
func TestIdleConnections(t *testing.T) {
	const atOnce, kept = 5, 2
	var all, ended sync.WaitGroup
	all.Add(atOnce)
	s := serve(t, func(c net.Conn, _ string, n int) bool {
		if n < atOnce {
			all.Done()
			all.Wait()
		}
		_, _ = io.WriteString(c, plain)
		return true
	})
	closed := atomic.Int32{}
	transport := &wire.Transport{Idle: kept, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &counted{c, &closed}, err
	}}
	for range atOnce {
		ended.Go(func() {
			if got, err := post(t.Context(), transport, s.url, ""); got != "200 ok" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	ended.Wait()
	if closed.Load() != atOnce-kept {
		t.Errorf("%d of %d connections were closed", closed.Load(), atOnce)
	}
}

// counted counts closed connections.
type counted struct {
	net.Conn
	closed *atomic.Int32
}

func (c *counted) Close() error {
	c.closed.Add(1)
	return c.Conn.Close()
}

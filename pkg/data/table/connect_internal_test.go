package table

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"svc/pkg/base/fault"
)

// TestNoConnection: a transaction that never had a connection was not executed,
// and the error says so.
func TestNoConnection(t *testing.T) {
	t.Parallel() // it waits between attempts
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never responds to a TLS handshake
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	plain := httptest.NewServer(http.NotFoundHandler()) // speaks no TLS
	t.Cleanup(plain.Close)
	refusing := free.Addr().String()
	_ = free.Close()
	for name, endpoint := range map[string]string{"refused": "http://" + refusing,
		"silent": "https://" + silent.Addr().String(), "no TLS": "https://" + plain.Listener.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := Open(t.Context(), Options{Table: "t", Endpoint: endpoint})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := increment(ctx, db.Tenant("x")); !errors.Is(err, fault.Unavailable(nil)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// numbered starts a server. It calls respond with the number of each request.
func numbered(t *testing.T, respond func(n int32, w http.ResponseWriter)) string {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		respond(n.Add(1), w)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestClosedWhileIdle: if the table closes an idle connection, the request goes
// over another one within the same attempt. If that one then fails, nobody may
// say that nothing was written.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel() // it waits between attempts
	for name, test := range map[string]struct {
		status int
		want   error
	}{"then carried out": {http.StatusOK, nil}, "then throttled": {http.StatusBadRequest, fault.OutcomeUnknown(nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts := map[string]bool{}
			endpoint := numbered(t, func(n int32, w http.ResponseWriter) {
				switch n {
				case 1:
					_, _ = io.WriteString(w, "{}")
				case 2:
					panic(http.ErrAbortHandler) // closes the connection
				default:
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, map[bool]string{true: "{}", false: `{"__type":"x#ThrottlingException"}`}[test.want == nil])
				}
			})
			db, err := Open(t.Context(), Options{Table: "t", Endpoint: endpoint,
				Transport: func(next http.RoundTripper) http.RoundTripper {
					return roundTrip(func(r *http.Request) (*http.Response, error) {
						attempts[r.Header.Get("Amz-Sdk-Request")] = true
						return next.RoundTrip(r)
					})
				}})
			if err != nil {
				t.Fatal(err)
			}
			if err := increment(t.Context(), db.Tenant("x")); err != nil {
				t.Fatal(err)
			}
			clear(attempts)
			if err := increment(t.Context(), db.Tenant("x")); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if want := map[bool]int{true: 1, false: 4}[test.want == nil]; len(attempts) != want {
				t.Errorf("attempts %v, want %d", attempts, want)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

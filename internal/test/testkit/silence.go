package testkit

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// Silence simulates a table that sometimes does not respond. The requests go
// through an HTTP proxy. For a silent request, it keeps the connection open and
// sends nothing.
type Silence struct {
	Every     int    // every n-th request gets no response
	Operation string // affects only this operation, as "Query"; "" means all
	CarryOut  bool   // all silent requests are executed; without it, every second one
}

// Silence starts a silence; Restore ends it.
func (w *Wire) Silence(t testing.TB, s Silence) {
	t.Helper()
	var n atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		counted := strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+s.Operation) || s.Operation == ""
		turn := int64(0)
		if counted {
			turn = n.Add(1)
		}
		silent := counted && turn%int64(s.Every) == 0
		if silent && !s.CarryOut && turn/int64(s.Every)%2 == 0 {
			<-r.Context().Done()
			return
		}
		//nolint:noctx // executed even if the caller has disconnected
		again, _ := http.NewRequest(r.Method, r.Header.Get(behindProxy)+r.URL.Path, bytes.NewReader(body))
		again.Header = r.Header.Clone()
		again.Header.Del(behindProxy)
		res, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		answer, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if silent {
			<-r.Context().Done()
			return
		}
		for name, values := range res.Header {
			rw.Header()[name] = values
		}
		rw.WriteHeader(res.StatusCode)
		_, _ = rw.Write(answer)
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.set(func() { w.proxy = at })
}

// behindProxy is the header that contains the engine's address for the proxy.
const behindProxy = "X-Behind-Proxy"

// through redirects a request to the proxy.
func through(proxy *url.URL, r *http.Request) *http.Request {
	again := r.Clone(r.Context())
	again.Header.Set(behindProxy, r.URL.Scheme+"://"+r.URL.Host)
	again.URL.Host = proxy.Host
	return again
}

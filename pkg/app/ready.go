package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// Limits of /health/ready. A check may take readyTime. Its result is kept for
// readyKept, so that many callers cause no more load on the table and the key
// service than one.
const (
	readyTime = 3 * time.Second
	readyKept = time.Second
)

// readiness serves /health/ready. It checks that the table can be read, and
// that the key service decrypts the current ES256 signing key. On a laptop it also
// checks that the disk takes writes. The request needs no token.
type readiness struct {
	p    *Runtime
	keys *signing.Keys

	mu     sync.Mutex // held during a check: concurrent callers share its result
	until  time.Time  // when the result expires
	failed string     // "table", "keys" or "disk" if it failed in the last check, else ""
}

// authorization returns the handler of OAuthFunction: the authorization server and
// /health/ready. The latter is here because no other function may open signing keys.
func (p *Runtime) authorization() http.Handler {
	server, ready := p.AuthorizationServer().Handler(), &readiness{p: p, keys: p.Keys()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health/ready" {
			ready.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (h *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(gateway.RequestHeader, gateway.RequestID(r, h.p.Now()))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		api.WriteError(w, &fault.Error{Kind: fault.KindMethod, Allow: "GET, HEAD",
			Message: "The resource does not support this method."})
		return
	}
	status, body := http.StatusOK, `{"status":"ok"}`
	if failed := h.check(r.Context()); failed != "" {
		w.Header().Set("Retry-After", "1")
		status, body = http.StatusServiceUnavailable, `{"status":"unavailable","failed":"`+failed+`"}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(body)) // the client may have disconnected
	}
}

// check returns what fails, "table", "keys" or "disk", or "" if none fails.
func (h *readiness) check(ctx context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.p.Now().Before(h.until) {
		return h.failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	var err error
	if h.failed, err = h.keys.Ready(ctx); err == nil && h.p.Writable != nil {
		if err = h.p.Writable(); err != nil {
			h.failed = "disk"
		}
	}
	if err != nil {
		h.p.Logger.ErrorContext(ctx, "not ready", "failed", h.failed, "error", err)
	}
	h.until = h.p.Now().Add(readyKept)
	return h.failed
}

package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"svc/pkg/edge/gateway"
	"svc/pkg/oauth/discovery"
	"svc/pkg/oauth/protocol"
)

// fail writes the error response for err. It logs an error with a 5xx status, unless
// the request's context has ended.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := protocol.AsError(err)
	protocol.Note(r, e.Code)
	status := e.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "request failed", named(r.Context(), w), "path",
			r.URL.Path, "error", err)
	}
	if e.Authenticate != "" {
		w.Header().Set("WWW-Authenticate", e.Authenticate)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", protocol.Seconds(e.RetryAfter))
	}
	protocol.WriteJSON(w, status, map[string]string{"error": e.Code, "error_description": e.Description})
}

// named returns the members of a log line that identify the request.
func named(ctx context.Context, w http.ResponseWriter) slog.Attr {
	return gateway.Named(ctx, w.Header().Get(gateway.RequestHeader))
}

// logged wraps next and writes one log line for every response with a 4xx status. Of the
// request, the line contains only the id and the method: the path is the route's, not the
// caller's. Server.fail and pages.fail log a 5xx, with its cause.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusRecorder{ResponseWriter: w}
		ctx, code := protocol.Noted(r.Context())
		next.ServeHTTP(seen, r.WithContext(ctx))
		protocol.Note(r, *code) // for the handler that wraps this one
		if seen.status < http.StatusBadRequest || seen.status >= http.StatusInternalServerError {
			return
		}
		route := "unknown"
		switch {
		case s.routes[r.URL.Path] != nil && !strings.Contains(r.URL.Path, "{"):
			route = r.URL.Path
		case strings.HasPrefix(r.URL.Path, discovery.ResourcePath):
			route = discovery.ResourcePath
		case s.match(r) != nil:
			route = "/oauth/register/{client_id}"
		}
		s.log.InfoContext(r.Context(), "request", named(r.Context(), w), "method", r.Method,
			"path", route, "status", seen.status, "error", *code)
	})
}

// statusRecorder keeps the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *statusRecorder) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *statusRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/pkg/signing"
	"svc/pkg/table"
)

// Config says how the server runs.
type Config struct {
	// BaseURL is the public address and the issuer of every token, without a
	// slash at its end.
	BaseURL string
	// Base gives BaseURL per request where it is not known beforehand; nil is
	// BaseURL. It must not believe a header of the caller's.
	Base func(context.Context) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Address gives the caller's address, for throttling; nil or "" is unknown
	// and not throttled.
	Address func(context.Context) string
	// RefreshGrace is for how long the last refresh token may be presented
	// again to get the same successor: 0 to MaxRefreshGrace.
	RefreshGrace time.Duration
	// Documents fetches the metadata of clients that are named by an address; nil
	// is a transport that reaches public addresses only. Tests have their own.
	Documents http.RoundTripper
	// Mail sends one-time links to set a password to who asks for one; nil is
	// none, and nobody is offered one.
	Mail Mailer
	// Limits are the throttles; a zero is its default, a negative number none.
	Limits Limits
}

// Server is the authorization server.
type Server struct {
	config Config
	db     *table.DB
	keys   *signing.Keys
	log    *slog.Logger
	p      table.Platform // clients, codes, sessions, people, throttles
	routes map[string]map[string]handler

	documents *documents
	mailTime  time.Duration
	after     func(time.Duration) <-chan time.Time
}

// New makes the server. keys must be able to sign.
func New(c Config, db *table.DB, keys *signing.Keys, log *slog.Logger) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c.RefreshGrace = min(max(c.RefreshGrace, 0), MaxRefreshGrace)
	c.Limits = c.Limits.orDefault()
	s := &Server{config: c, db: db, keys: keys, log: log, routes: map[string]map[string]handler{}, documents: newDocuments(c.Documents),
		mailTime: mailTime, after: time.After,
		p: db.Platform("CLIENT", "CODE", "SESSION", "PERSON", "EMAIL", "SLUG", "DOMAIN", "THROTTLE", "LINK")}
	for _, r := range routes {
		if s.routes[r.path] == nil {
			s.routes[r.path] = map[string]handler{}
		}
		s.routes[r.path][r.method] = r.handle
	}
	return s
}

func (s *Server) now() time.Time { return s.config.Now().UTC() }

// base is the public address of the service, the issuer.
func (s *Server) base(ctx context.Context) string {
	if s.config.Base != nil {
		return s.config.Base(ctx)
	}
	return s.config.BaseURL
}

// handler answers a request or gives the error to answer with; what is not an
// *Error becomes a 500 or, for a busy table, a 503.
type handler func(*Server, http.ResponseWriter, *http.Request) error

type route struct {
	method, path string
	handle       handler
}

var routes = []route{
	{"POST", "/oauth/register", (*Server).register},
	{"GET", "/oauth/register/{client_id}", (*Server).readClient},
	{"PUT", "/oauth/register/{client_id}", (*Server).replaceClient},
	{"DELETE", "/oauth/register/{client_id}", (*Server).deleteClient},
	{"POST", "/oauth/token", (*Server).token},
	{"POST", "/oauth/revoke", (*Server).revoke},
	{"POST", "/oauth/introspect", (*Server).introspect},

	{"GET", "/oauth/authorize", (*Server).authorize},
	{"POST", "/oauth/authorize", (*Server).authorize},
	{"GET", "/oauth/signin", (*Server).signinPage},
	{"POST", "/oauth/signin", (*Server).signin},
	{"GET", "/oauth/consent", (*Server).reload},
	{"POST", "/oauth/consent", (*Server).consent},
	{"GET", "/oauth/tenant", (*Server).reload},
	{"POST", "/oauth/tenant", (*Server).pickTenant},
	{"GET", "/oauth/password", (*Server).passwordPage},
	{"POST", "/oauth/password", (*Server).setPassword},
	{"GET", "/oauth/forgot", (*Server).forgotPage},
	{"POST", "/oauth/forgot", (*Server).forgot},
	{"GET", "/oauth/userinfo", (*Server).userinfo},
	{"POST", "/oauth/userinfo", (*Server).userinfo},
	{"GET", "/oauth/logout", (*Server).logoutPage},
	{"POST", "/oauth/logout", (*Server).logout},
	{"GET", "/oauth/apps", (*Server).appsPage},
	{"POST", "/oauth/apps", (*Server).endApp},

	{"GET", "/.well-known/jwks.json", (*Server).keySet},
	{"GET", "/.well-known/openid-configuration", (*Server).metadata},
	{"GET", "/.well-known/oauth-authorization-server", (*Server).metadata},
	{"GET", "/.well-known/oauth-protected-resource", (*Server).resourceMetadata},
	{"GET", "/.well-known/oauth-protected-resource/api/v1", (*Server).resourceMetadata}, // RFC 9728 section 3.1
}

// Handler answers everything under /oauth/ and /.well-known/; what is not in
// the list of routes gets 404 or 405 in the service's form.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// maxBody is the size of the largest body taken, in bytes.
const maxBody = 64 << 10

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set(requestHeader, s.requestID(r))
	methods := s.match(r)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := methods[method]
	switch {
	case methods == nil:
		s.fail(w, r, &Error{Status: http.StatusNotFound, Code: "not_found", Description: "There is no such resource."})
		return
	case !ok:
		w.Header().Set("Allow", allowed(methods))
		s.fail(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Description: "The resource does not take this method."})
		return
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if err := handle(s, w, r); err != nil {
		s.fail(w, r, err)
	}
}

// match gives the methods of the path's route, nil for none, and sets the
// path value "client_id".
func (s *Server) match(r *http.Request) map[string]handler {
	const managed = "/oauth/register/"
	if id, ok := strings.CutPrefix(r.URL.Path, managed); ok && id != "" && !strings.Contains(id, "/") {
		r.SetPathValue("client_id", id)
		return s.routes[managed+"{client_id}"]
	}
	if strings.Contains(r.URL.Path, "{") {
		return nil
	}
	return s.routes[r.URL.Path]
}

func allowed(methods map[string]handler) string {
	var names []string
	for name := range methods {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

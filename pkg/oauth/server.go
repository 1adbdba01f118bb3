package oauth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/access/throttle"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/person"
	"svc/pkg/edge/gateway"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/discovery"
	"svc/pkg/oauth/link"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
	"svc/pkg/oauth/tokens"
)

// Config configures the server.
type Config struct {
	// BaseURL is the public address and the issuer of every token, without a
	// trailing slash.
	BaseURL string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Address returns the caller's address, for throttling. If it is nil or
	// returns "", no limit per address applies, and Limits.SignInsAnAccount counts
	// the callers without an address together.
	Address func(context.Context) string
	// RefreshGrace is how long the previous refresh token may be used again to
	// get the same successor. The server takes a value outside 0 to
	// tokens.MaxRefreshGrace as the nearer of the two.
	RefreshGrace time.Duration
	// Documents fetches the metadata of clients whose client_id is an address,
	// and the keys at a client's jwks_uri. If nil, a transport that reaches
	// public addresses only is used.
	Documents http.RoundTripper
	// LocalKeys allows a jwks_uri of this machine, with any port.
	LocalKeys bool
	// Mail sends one-time links to set a password. If nil, the pages do not
	// offer such links.
	Mail Mailer
	// MailTime is how long a request for such a link takes, both for a known and
	// for an unknown account. After this time the server no longer tries to send
	// the mail. 0 means 3 seconds. A negative time neither delays nor limits.
	MailTime time.Duration
	// Limits configure the throttles: 0 means the default, and a negative
	// number means no limit.
	Limits Limits
}

// Limits are the throttles.
type Limits = throttle.Limits

// Token is an access token as an operator of the platform sees it.
type Token = tokens.Token

// Server is the authorization server. It joins the parts of the server under one
// list of endpoints.
type Server struct {
	log       *slog.Logger
	now       func() time.Time
	db        *table.DB
	secure    bool // the public address is https
	routes    map[string]map[string]handler
	clients   *clients.Registry
	tokens    *tokens.Issuer
	pages     *pages
	authorize *authorizePage
	signIn    *signInPage
	picker    *pickerPage
	consent   *consentPage
	terms     *termsPage
	device    *devicePage
	password  *passwordPage
	join      *joinPage
	forgot    *linkPage
	signUp    *linkPage
	apps      *appsPage
	logout    *logoutPage
	discovery discovery.Documents
}

// New returns the server. keys must be able to sign. A nil log discards all log
// lines.
func New(c Config, db *table.DB, keys *signing.Keys, log *slog.Logger) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c.Limits = c.Limits.WithDefaults()
	now := func() time.Time { return c.Now().UTC() }
	s := &Server{log: log, now: now, db: db, secure: strings.HasPrefix(c.BaseURL, "https://"),
		discovery: discovery.Documents{BaseURL: c.BaseURL, Keys: keys}}
	limiter := throttle.New(db, now, c.Address, log)
	s.clients = clients.NewRegistry(db, clients.Options{BaseURL: c.BaseURL, Now: now, Throttle: limiter, Limits: c.Limits,
		Log: log, Documents: c.Documents, LocalKeys: c.LocalKeys})
	s.tokens = tokens.NewIssuer(db, tokens.Options{BaseURL: c.BaseURL, Now: now, Keys: keys, Clients: s.clients,
		Throttle: limiter, TokenFailures: c.Limits.TokenFailures, RefreshGrace: c.RefreshGrace, Devices: c.Limits.Devices})
	s.addPages(c, keys, limiter)
	s.routes = map[string]map[string]handler{}
	for _, r := range s.endpoints() {
		if s.routes[r.path] == nil {
			s.routes[r.path] = map[string]handler{}
		}
		s.routes[r.path][r.method] = r.handle
	}
	return s
}

// addPages adds what people see with a browser.
func (s *Server) addPages(c Config, keys *signing.Keys, limiter *throttle.Throttle) {
	sessions := session.NewStore(s.db, session.Cookies{Secure: s.secure, Key: keys.CursorKey}, s.now)
	known, agreed := company.Companies{DB: s.db, BaseURL: c.BaseURL}, consentStore{s.db, s.now}
	s.pages = &pages{c.BaseURL, s.log, sessions}
	asked := &authorizations{s.clients, keys, known, sessions, s.tokens}
	decided := &decisions{s.pages, s.db, known, s.clients, s.tokens, s.now}
	s.signIn = &signInPage{s.pages, asked, decided.owner, &signInCheck{sessions, limiter, c.Limits, s.now},
		c.Mail != nil}
	s.picker, s.consent = &pickerPage{asked, decided}, &consentPage{asked, decided, agreed}
	s.terms, s.device = &termsPage{asked, decided}, &devicePage{asked, s.pages, limiter, c.Limits.UserCodes}
	s.authorize = &authorizePage{asked, decided, s.signIn, s.picker, s.consent, s.terms}
	s.password = &passwordPage{s.pages, asked, link.NewStore(s.db, s.now), c.Mail != nil}
	s.join = &joinPage{s.pages, s.password, s.signIn.check, person.Store{DB: s.db}}
	s.forgot = &linkPage{name: forgotForm, pages: s.pages, authorizations: asked, links: s.password.links,
		throttle: limiter, limit: c.Limits.Links, mail: c.Mail, wait: cmp.Or(c.MailTime, mailTime), after: time.After}
	signUp := *s.forgot
	signUp.name, signUp.limit, s.signUp = signUpForm, c.Limits.SignUps, &signUp
	s.apps = &appsPage{s.pages, known, agreed, s.signIn}
	s.logout = &logoutPage{s.pages, keys, s.clients, known}
}

// Tokens lists the tenant's live access tokens; see tokens.Issuer.List.
func (s *Server) Tokens(ctx context.Context, t table.Tenant, after string, limit int) ([]Token, string, error) {
	return s.tokens.List(ctx, t, after, limit)
}

// RevokeToken ends an access token of the tenant; see tokens.Issuer.RevokeByID.
func (s *Server) RevokeToken(ctx context.Context, t table.Tenant, by audit.By, jti string) error {
	return s.tokens.RevokeByID(ctx, t, by, jti)
}

// DisableClient disables a client or enables it again; see
// clients.Registry.Disable.
func (s *Server) DisableClient(ctx context.Context, id string, disabled bool) error {
	return s.clients.Disable(ctx, id, disabled)
}

// handler serves a request, or returns an error. protocol.AsError then
// determines the response: 413 for a body that is too large, 503 for a busy
// table, 500 for an unexpected error.
type handler func(http.ResponseWriter, *http.Request) error

type route struct {
	method, path string
	handle       handler
}

func (s *Server) endpoints() []route {
	shown := s.pages.handle
	return []route{
		{"POST", "/oauth/register", s.clients.Register},
		{"GET", "/oauth/register/{client_id}", s.clients.Read},
		{"PUT", "/oauth/register/{client_id}", s.clients.Replace},
		{"DELETE", "/oauth/register/{client_id}", s.clients.Delete},
		{"POST", "/oauth/token", s.tokens.Token},
		{"POST", "/oauth/revoke", s.tokens.Revoke},
		{"POST", "/oauth/introspect", s.tokens.Introspect},
		{"POST", "/oauth/device_authorization", s.tokens.AuthorizeDevice},

		{"GET", "/oauth/authorize", shown(s.authorize.serve)},
		{"POST", "/oauth/authorize", shown(s.authorize.serve)},
		{"GET", "/oauth/signin", shown(s.signIn.reload)},
		{"POST", "/oauth/signin", shown(s.signIn.post)},
		{"GET", "/oauth/consent", shown(reload)},
		{"POST", "/oauth/consent", shown(s.consent.post)},
		{"GET", "/oauth/terms", shown(reload)},
		{"POST", "/oauth/terms", shown(s.terms.post)},
		{"GET", "/oauth/tenant", shown(s.picker.get)},
		{"POST", "/oauth/tenant", shown(s.picker.post)},
		{"GET", "/oauth/device", shown(s.device.get)},
		{"POST", "/oauth/device", shown(s.device.post)},
		{"GET", "/oauth/password", shown(s.password.get)},
		{"POST", "/oauth/password", shown(s.password.post)},
		{"GET", "/oauth/join", shown(s.join.get)},
		{"POST", "/oauth/join", shown(s.join.post)},
		{"GET", "/oauth/forgot", shown(s.forgot.get)},
		{"POST", "/oauth/forgot", shown(s.forgot.post)},
		{"GET", "/oauth/signup", shown(s.signUp.get)},
		{"POST", "/oauth/signup", shown(s.signUp.post)},
		{"GET", "/oauth/userinfo", s.tokens.UserInfo},
		{"POST", "/oauth/userinfo", s.tokens.UserInfo},
		{"GET", "/oauth/logout", shown(s.logout.get)},
		{"POST", "/oauth/logout", shown(s.logout.post)},
		{"GET", "/oauth/apps", shown(s.apps.get)},
		{"POST", "/oauth/apps", shown(s.apps.post)},

		{"GET", "/.well-known/jwks.json", s.discovery.KeySet},
		{"GET", "/.well-known/openid-configuration", s.discovery.Metadata},
		{"GET", "/.well-known/oauth-authorization-server", s.discovery.Metadata},
		{"GET", "/.well-known/oauth-protected-resource", s.discovery.ResourceMetadata},
		{"GET", "/.well-known/oauth-protected-resource/api/v1", s.discovery.ResourceMetadata}, // RFC 9728 section 3.1
	}
}

// Handler serves everything under /oauth/ and /.well-known/. A path or method
// outside the list of routes gets a 404 or 405 in the service's error format.
func (s *Server) Handler() http.Handler { return s.logged(http.HandlerFunc(s.serve)) }

// maxBody is the largest accepted body, in bytes.
const maxBody = 64 << 10

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if s.secure {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000") // RFC 6797: never over plain HTTP
	}
	w.Header().Set(gateway.RequestHeader, gateway.RequestID(r, s.now()))
	methods := s.match(r)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := methods[method]
	switch {
	case methods == nil && page.ShowMissing(w, r, s.pages.baseURL):
		protocol.Note(r, "not_found")
		return
	case methods == nil:
		s.fail(w, r, &protocol.Error{Status: http.StatusNotFound, Code: "not_found",
			Description: "There is no such resource."})
		return
	case !ok:
		w.Header().Set("Allow", allowed(methods))
		s.fail(w, r, &protocol.Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
			Description: "The resource does not support this method. See the header Allow."})
		return
	}
	if r.ContentLength != 0 && protocol.Encoded(r) {
		w.Header().Set("Accept-Encoding", "identity") // RFC 9110 section 15.5.16
		s.fail(w, r, &protocol.Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Description: "The body must not have a Content-Encoding."})
		return
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if err := handle(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// match returns the methods of the path's route, or nil if there is none. For
// the address of a client's management, it sets the path value "client_id".
func (s *Server) match(r *http.Request) map[string]handler {
	const managed = "/oauth/register/"
	if id, ok := strings.CutPrefix(r.URL.Path, managed); ok && id != "" && !strings.Contains(id, "/") {
		r.SetPathValue("client_id", id)
		return s.routes[managed+"{client_id}"]
	}
	if strings.HasPrefix(r.URL.Path, discovery.ResourcePath+"/mcp") {
		return s.routes[discovery.ResourcePath]
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

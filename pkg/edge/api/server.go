package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/base/phone"
	"svc/pkg/data/table"
	"svc/pkg/edge/gateway"
)

// Verifier checks an access token's form, signature, issuer and expiry. This is the
// first access check.
type Verifier interface {
	Verify(ctx context.Context, raw string) (signing.Access, error)
}

// Config configures a Server.
type Config struct {
	DB       *table.DB
	Verifier Verifier
	BaseURL  string                                   // without a trailing slash
	Local    bool                                     // see Caller.Local
	Now      func() time.Time                         // nil means time.Now
	Observe  func(ctx context.Context, o Observation) // logs a request; nil: Logger gets failures only
	Logger   *slog.Logger                             // nil means slog.Default
	Rates    Rates                                    // limits per process
	Sealer   signing.Sealer                           // encrypts secrets that handlers make; nil if none does
	Answers  signing.Sealer                           // encrypts secrets of stored responses; nil if none has one
	Files    Links                                    // nil: Caller.Link panics
	Closing  <-chan struct{}                          // closed when streams must end; nil: never
	Streams  int                                      // limit of streams where each has a process; 0: limits per process
	Begun    func()                                   // called after Caller.Begun; may be nil

	// CursorKey returns the key that authenticates the cursors of Caller.Cursor, nil if
	// there is none yet. KeyedCursors makes Cursor use the key. Set it when all
	// processes can read such cursors.
	CursorKey    func(ctx context.Context) ([]byte, error)
	KeyedCursors bool

	// Phones returns the number that a typed phone stands for in a country, nil if the
	// text is no number. If Phones is nil, no text is parsed.
	Phones func(typed, country string) *phone.Number

	// Mail sends a message, plain text, to one address; nil if the service cannot.
	Mail       func(ctx context.Context, to, subject, text string) error
	MailLimits config.MailLimits
}

// Links makes signed addresses, with which a client downloads or uploads a file.
type Links interface {
	Link(ctx context.Context, file, as string, now time.Time) (string, error)
	Upload(ctx context.Context, file string, most int64, now time.Time) (Upload, error)
}

// Upload tells a client how to upload a file with a form.
type Upload struct {
	URL       string            `json:"url" format:"uri" doc:"Address for a POST of multipart/form-data."`
	Fields    map[string]string `json:"fields" doc:"Fields of the form, all before the field file."`
	MaxBytes  int64             `json:"maxBytes" doc:"Size of the largest file that is accepted."`
	ExpiresAt string            `json:"expiresAt" format:"date-time" doc:"When the address ends."`
}

// LinkLife is how long an address of a file is valid.
const LinkLife = 15 * time.Minute

// Server serves the endpoints that its rows declare.
type Server struct {
	Config
	router  router
	huma    huma.API
	adapter *adapter
	shards  cache[string, int]           // readShards by tenant
	recent  cache[table.Key, table.Item] // items that rows declare with NeedsRecent
	buckets buckets
	streams streams
	clients table.Platform
	posts   table.Platform
	scopes  map[authz.Audience][]string // the scopes that some operation needs, sorted
}

// operation is an endpoint's row, bound to a server.
type operation struct {
	Row
	op     *huma.Operation
	handle func(huma.Context)
	query  map[string]*huma.Param
	body   *huma.Schema
}

// New returns a server of the endpoints rows. It returns an error for a row that Row.check
// rejects, a duplicate operation id, and input that is bound to a header or
// cookie.
func New(cfg Config, rows ...Row) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{Config: cfg, adapter: &adapter{}, scopes: map[authz.Audience][]string{}}
	s.shards.ttl, s.recent.ttl = shardsTTL, recentTTL
	if cfg.DB != nil {
		s.clients, s.posts = cfg.DB.Platform("CLIENT"), cfg.DB.Platform("POST", "POSTS", "JOBS")
	}
	s.huma = newHuma(s.adapter, cfg.BaseURL)
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.ID] {
			return nil, fmt.Errorf("operation %s is defined twice", row.ID)
		}
		seen[row.ID] = true
		if err := row.check(); err != nil {
			return nil, err
		}
		op := s.bind(row)
		for _, p := range op.op.Parameters {
			if (p.In == "header" || p.In == "cookie") && p.Name != idempotencyKey && p.Name != ifMatch {
				return nil, fmt.Errorf("%s: input must not be bound to a %s: %s", row.ID, p.In, p.Name)
			}
		}
		s.router.add(row.Method, row.Path, op)
		for audience, scope := range row.Policy.Scopes {
			if at, known := slices.BinarySearch(s.scopes[audience], scope); scope != "" && !known {
				s.scopes[audience] = slices.Insert(s.scopes[audience], at, scope)
			}
		}
	}
	return s, nil
}

// check rejects an endpoint's row without an id or handler, and a row whose policy permits
// nobody or names a scope that its audience does not have. Only operators may
// need no scope.
func (r Row) check() error {
	if len(r.forms) > 0 && r.Method != http.MethodGet {
		return fmt.Errorf("%s: only a GET has another form than JSON", r.ID) // a stored answer is JSON
	}
	if len(r.Policy.Scopes) == 0 || r.ID == "" || r.register == nil {
		return fmt.Errorf("%s %s has no policy, operation id or handler", r.Method, r.Path)
	}
	for audience, scope := range r.Policy.Scopes {
		rule, known := authz.FindRule(scope)
		switch {
		case scope == "" && audience == authz.Dashboard:
		case !known || rule.Audience != audience:
			return fmt.Errorf("%s: %q is not a scope of the audience %s", r.ID, scope, audience)
		}
	}
	return nil
}

// bind registers the row with huma and returns the operation.
func (s *Server) bind(row Row) *operation {
	op := &operation{Row: row, query: map[string]*huma.Param{}}
	row.register(s.huma, row.describe())
	op.op, op.handle = s.adapter.op, s.adapter.handler
	for _, p := range op.op.Parameters {
		if p.In == "query" {
			op.query[p.Name] = p
		}
	}
	if body := op.op.RequestBody; body != nil {
		op.body = body.Content["application/json"].Schema
	}
	return op
}

// adapter receives the operations that huma registers. Routing and the pipeline
// are in this package.
type adapter struct {
	op      *huma.Operation
	handler func(huma.Context)
}

// Handle implements huma.Adapter: it keeps the operation for bind.
func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	a.op, a.handler = op, handler
}

// ServeHTTP implements huma.Adapter. Nothing calls it.
func (a *adapter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotFound)
}

// Observation describes a completed request, for logs and metrics. It holds no
// personal data.
type Observation struct {
	RequestID string
	Operation string // operation id, "" if no row matched
	Method    string
	Status    int
	Code      string // the error code; "unconfirmed" if a person must confirm the call; "" for success
	Tenant    string
	Client    string
	Audience  string
	Elapsed   time.Duration
	Usage     table.Usage
	Replayed  bool
	Agent     bool  // the token is an agent's, or the request came to the MCP server
	Cause     error // cause of an error response, for the log; nil if there is none
}

// itself is the API as the resource for which access tokens are issued.
var itself = authz.Resource{Path: authz.API}

// ServeHTTP serves one request to the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = s.serve(w, r, Entry{Resource: itself}, (*exchange).serve) // serve has written the error
}

// serve runs a request and writes its response. run makes the checks and calls the
// handler. If the answer is a stream, serve also writes the pages that follow.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, e Entry,
	run func(*exchange, context.Context) error) error {
	began := s.Now()
	id := gateway.RequestID(r, began)
	w.Header().Set(gateway.RequestHeader, id)
	ctx, meter := table.Metered(r.Context())
	x := &exchange{server: s, r: r, header: w.Header(), now: began.UTC().Truncate(time.Millisecond), entry: e}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	x.r = r.WithContext(ctx)
	o := Observation{RequestID: id, Method: r.Method}
	err := run(x, ctx)
	page, follows := x.answer.(Streamed)
	var at place
	if follows = follows && err == nil && !e.polls && r.Method != http.MethodHead; follows {
		at, err = s.enter(ctx, x.caller, lifeOf(r))
	}
	switch {
	case errors.Is(err, errUnconfirmed):
		o.Status, o.Code = http.StatusOK, "unconfirmed"
	case err != nil:
		f := fault.Of(err)
		o.Code, o.Cause = f.Code(), f.Cause
		o.Status = f.Status()
		x.challenge(f)
		writeFault(w, f)
	case x.payload == nil: // Admit calls no operation, and a stream has no payload
		if o.Status = http.StatusOK; page != nil && !e.polls {
			beginStream(w)
		}
	default:
		o.Status = x.status
		x.write(w)
	}
	o.describe(x, s.Now().Sub(began), meter.Usage())
	s.report(ctx, o)
	if follows && err == nil {
		defer at.leave()
		s.follow(w, r, page, at)
	}
	return err
}

// describe copies into o what the request's exchange knows.
func (o *Observation) describe(x *exchange, elapsed time.Duration, usage table.Usage) {
	if x.row != nil {
		o.Operation = x.row.ID
	}
	if x.caller != nil {
		o.Tenant, o.Client, o.Audience = x.caller.Actor.TenantID, x.caller.Actor.ClientID, x.caller.Actor.Audience
	}
	o.Elapsed, o.Usage, o.Replayed = elapsed, usage, x.header.Get("Idempotent-Replayed") != ""
	o.Agent = x.agent || x.entry.Resource.MCP()
}

// report gives a completed request to Observe, which logs it. Without Observe,
// only failures are logged.
func (s *Server) report(ctx context.Context, o Observation) {
	switch {
	case s.Observe != nil:
		s.Observe(ctx, o)
	case o.Status >= http.StatusInternalServerError:
		s.Logger.ErrorContext(ctx, "request", gateway.Named(ctx, o.RequestID), "operation", o.Operation, "status", o.Status,
			"cause", o.Cause)
	}
}

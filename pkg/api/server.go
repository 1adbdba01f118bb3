package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Verifier checks an access token's signature and form (check 1).
type Verifier interface {
	Verify(ctx context.Context, raw string) (signing.Access, error)
}

// Config is what a Server is made of.
type Config struct {
	DB       *table.DB
	Verifier Verifier
	BaseURL  string                                   // without a closing slash
	Now      func() time.Time                         // nil: time.Now
	Observe  func(ctx context.Context, o Observation) // nil: nothing
	Logger   *slog.Logger                             // nil: the default one
	Rates    Rates                                    // of what one process takes
}

// Server serves rows.
type Server struct {
	Config
	router  router
	huma    huma.API
	adapter *adapter
	shards  shards
	buckets buckets
	clients table.Platform
	posts   table.Platform
}

// operation is a row, bound.
type operation struct {
	Row
	op     *huma.Operation
	handle func(huma.Context)
	query  map[string]*huma.Param
	body   *huma.Schema
}

// New makes a server of the rows. A row without a policy, a twice-given
// operation id and a scope that no catalog holds are errors.
func New(cfg Config, rows ...Row) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{Config: cfg, adapter: &adapter{}}
	if cfg.DB != nil {
		s.clients, s.posts = cfg.DB.Platform("CLIENT"), cfg.DB.Platform("POST", "POSTS")
	}
	s.huma = newHuma(s.adapter, cfg.BaseURL)
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.ID] {
			return nil, fmt.Errorf("operation %s is there twice", row.ID)
		}
		seen[row.ID] = true
		if err := row.check(); err != nil {
			return nil, err
		}
		op := s.bind(row)
		for _, p := range op.op.Parameters {
			if (p.In == "header" || p.In == "cookie") && p.Name != idempotencyKey {
				return nil, fmt.Errorf("%s: input is never bound to a %s: %s", row.ID, p.In, p.Name)
			}
		}
		s.router.add(row.Method, row.Path, op)
	}
	return s, nil
}

// check refuses a row whose policy lets nobody in or is not of the catalog.
func (r Row) check() error {
	if len(r.Policy.Scopes) == 0 || r.ID == "" || r.register == nil {
		return fmt.Errorf("%s %s has no policy, operation id or handler", r.Method, r.Path)
	}
	for audience, scope := range r.Policy.Scopes {
		rule, known := authz.RuleOf(scope)
		switch {
		case scope == "" && audience == authz.Dashboard:
		case !known || rule.Audience != audience:
			return fmt.Errorf("%s: %q is no scope of %s", r.ID, scope, audience)
		}
	}
	return nil
}

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

// adapter catches what huma registers; routing and the pipeline are ours.
type adapter struct {
	op      *huma.Operation
	handler func(huma.Context)
}

func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	a.op, a.handler = op, handler
}

func (a *adapter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotFound)
}

// Observation is what there is to know of a request once it is answered. It
// holds nothing personal.
type Observation struct {
	RequestID string
	Operation string // operation id, "" where no row was found
	Method    string
	Status    int
	Word      string // the error word, "" for success
	Tenant    string
	Client    string
	Audience  string
	Elapsed   time.Duration
	Usage     table.Usage
	Replayed  bool
	Cause     error // of a 5xx
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := s.Now()
	id, ok := RequestID(r)
	if !ok {
		id = ids.New(ids.Request, began)
	}
	w.Header().Set("X-Request-Id", id)
	ctx, meter := table.Metered(r.Context())
	x := &exchange{server: s, r: r, header: w.Header(), now: began.UTC().Truncate(time.Millisecond)}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	x.r = r.WithContext(ctx)
	o := Observation{RequestID: id, Method: r.Method}
	if err := x.serve(ctx); err != nil {
		f := fault.Of(err)
		o.Word, o.Cause = f.Word(), f.Cause
		o.Status = f.Status()
		WriteError(w, f, s.BaseURL)
	} else {
		o.Status = x.status
		x.write(w)
	}
	o.describe(x, s.Now().Sub(began), meter.Usage())
	s.report(ctx, o)
}

func (o *Observation) describe(x *exchange, elapsed time.Duration, usage table.Usage) {
	if x.row != nil {
		o.Operation = x.row.ID
	}
	if x.caller != nil {
		o.Tenant, o.Client, o.Audience = x.caller.Actor.TenantID, x.caller.Actor.ClientID, x.caller.Actor.Audience
	}
	o.Elapsed, o.Usage, o.Replayed = elapsed, usage, x.header.Get("Idempotent-Replayed") != ""
}

func (s *Server) report(ctx context.Context, o Observation) {
	level := slog.LevelInfo
	if o.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("request_id", o.RequestID), slog.String("operation", o.Operation), slog.Int("status", o.Status),
		slog.String("tenant_id", o.Tenant), slog.String("client_id", o.Client), slog.Duration("elapsed", o.Elapsed),
		slog.Int("round_trips", o.Usage.Sequential), slog.Float64("read_units", o.Usage.ReadUnits), slog.Float64("write_units", o.Usage.WriteUnits)}
	if o.Word != "" {
		attrs = append(attrs, slog.String("error", o.Word))
	}
	if o.Cause != nil && level == slog.LevelError {
		attrs = append(attrs, slog.String("cause", o.Cause.Error()))
	}
	s.Logger.LogAttrs(ctx, level, "request", attrs...)
	if s.Observe != nil {
		s.Observe(ctx, o)
	}
}

package apptest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/pkg/api"
	"svc/pkg/app"
	"svc/pkg/gateway/emulator"
	"svc/pkg/local"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Service is a running service with two tenants, metro and harbor, as in the
// demo but without people and trips.
type Service struct {
	URL    string
	DB     *table.DB
	Place  *app.Place
	Wire   *testkit.Wire // between the functions and the table
	Clock  *Clock
	Metro  tenant.Tenant
	Harbor tenant.Tenant

	local  *local.Service
	client *http.Client
	mu     sync.Mutex
	seen   map[string]api.Observation // by request id
	tokens map[string]string
	people map[string]string // id by "slug/audience/name"
	logs   *capture
}

// Options change what New runs.
type Options struct {
	Bare         bool // no tenants
	Limits       oauth.Limits
	Rates        api.Rates
	RefreshGrace time.Duration
	Documents    http.RoundTripper // fetches clients' metadata documents
}

// New starts a service that ends with the test.
func New(t testing.TB) *Service {
	t.Helper()
	return With(t, Options{})
}

// With is New with options. Throttles are off unless they are asked for.
func With(t testing.TB, o Options) *Service {
	t.Helper()
	if o.Limits == (oauth.Limits{}) {
		o.Limits = Unthrottled
	}
	s := &Service{Wire: &testkit.Wire{}, Clock: &Clock{}, seen: map[string]api.Observation{}, tokens: map[string]string{},
		people: map[string]string{}, logs: &capture{}, client: &http.Client{Timeout: 5 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	table := "svc"
	if testkit.OnDynamoDBLocal() { // a Java machine for each test would take minutes
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", testkit.Endpoint(t))
		table = testkit.Fresh()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	running, err := local.StartService(ctx, local.ServiceOptions{Data: t.TempDir(), Memory: true, Table: table, Template: patient,
		Build: func(ctx context.Context, at local.Place) (local.App, error) { return s.build(ctx, at, o) },
		Log:   slog.New(slog.NewTextHandler(s.logs, nil)), Engine: io.Discard})
	if err != nil {
		t.Fatalf("starting the service: %v", err)
	}
	s.local, s.URL = running, running.BaseURL
	t.Cleanup(func() {
		running.Close()
		s.client.CloseIdleConnections()
	})
	if !o.Bare {
		s.tenants(t)
	}
	return s
}

// patient is the template with time for a slow machine: a function's own is
// for one that does nothing else.
var patient = regexp.MustCompile(`(?m)^    Timeout: \d+$`).ReplaceAll(svc.Template, []byte("    Timeout: 240"))

// Unthrottled switches every throttle off.
var Unthrottled = oauth.Limits{Registrations: -1, TokenFailures: -1, Documents: -1}

func (s *Service) build(ctx context.Context, at local.Place, o Options) (local.App, error) {
	var err error
	s.DB, err = table.Open(ctx, table.Options{Table: at.Table, Endpoint: at.Endpoint,
		Wire: func(next http.RoundTripper) http.RoundTripper { return s.Wire.Over(at.Wire(next)) }})
	if err != nil {
		return local.App{}, err
	}
	s.Place = &app.Place{DB: s.DB, BaseURL: at.BaseURL, Sealer: signing.NewSealer(), Now: s.Clock.Now, Observe: s.observe,
		Logger: slog.New(slog.NewJSONHandler(s.logs, nil)), RefreshGrace: o.RefreshGrace, Documents: o.Documents, Limits: o.Limits, Rates: o.Rates}
	functions, err := s.Place.Functions()
	if err != nil {
		return local.App{}, err
	}
	out := local.App{Functions: map[string]emulator.Function{}, Streams: s.Place.StreamFunctions(),
		Scheduled: map[string]func(context.Context) error{app.Keys: s.Place.Keys().Rotate}}
	for name, f := range functions {
		out.Functions[name] = f
	}
	return out, nil
}

// Drain waits until the stream functions have taken everything written.
func (s *Service) Drain(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := s.local.Poller.Drain(ctx); err != nil {
		t.Fatalf("draining the stream: %v\n%s", err, s.logs.tail())
	}
	if n := s.local.Poller.DeadLetters(); n > 0 {
		t.Fatalf("%d records went to the dead letters\n%s", n, s.logs.tail())
	}
}

// Still drains the stream and ends its delivery for good, so that nothing runs
// beside the requests that the test itself sends.
func (s *Service) Still(t testing.TB) {
	t.Helper()
	s.Drain(t)
	s.local.Poller.Stop()
}

// Logs gives all that the service logged so far.
func (s *Service) Logs() string { return s.logs.all() }

func (s *Service) observe(_ context.Context, o api.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[o.RequestID] = o
}

// Clock is the service's clock: real time plus what was added.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	held  time.Time // real time as the clock was held, zero while it goes
}

// Now gives the service's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		return c.held.Add(c.ahead)
	}
	return time.Now().Add(c.ahead)
}

// Hold has the clock stand still from now on but for Advance: what is told of
// a window or of a lifetime holds however slow the machine is.
func (c *Clock) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = time.Now()
}

// Advance puts the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

type capture struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if os.Getenv("SVC_TEST_LOGS") != "" {
		_, _ = os.Stderr.Write(p)
	}
	return len(p), nil
}

func (c *capture) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

func (c *capture) tail() string {
	text := c.all()
	return text[max(0, len(text)-4000):]
}

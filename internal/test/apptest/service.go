package apptest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/base/config"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/local/files"
	"svc/pkg/local/service"
	"svc/pkg/oauth"
)

// Service is a running service with two tenants, metro and harbor, without people
// and trips. Unlike in the demo, both have delivery enabled.
type Service struct {
	URL     string
	DB      *table.DB
	Runtime *app.Runtime
	Wire    *testkit.Wire // between the functions and the table
	Clock   *Clock
	Metro   tenant.Tenant
	Harbor  tenant.Tenant

	local  *service.Service
	client *http.Client
	mu     sync.Mutex
	seen   map[string]api.Observation // by request id
	tokens map[string]signedIn
	people map[string]string // id by "slug/audience/name"
	logs   *capture
}

// Options configure New.
type Options struct {
	Bare         bool // no tenants
	Limits       oauth.Limits
	Rates        api.Rates
	RefreshGrace time.Duration
	Documents    http.RoundTripper // fetches clients' metadata documents and keys
	Phones       bool              // phone numbers are read
	Impatient    bool              // functions time out after 30 seconds, not after 240
	KeyedCursors bool              // a key authenticates cursors
	Mail         oauth.Mailer
	MailLimits   config.MailLimits
}

// New starts a service that stops with the test.
func New(t testing.TB) *Service {
	t.Helper()
	return With(t, Options{})
}

// With is New with options. If o.Limits is zero, it is Unthrottled.
func With(t testing.TB, o Options) *Service {
	t.Helper()
	o.Limits = cmp.Or(o.Limits, Unthrottled)
	s := &Service{Wire: &testkit.Wire{}, Clock: &Clock{}, seen: map[string]api.Observation{},
		tokens: map[string]signedIn{}, people: map[string]string{}, logs: &capture{},
		client: &http.Client{Timeout: 5 * time.Minute,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	template := testkit.Template(240)
	if o.Impatient {
		template = testkit.Template(30)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	running, err := service.Start(ctx, service.Options{Data: t.TempDir(), Memory: true,
		// A process for each service would cost more than most tests.
		Endpoint: testkit.Endpoint(t), Table: testkit.Fresh(),
		Template: template,
		Build:    func(ctx context.Context, at service.Environment) (service.App, error) { return s.build(ctx, at, o) },
		Log:      slog.New(slog.NewTextHandler(s.logs, nil))})
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

// ring contains the signing keys that all services of the test process share.
var ring testkit.KeyRing

// Unthrottled disables the throttles of registrations, token failures and client
// documents. The throttles of sign-ins and mailed links keep their defaults.
var Unthrottled = oauth.Limits{Registrations: -1, TokenFailures: -1, Documents: -1}

// build builds the functions for service.Start, with the wire, the clock and the options
// of the test.
func (s *Service) build(ctx context.Context, at service.Environment, o Options) (service.App, error) {
	s.Runtime = &app.Runtime{Sealer: ring.Sealer(), Now: s.Clock.Now, Observe: s.observe,
		Logger: slog.New(slog.NewJSONHandler(s.logs, nil)), RefreshGrace: o.RefreshGrace, Documents: o.Documents,
		Limits: o.Limits, Rates: o.Rates, Mail: o.Mail, MailTime: -1,
		Config: config.Config{KeyedCursors: o.KeyedCursors, MailLimits: o.MailLimits}}
	if o.Phones {
		s.Runtime.ReadPhone = plans.Read
	}
	out, err := localapp.Build(ctx, at, s.Runtime,
		s.Wire.Over)
	s.DB = s.Runtime.DB
	out.Scheduled[app.Keys] = func(ctx context.Context) error { return ring.Rotate(ctx, s.DB, s.Runtime.Keys()) }
	return out, err
}

// Stored returns where the service's items are: the engine's address and the table.
func (s *Service) Stored() (endpoint, table string) { return s.local.Endpoint, s.local.Table }

// Kept returns the folder in which the service keeps files, and what it has logged.
func (s *Service) Kept() (folder, logs string) {
	kept, _ := s.Runtime.Files.(*files.Folder)
	return kept.Dir(), s.logs.all()
}

// Drain waits until the stream functions have processed everything written. None of it
// may be a dead letter.
func (s *Service) Drain(t testing.TB) {
	t.Helper()
	if n := s.DeadLetters(t); n > 0 {
		t.Fatalf("%d records are in the dead-letter queues\n%s", n, s.logs.tail())
	}
}

// DeadLetters waits as Drain does, and returns the number of dead letters.
func (s *Service) DeadLetters(t testing.TB) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := s.local.Poller.Drain(ctx); err != nil {
		t.Fatalf("draining the stream: %v\n%s", err, s.logs.tail())
	}
	return s.local.Poller.DeadLetters()
}

// Still drains the stream and then stops its delivery permanently. Afterwards
// only the test's own requests run.
func (s *Service) Still(t testing.TB) {
	t.Helper()
	s.Drain(t)
	s.local.Poller.Stop()
}

// observe logs a request, and keeps the observation for Answer.Seen.
func (s *Service) observe(ctx context.Context, o api.Observation) {
	app.Requests(s.logs, "")(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[o.RequestID] = o
}

// Clock is the service's clock: real time plus an offset.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	held  time.Time // real time when the clock was stopped; zero while it runs
}

// Now returns the service's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		return c.held.Add(c.ahead)
	}
	return time.Now().Add(c.ahead)
}

// Hold stops the clock; only Advance moves it from then on. So tests of
// windows and lifetimes do not depend on the machine's speed.
func (c *Clock) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = time.Now()
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// capture keeps what the service logs. With SVC_TEST_LOGS set, it also prints the logs.
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

// tail returns the last 4,000 bytes of the logs.
func (c *capture) tail() string {
	text := c.all()
	return text[max(0, len(text)-4000):]
}

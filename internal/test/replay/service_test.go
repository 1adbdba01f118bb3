package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	trips "svc/pkg/domain/trip"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/demo"
	"svc/pkg/local/service"
	"svc/pkg/oauth/flow"
)

// functions maps the template's logical ids to what invokes each function.
var functions = map[string]string{
	"OAuthFunction": "request", "TripsFunction": "request", "FleetFunction": "request", "SettingsFunction": "request",
	"ReportsFunction":  "request",
	"DeliveryFunction": "request", "FeedbackFunction": "request", "MeFunction": "request", "DocsFunction": "request",
	"MCPFunction":        "request",
	"SettlementFunction": "stream", "ProjectionFunction": "stream", "KeysFunction": "schedule",
	"DeliverFunction": "schedule", "JobsFunction": "schedule",
	"SmokeFunction": "hook",
}

// folder returns the folder of a function's main package: TripsFunction is
// functions/trips.
func folder(function string) string { return strings.ToLower(strings.TrimSuffix(function, "Function")) }

// builtIn is the folder of the built functions, "" before they are built.
var builtIn string

// bootstraps builds every function, once for all tests of the process.
var bootstraps = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "svc-replay-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return dir, replay.Build(context.Background(), replay.Builds{Packages: programs}, dir)
})

// programs are the functions, and one that does nothing.
var programs = []string{"svc/functions/...", "svc/internal/test/replay/testdata/hello"}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// demoNow is the time at which the demo is loaded. It is fixed, so that the
// demo's data is the same in every run.
var demoNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// deployment is a table with the demo, the functions as processes, the local
// gateway and the stream poller.
type deployment struct {
	*service.Service
	processes   map[string]*replay.Process
	environment []string
	dir         string
	events      int // that each process handles at once
	tokens      map[string]string
	output      *log
	meet        *meeting // in front of the table, for FeedbackFunction; nil for none

	mu        sync.Mutex
	delivered map[string][]map[string]any // the records that each stream function was given

	db   *table.DB
	told map[string]bool // operations whose change appended an event
}

// log collects the output of the processes. A test prints it when it fails.
type log struct {
	mu   sync.Mutex
	text []byte
	held chan held // memory and goroutines, which a process reports on request
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// lines passes a process's whole lines on, so that those of several processes
// do not mix.
type lines struct {
	log  *log
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		var h held
		if n, _ := fmt.Sscanf(string(line), "holds %d %d", &h.heap, &h.goroutines); n == 2 {
			l.log.held <- h
		} else if _, err := l.log.Write(append(line, '\n')); err != nil {
			return 0, err
		}
		l.rest = bytes.Clone(rest)
	}
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[max(0, len(l.text)-3000):])
}

func start(t *testing.T) *deployment {
	t.Helper()
	dir, err := bootstraps()
	testkit.Must(t, err)
	s := &deployment{dir: dir, events: 1}
	s.start(t)
	return s
}

// start starts the deployment of the programs in dir.
func (s *deployment) start(t *testing.T) {
	t.Helper()
	s.processes, s.tokens, s.output = map[string]*replay.Process{}, map[string]string{}, &log{held: make(chan held, 1)}
	s.delivered = map[string][]map[string]any{}
	t.Cleanup(func() {
		if s.Service != nil {
			s.Close()
		}
		for _, p := range s.processes {
			p.Stop()
		}
	})
	data := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var err error
	s.Service, err = service.Start(ctx, service.Options{Data: data, Memory: true, Table: "svc",
		Template: testkit.Template(240), Log: slog.New(slog.NewJSONHandler(s.output, nil)), Build: s.build})
	if err != nil {
		t.Fatalf("starting the service: %v\n%s", err, s.output.tail())
	}
	db, err := table.Open(ctx, table.Options{Table: s.Table, Endpoint: s.Endpoint, Transport: s.Transport})
	testkit.Must(t, err)
	s.db = db
	_, err = demo.Load(ctx, db, demoNow)
	testkit.Must(t, err)
	loadWebhook(t, db)
	s.dispatch(t, db)
	s.drain(t)
}

// dispatch gives the first driver of one tenant an offer of a pending trip and two rides
// whose riders do not come, and shows the first driver of the other, which has the mode open, such a trip. Offer and
// position last longer than any test.
func (s *deployment) dispatch(t *testing.T, db *table.DB) {
	t.Helper()
	ctx, later := t.Context(), demoNow.AddDate(100, 0, 0)
	pending := func(slug string) (table.Tenant, trips.Trip) {
		n, err := tenant.Store{DB: db}.BySlug(ctx, slug)
		testkit.Must(t, err)
		tn := db.Tenant(n.ID)
		found, _, err := trips.Recent(ctx, tn, trips.Filter{Status: trips.Pending}, "", 1)
		testkit.Must(t, err)
		return tn, found[0]
	}
	metro, tr := pending("metro")
	testkit.Must(t, metro.Load(ctx, dispatch.NewOffer(tr, 1.35, later).Item(metro, "drv_01JMETR0000000000000000001")))
	for _, id := range []string{"trp_01JMETR0000000000000000N01", "trp_01JMETR0000000000000000N02"} {
		it, err := metro.Get(ctx, trips.Key(metro, "trp_01JMETR0000000000000000022"))
		testkit.Must(t, err)
		missed, err := trips.FromItem(it)
		testkit.Must(t, err)
		long := timestamp.Format(demoNow.AddDate(-1, 0, 0)) // the driver has waited long enough for a no-show
		missed.ID, missed.RequestedAt, missed.AcceptedAt, missed.ArrivedAt, missed.UpdatedAt = id, long, &long, &long, long
		testkit.Must(t, metro.Load(ctx, missed.Item(metro, 1)))
	}
	harbor, tr := pending("harbor")
	_, err := settings.Set(ctx, harbor, audit.By{Who: "svc:test", At: demoNow}, func(d *settings.Document) error {
		d.Dispatch.Mode = settings.Open
		return nil
	})
	testkit.Must(t, err)
	who, err := driver.Store.Find(ctx, harbor, "driver1@harbor.example")
	testkit.Must(t, err)
	testkit.Must(t, harbor.Load(ctx, dispatch.OpenItem(harbor, tr), table.Item{Key: driver.LocationKey(harbor, who.ID),
		Type: "location", Attrs: map[string]any{"recordedAt": timestamp.Format(later)},
		Doc: driver.Location{Lat: tr.OriginLat, Lng: tr.OriginLng, RecordedAt: timestamp.Format(later)}}))
}

// build starts the processes.
func (s *deployment) build(_ context.Context, at service.Environment) (service.App, error) {
	out := service.App{Functions: map[string]emulator.Function{}, Streams: map[string]emulator.Function{},
		Scheduled: map[string]func(context.Context) error{}}
	s.environment = append(s.environment, "TABLE_NAME="+at.Table, "AWS_ENDPOINT_URL_DYNAMODB="+at.Endpoint,
		"BASE_URL="+at.BaseURL,
		"SEALING_KEY_FILE="+filepath.Join(at.Data, "sealing.key"))
	if s.meet != nil {
		if err := s.meet.over(at.Endpoint); err != nil {
			return out, err
		}
	}
	for name, by := range functions {
		if by == "hook" { // hook_test.go starts it
			continue
		}
		environment := s.environment
		if s.meet != nil && name == app.Feedback {
			environment = append(slices.Clip(environment), "AWS_ENDPOINT_URL_DYNAMODB="+s.meet.url)
		}
		p, err := replay.StartConcurrent(s.events, name, filepath.Join(s.dir, folder(name)), environment,
			&lines{log: s.output})
		if err != nil {
			return out, err
		}
		s.processes[name] = p
		switch by {
		case "request":
			out.Functions[name] = p.Invoke
		case "stream":
			out.Streams[name] = func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
				s.keep(name, event)
				return p.Invoke(ctx, event)
			}
		case "schedule":
			out.Scheduled[name] = func(ctx context.Context) error {
				_, err := p.Invoke(ctx, json.RawMessage(`{}`))
				return err
			}
		}
	}
	return out, nil
}

// keep stores the records that a function receives.
func (s *deployment) keep(function string, event json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e struct{ Records []map[string]any }
	if json.Unmarshal(event, &e) == nil {
		s.delivered[function] = append(s.delivered[function], e.Records...)
	}
}

func (s *deployment) drain(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := s.Poller.Drain(ctx); err != nil {
		t.Fatalf("draining the stream: %v\n%s", err, s.output.tail())
	}
}

// token returns an access token of one of the demo's people, by mail address.
func (s *deployment) token(t *testing.T, email string) string {
	t.Helper()
	if token := s.tokens[email]; token != "" {
		return token
	}
	for _, one := range demo.People() {
		if one.Email != email {
			continue
		}
		tokens, err := flow.Token(context.Background(), flow.Options{BaseURL: s.BaseURL, Tenant: one.Tenant,
			Audience: string(one.Audience), Email: email, Password: demo.Password})
		if err != nil {
			t.Fatalf("signing in as %s: %v\n%s", email, err, s.output.tail())
		}
		s.tokens[email] = tokens.AccessToken
	}
	return s.tokens[email]
}

// hook is the webhook endpoint that the events of events/api name, and sentOnce an
// event that was sent to it. The demo has none, because nobody would answer.
const hook, sentOnce = "whk_01JMETR0000000000000000001", "evt_01JMETR0000000000000000001"

func loadWebhook(t *testing.T, db *table.DB) {
	t.Helper()
	metro, err := tenant.Store{DB: db}.BySlug(t.Context(), "metro")
	testkit.Must(t, err)
	n, at := db.Tenant(metro.ID), "2026-05-01T12:00:00.000Z"
	book := webhook.Book{Endpoints: []webhook.Record{{Endpoint: webhook.Endpoint{ID: hook,
		URL: "https://hooks.metro.example/events", Types: []string{"webhook.disabled"}, Status: webhook.Enabled,
		CreatedAt:  at,
		VerifiedAt: &at}, Challenges: 1, Challenged: 1}}}
	sent := webhook.Sent{Delivery: webhook.Delivery{EventID: sentOnce, Type: "webhook.disabled", Status: webhook.Succeeded,
		UpdatedAt: at, Attempts: []webhook.Attempt{{At: at, Result: webhook.Succeeded, Millis: 84}}}, Made: 1, Tries: 1}
	testkit.Must(t, n.Load(t.Context(), webhook.Kind.Item(n, "", book), sent.Item(n, hook, time.Now())))
}

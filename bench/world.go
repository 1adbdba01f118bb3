package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc"
	"svc/pkg/access/authz"
	"svc/pkg/access/password"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/background/projection"
	"svc/pkg/background/settlement"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/local/demo"
	"svc/pkg/local/engine"
	"svc/pkg/local/schema"
	"svc/pkg/local/seed"
	"svc/pkg/local/service"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

// world is the service on its own engine, with the demo data. The measured tenant
// has the given number of trips in addition.
type world struct {
	trips     int
	engine    *engine.Engine
	service   *service.Service
	data      string
	functions map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	db        *table.DB
	rt        *app.Runtime
	tokens    map[authz.Audience]string
	ids       map[string]string // ids for path parameters, by parameter name
	replacer  *strings.Replacer // replaces {name} by the ids
	made      int               // the number that next returned last

	delay  atomic.Int64 // delay of every request to the table, in nanoseconds
	shards int          // shards of the tenant's lists; 0 for the demo's number
	keys   *keys        // what the requests to the table consumed; if nil, nothing is recorded
	logged atomic.Int64 // bytes of log lines
	frozen atomic.Pointer[time.Time]
	names  *strings.Replacer // replaces ids by {name}, in keys

	mu   sync.Mutex
	seen api.Observation // observation of the last request
}

// now returns the service's time.
func (w *world) now() time.Time {
	if at := w.frozen.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// freeze stops the service's clock, so that nothing expires in its caches. The
// returned function starts the clock again.
func (w *world) freeze() (thaw func()) {
	at := time.Now()
	w.frozen.Store(&at)
	return func() { w.frozen.Store(nil) }
}

// slowly delays every request to the table.
type slowly struct {
	w    *world
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s.w.delay.Load()))
	return s.next.RoundTrip(r)
}

// slug is the slug of the measured tenant.
const slug = "metro"

// newWorld returns a world whose tenant has that many shards. With 0 shards it
// has the demo's number, and no stream function runs. Otherwise the world records
// the keys of requests, and its stream functions keep running.
func newWorld(ctx context.Context, trips, shards int) (*world, error) {
	fmt.Fprintf(os.Stderr, "loading %d trips\n", trips)
	w := &world{trips: trips, shards: shards, tokens: map[authz.Audience]string{}, ids: map[string]string{}}
	if shards > 0 {
		w.keys = &keys{}
		w.keys.take()
	}
	return w.start(ctx)
}

func (w *world) start(ctx context.Context) (_ *world, err error) {
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := os.Unsetenv("AWS_ENDPOINT_URL_DYNAMODB"); err != nil {
		return w, err
	}
	if w.engine, err = engine.Start(ctx, engine.Options{Memory: true}); err != nil {
		return w, err
	}
	if err := w.load(ctx); err != nil {
		return w, err
	}
	if w.data, err = os.MkdirTemp("", "svc-bench-"); err != nil {
		return w, err
	}
	if err := os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", w.engine.URL); err != nil {
		return w, err
	}
	w.service, err = service.Start(ctx, service.Options{Data: w.data, Memory: true, Template: svc.Template, Build: w.build,
		Log: slog.New(slog.DiscardHandler), Engine: io.Discard})
	if err != nil {
		return w, err
	}
	return w, w.signIn(ctx)
}

// load fills the table while its stream is off.
func (w *world) load(ctx context.Context) error {
	if _, err := schema.EnsureTable(ctx, w.engine.URL, svc.Template, schema.Options{StreamOff: true}); err != nil {
		return err
	}
	db, err := table.Open(ctx, table.Options{Table: schema.DefaultName, Endpoint: w.engine.URL})
	if err != nil {
		return err
	}
	if _, err := demo.Load(ctx, db, time.Now()); err != nil {
		return err
	}
	n, err := tenant.Store{DB: db}.BySlug(ctx, slug)
	if err != nil {
		return err
	}
	// One rider requests all measured rides, and none of them ends. The limit of open trips costs a request two write
	// units, which the measurement therefore does not show.
	if n, err = (tenant.Store{DB: db}).Change(ctx, n.ID, audit.By{Who: "svc:bench", At: time.Now()},
		func(n *tenant.Tenant) error {
			n.MaxOpenTrips = tenant.NoOpenTripsLimit
			return nil
		}); err != nil {
		return err
	}
	if n, err = w.shard(ctx, db, n); err != nil {
		return err
	}
	t := db.Tenant(n.ID)
	if _, err := settlement.Sweep(ctx, t, time.Time{}, time.Now); err != nil {
		return err
	}
	if _, err = seed.Run(ctx, db, n, seed.Options{Trips: w.trips, Seed: 1, Now: time.Now(),
		By:   audit.By{Who: "svc:bench", At: time.Now()},
		Hash: password.Hash(demo.Password)}); err != nil {
		return err
	}
	_, err = projection.Step{Now: time.Now, RankRows: feedback.RankRows}.Rebuild(ctx, t, nil)
	return err
}

// shard sets the tenant's shards, as an operator does: first those that lists
// read, then those that writes use.
func (w *world) shard(ctx context.Context, db *table.DB, n tenant.Tenant) (_ tenant.Tenant, err error) {
	if w.shards == 0 {
		return n, nil
	}
	for _, at := range []time.Time{time.Now().Add(-time.Hour), time.Now()} {
		n, err = tenant.Store{DB: db}.Change(ctx, n.ID, audit.By{Who: "svc:bench", At: at}, func(n *tenant.Tenant) error {
			if n.ReadShards == w.shards {
				n.WriteShards = w.shards
			}
			n.ReadShards = w.shards
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("shards: %w", err)
		}
	}
	return n, nil
}

func (w *world) build(ctx context.Context, at service.Environment) (service.App, error) {
	sealer, err := signing.FileSealer(filepath.Join(at.Data, "sealing.key"))
	if err != nil {
		return service.App{}, err
	}
	w.rt = &app.Runtime{Sealer: sealer, Now: w.now, Observe: w.observe, NoRobots: true,
		Logger: slog.New(slog.DiscardHandler),
		Limits: oauth.Limits{Registrations: -1, TokenFailures: -1}}
	out, err := localapp.Build(ctx, at, w.rt, func(next http.RoundTripper) http.RoundTripper {
		if w.keys != nil {
			next = noting{w.keys, next}
		}
		return slowly{w, next}
	})
	w.db, w.functions = w.rt.DB, out.Functions
	return out, err
}

// sized counts the bytes of log lines.
type sized struct{ bytes *atomic.Int64 }

// Write implements io.Writer.
func (s sized) Write(p []byte) (int, error) {
	s.bytes.Add(int64(len(p)))
	return len(p), nil
}

func (w *world) observe(ctx context.Context, o api.Observation) {
	app.Requests(sized{&w.logged}, functionsOfOperations()[o.Operation])(ctx, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = o
}

// people are the demo's operator and the busiest driver and rider of the seed.
var people = map[authz.Audience]string{authz.Dashboard: "operator@metro.example",
	authz.Driver: "driver.1.1@metro.example", authz.Rider: "rider.1.1@metro.example"}

// signIn gets the tokens of the people. Then it stops the stream functions, so
// that only the request is measured. If the world records the keys of requests,
// the stream functions keep running.
func (w *world) signIn(ctx context.Context) error {
	for audience, address := range people {
		tokens, err := flow.Token(ctx, flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(audience),
			Email: address, Password: demo.Password})
		if err != nil {
			return fmt.Errorf("signing %s in: %w", address, err)
		}
		w.tokens[audience] = tokens.AccessToken
	}
	if err := w.service.Poller.Drain(ctx); err != nil {
		return err
	}
	if w.keys == nil {
		w.service.Poller.Stop()
	}
	return w.know(ctx)
}

// know looks up the ids that path parameters and bodies need, and sets the bounds
// {from} and {to}.
func (w *world) know(ctx context.Context) error {
	for _, one := range []struct {
		name     string
		audience authz.Audience
		path     string
	}{{"trip", authz.Dashboard, "/api/v1/trips?limit=1&status=COMPLETED"}, {"rider", authz.Rider, "/api/v1/me"},
		{"driver", authz.Driver, "/api/v1/me"}, {"post", authz.Dashboard, "/api/v1/feedback?limit=1"},
		{"service", authz.Dashboard, "/api/v1/services"}} {
		body, err := w.call(ctx, one.audience, "GET", one.path, "")
		if err != nil {
			return err
		}
		var answer struct {
			ID    string
			Items []struct{ ID string }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if len(answer.Items) > 0 {
			answer.ID = answer.Items[0].ID
		}
		if answer.ID == "" {
			return errors.New("there is no " + one.name)
		}
		w.ids[one.name] = answer.ID
	}
	// A month whose bounds are not aligned to days or hours.
	now := time.Now()
	pairs := []string{"{from}", timestamp.Format(now.AddDate(0, 0, -40).Add(1234567 * time.Millisecond)), "{to}",
		timestamp.Format(now.AddDate(0, 0, -10))}
	for name, id := range w.ids {
		pairs = append(pairs, "{"+name+"}", id)
	}
	w.replacer = strings.NewReplacer(pairs...)
	if w.keys == nil {
		return nil
	}
	return w.name(ctx)
}

// name sets the names that keys show in place of ids: the ids of the world, the
// tenant and the operator.
func (w *world) name(ctx context.Context) error {
	n, err := tenant.Store{DB: w.db}.BySlug(ctx, slug)
	if err != nil {
		return err
	}
	body, err := w.call(ctx, authz.Dashboard, "GET", "/api/v1/me", "")
	if err != nil {
		return err
	}
	var me struct{ ID string }
	if err := json.Unmarshal(body, &me); err != nil {
		return err
	}
	pairs := []string{n.ID, "{tenant}", "SLUG#" + slug, "SLUG#{tenant}", me.ID, "{operator}"}
	for name, id := range w.ids {
		pairs = append(pairs, id, "{"+name+"}")
	}
	w.names = strings.NewReplacer(pairs...)
	return nil
}

func (w *world) close() {
	if w.service != nil {
		w.service.Close()
	}
	w.engine.Stop()
	if w.data != "" {
		_ = os.RemoveAll(w.data)
	}
}

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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc"
	"svc/pkg/api"
	"svc/pkg/app"
	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/feedback"
	"svc/pkg/gateway/emulator"
	"svc/pkg/local"
	"svc/pkg/local/demo"
	"svc/pkg/local/engine"
	"svc/pkg/local/seed"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
	"svc/pkg/password"
	"svc/pkg/projection"
	"svc/pkg/settlement"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/tenant"
	"svc/pkg/timestamp"
)

// world is the service with one tenant of so many trips, on an engine of its own.
type world struct {
	trips  int
	lists  bool // only what lists read is there
	loaded time.Duration

	engine    *engine.Engine
	service   *local.Service
	data      string
	functions map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	db        *table.DB
	place     *app.Place
	tokens    map[authz.Audience]string
	ids       map[string]string // what paths name, by what it is
	replacer  *strings.Replacer // of {name} by the ids
	made      int               // things made by the endpoints' preparations

	delay atomic.Int64 // of every request to the table, nanoseconds

	mu   sync.Mutex
	seen api.Observation // of the last request
}

// slowly lets every request to the table wait.
type slowly struct {
	w    *world
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s.w.delay.Load()))
	return s.next.RoundTrip(r)
}

// slug is the tenant that is measured.
const slug = "metro"

func newWorld(ctx context.Context, trips int, lists bool) (w *world, err error) {
	fmt.Fprintf(os.Stderr, "loading %d trips\n", trips)
	w = &world{trips: trips, lists: lists, tokens: map[authz.Audience]string{}, ids: map[string]string{}}
	defer func() {
		if err != nil {
			w.close()
			w = nil
		}
	}()
	began := time.Now()
	if err := os.Unsetenv("AWS_ENDPOINT_URL_DYNAMODB"); err != nil {
		return w, err
	}
	if w.engine, err = engine.Start(ctx, engine.Options{Memory: true}); err != nil {
		return w, err
	}
	if err := w.load(ctx); err != nil {
		return w, err
	}
	w.loaded = time.Since(began)
	if w.data, err = os.MkdirTemp("", "svc-bench-"); err != nil {
		return w, err
	}
	if err := os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", w.engine.URL); err != nil {
		return w, err
	}
	w.service, err = local.StartService(ctx, local.ServiceOptions{Data: w.data, Memory: true, Template: svc.Template, Build: w.build,
		Log: slog.New(slog.DiscardHandler), Engine: io.Discard})
	if err != nil {
		return w, err
	}
	return w, w.signIn(ctx)
}

// load fills the table while its stream is off.
func (w *world) load(ctx context.Context) error {
	if _, err := local.EnsureTable(ctx, w.engine.URL, svc.Template, local.TableOptions{StreamOff: true}); err != nil {
		return err
	}
	db, err := table.Open(ctx, table.Options{Table: local.DefaultTable, Endpoint: w.engine.URL})
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
	t := db.Tenant(n.ID)
	if _, err := settlement.Sweep(ctx, t, n.ReadShards, time.Now); err != nil {
		return err
	}
	if _, err = seed.Run(ctx, db, n, seed.Options{Trips: w.trips, Seed: 1, Now: time.Now(), By: audit.By{Who: "svc:bench", At: time.Now()},
		Hash: password.Hash(demo.Password), Lists: w.lists}); err != nil {
		return err
	}
	if w.lists {
		return nil
	}
	_, err = projection.Step{Now: time.Now, RankRows: feedback.RankRows}.Rebuild(ctx, t, n.ReadShards, nil)
	return err
}

func (w *world) build(ctx context.Context, at local.Place) (local.App, error) {
	var err error
	if w.db, err = table.Open(ctx, table.Options{Table: at.Table, Endpoint: at.Endpoint,
		Wire: func(next http.RoundTripper) http.RoundTripper { return slowly{w, at.Wire(next)} }}); err != nil {
		return local.App{}, err
	}
	w.place = &app.Place{DB: w.db, BaseURL: at.BaseURL, Sealer: signing.NewSealer(), Now: time.Now, Observe: w.observe,
		Logger: slog.New(slog.DiscardHandler), Limits: oauth.Limits{Registrations: -1, TokenFailures: -1}}
	if w.functions, err = w.place.Functions(); err != nil {
		return local.App{}, err
	}
	out := local.App{Functions: map[string]emulator.Function{}, Streams: w.place.StreamFunctions(),
		Scheduled: map[string]func(context.Context) error{app.Keys: w.place.Keys().Rotate}}
	for name, f := range w.functions {
		out.Functions[name] = f
	}
	return out, nil
}

func (w *world) observe(_ context.Context, o api.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = o
}

// signIn gets the tokens of the demo's operator and of the seed's busiest
// driver and rider, and ends the stream: what is measured is a request alone.
func (w *world) signIn(ctx context.Context) error {
	for audience, address := range map[authz.Audience]string{authz.Dashboard: "operator@metro.example",
		authz.Driver: "driver.1.1@metro.example", authz.Rider: "rider.1.1@metro.example"} {
		tokens, err := flow.Token(ctx, flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(audience), Email: address, Password: demo.Password})
		if err != nil {
			return fmt.Errorf("signing %s in: %w", address, err)
		}
		w.tokens[audience] = tokens.AccessToken
	}
	if err := w.service.Poller.Drain(ctx); err != nil {
		return err
	}
	w.service.Poller.Stop()
	return w.know(ctx)
}

// know looks up what paths name.
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
	// A window of a month with ragged edges.
	now := time.Now()
	pairs := []string{"{from}", timestamp.Format(now.AddDate(0, 0, -40).Add(1234567 * time.Millisecond)), "{to}", timestamp.Format(now.AddDate(0, 0, -10))}
	for name, id := range w.ids {
		pairs = append(pairs, "{"+name+"}", id)
	}
	w.replacer = strings.NewReplacer(pairs...)
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

package main

import (
	"bytes"
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
	trips, shards int // shards of the tenant's lists; 0 for the demo's number
	engine        *engine.Engine
	service       *service.Service
	data          string
	functions     map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	rt            *app.Runtime
	tenant        tenant.Tenant
	tokens        map[authz.Audience]string
	ids           map[string]string // of what the world has, such as the trip
	kept          map[string]string // of what the steps made for a request
	made          int               // counts the values made so far, so that each is unique

	delay  atomic.Int64 // delay of every request to the table, in nanoseconds
	keys   *keys        // what the requests to the table consumed; if nil, nothing is recorded
	frozen atomic.Pointer[time.Time]
	names  *strings.Replacer // replaces ids by {name}, in keys

	mu     sync.Mutex
	seen   api.Observation // of the last request
	logged int             // bytes of its log line
}

// now returns the service's time. While it is frozen, nothing expires in the caches.
func (w *world) now() time.Time {
	if at := w.frozen.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// slug is the slug of the measured tenant.
const slug = "metro"

// newWorld returns a world whose tenant has that many shards. With 0 shards it
// has the demo's number, and no stream function runs. Otherwise the world records
// the keys of requests, and its stream functions keep running.
func newWorld(ctx context.Context, trips, shards int) (w *world, err error) {
	fmt.Fprintf(os.Stderr, "loading %d trips\n", trips)
	w = &world{trips: trips, shards: shards, tokens: map[authz.Audience]string{}, ids: map[string]string{},
		kept: map[string]string{"privacy": demo.Privacy}}
	if shards > 0 {
		w.keys = &keys{loads: map[string]load{}}
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	_ = os.Unsetenv("AWS_ENDPOINT_URL_DYNAMODB")
	if w.engine, err = engine.Start(ctx, engine.Options{Memory: true}); err != nil {
		return w, err
	}
	if err := w.load(ctx); err != nil {
		return w, err
	}
	if w.data, err = os.MkdirTemp("", "svc-bench-"); err != nil {
		return w, err
	}
	_ = os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", w.engine.URL)
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
	if w.tenant, err = (tenant.Store{DB: db}).BySlug(ctx, slug); err != nil {
		return err
	}
	// One rider requests all measured rides, and none of them ends. The limit of open trips costs a request two write
	// units, which the measurement therefore does not show.
	if err := w.change(ctx, db, 0, func(n *tenant.Tenant) { n.MaxOpenTrips = tenant.NoOpenTripsLimit }); err != nil {
		return err
	}
	for _, ago := range []time.Duration{time.Hour, 0} { // as an operator: first for lists, then for writes
		if w.shards == 0 {
			break
		}
		if err := w.change(ctx, db, ago, func(n *tenant.Tenant) {
			if n.ReadShards == w.shards {
				n.WriteShards = w.shards
			}
			n.ReadShards = w.shards
		}); err != nil {
			return fmt.Errorf("shards: %w", err)
		}
	}
	t := db.Tenant(w.tenant.ID)
	if _, err := settlement.Sweep(ctx, t, time.Time{}, time.Now); err != nil {
		return err
	}
	if _, err = seed.Run(ctx, db, w.tenant, seed.Options{Trips: w.trips, Seed: 1, Now: time.Now(),
		By: audit.By{Who: "svc:bench", At: time.Now()}, Hash: password.Hash(demo.Password)}); err != nil {
		return err
	}
	_, err = projection.Step{Now: time.Now, RankRows: feedback.RankRows}.Rebuild(ctx, t, nil)
	return err
}

// change changes the tenant, as somebody did some time ago.
func (w *world) change(ctx context.Context, db *table.DB, ago time.Duration, change func(*tenant.Tenant)) (err error) {
	w.tenant, err = tenant.Store{DB: db}.Change(ctx, w.tenant.ID, audit.By{Who: "svc:bench", At: time.Now().Add(-ago)},
		func(n *tenant.Tenant) error {
			change(n)
			return nil
		})
	return err
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
		return delayed{w, next}
	})
	w.functions = out.Functions
	return out, err
}

// functionsOfOperations returns the function of each operation of the API.
var functionsOfOperations = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, row := range app.Rows(nil) {
		out[row.ID] = app.FunctionOf(row.Path)
	}
	return out
})

func (w *world) observe(ctx context.Context, o api.Observation) {
	var line bytes.Buffer
	app.Requests(&line, functionsOfOperations()[o.Operation])(ctx, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.logged = o, line.Len()
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

// know looks up the ids that requests name, such as {trip}. It also sets the bounds
// {from} and {to}, and {month} to the last month.
func (w *world) know(ctx context.Context) error {
	names := []string{w.tenant.ID, "{tenant}", "SLUG#" + slug, "SLUG#{tenant}"}
	for _, one := range []struct {
		name     string
		audience authz.Audience
		request  string
	}{{"trip", op, "GET /trips?limit=1&status=COMPLETED"}, {"rider", rider, "GET /me"}, {"driver", driver, "GET /me"},
		{"operator", op, "GET /me"}, {"post", op, "GET /feedback?limit=1"}, {"service", op, "GET /services"}} {
		body, err := w.call(ctx, one.audience, one.request, "")
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
		names = append(names, answer.ID, "{"+one.name+"}")
	}
	w.names = strings.NewReplacer(names...)
	// A month whose bounds are not aligned to days or hours.
	now := time.Now()
	w.kept["from"] = timestamp.Format(now.AddDate(0, 0, -40).Add(1234567 * time.Millisecond))
	w.kept["to"] = timestamp.Format(now.AddDate(0, 0, -10))
	w.kept["month"] = now.UTC().AddDate(0, 0, -now.UTC().Day()).Format("2006-01")
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

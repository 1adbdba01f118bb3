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

// world is the service in this process, with its own engine and the demo data.
type world struct {
	setup
	engine    *engine.Engine
	service   *service.Service
	data      string
	functions map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	rt        *app.Runtime
	tenant    tenant.Tenant
	tokens    map[authz.Audience]string
	signedIn  time.Time
	ids       map[string]string // ids that requests name, such as {trip} (see know)
	kept      map[string]string // values that the steps keep for a request, by name
	made      int               // counts the values made so far, so that each is unique
}

// setup has the options of a world.
type setup struct {
	trips     int  // trips to create in the measured tenant, besides the demo's
	streaming bool // keep the stream functions running during the measurement
	now       func() time.Time
	// The following functions may be nil.
	transport func(next http.RoundTripper) http.RoundTripper          // wraps the transport to the table
	observe   func(context.Context, api.Observation)                  // is called after each request
	before    func(ctx context.Context, w *world, db *table.DB) error // is called before the tenant's trips are created
}

// slug is the slug of the measured tenant.
const slug = "metro"

// newWorld starts a world and signs in one person of each audience.
func newWorld(ctx context.Context, s setup) (w *world, err error) {
	w = &world{setup: s, tokens: map[authz.Audience]string{}, ids: map[string]string{},
		kept: map[string]string{"privacy": demo.Privacy}}
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
	if err := w.signIn(ctx); err != nil {
		return w, err
	}
	return w, w.settle(ctx)
}

// load creates the table and fills it with the demo data and the trips of the measured
// tenant. The stream of the table is off meanwhile.
func (w *world) load(ctx context.Context) error {
	if _, err := schema.EnsureTable(ctx, w.engine.URL, svc.Template, schema.Options{StreamOff: true}); err != nil {
		return err
	}
	db, err := table.Open(ctx, table.Options{Table: schema.DefaultName, Endpoint: w.engine.URL})
	if err != nil {
		return err
	}
	if _, err := demo.Load(ctx, db, w.now()); err != nil {
		return err
	}
	if w.tenant, err = (tenant.Store{DB: db}).BySlug(ctx, slug); err != nil {
		return err
	}
	// One rider requests all measured rides, and none of them ends. So the tenant has no
	// limit of open trips. With the limit a request costs two more write units, which the
	// measurement therefore does not show.
	if err := w.change(ctx, db, 0, func(n *tenant.Tenant) { n.MaxOpenTrips = tenant.NoOpenTripsLimit }); err != nil {
		return err
	}
	if w.before != nil {
		if err := w.before(ctx, w, db); err != nil {
			return err
		}
	}
	t := db.Tenant(w.tenant.ID)
	if _, err := settlement.Sweep(ctx, t, time.Time{}, w.now); err != nil {
		return err
	}
	if _, err = seed.Run(ctx, db, w.tenant, seed.Options{Trips: w.trips, Seed: 1, Now: w.now(),
		By: audit.By{Who: "svc:bench", At: w.now()}, Hash: password.Hash(demo.Password)}); err != nil {
		return err
	}
	_, err = projection.Step{Now: w.now, RankRows: feedback.RankRows}.Rebuild(ctx, t, nil)
	return err
}

// change changes the measured tenant. The entry in the audit log is dated back by ago.
func (w *world) change(ctx context.Context, db *table.DB, ago time.Duration, change func(*tenant.Tenant)) (err error) {
	w.tenant, err = tenant.Store{DB: db}.Change(ctx, w.tenant.ID, audit.By{Who: "svc:bench", At: w.now().Add(-ago)},
		func(n *tenant.Tenant) error {
			change(n)
			return nil
		})
	return err
}

// build builds the functions for service.Start, and keeps them in w.functions.
func (w *world) build(ctx context.Context, at service.Environment) (service.App, error) {
	sealer, err := signing.FileSealer(filepath.Join(at.Data, "sealing.key"))
	if err != nil {
		return service.App{}, err
	}
	w.rt = &app.Runtime{Sealer: sealer, Now: w.now, Observe: w.observe, NoRobots: true,
		Logger: slog.New(slog.DiscardHandler),
		Limits: oauth.Limits{Registrations: -1, TokenFailures: -1}}
	out, err := localapp.Build(ctx, at, w.rt, w.transport)
	w.functions = out.Functions
	// Of the scheduled functions only the one that creates the signing keys runs, because
	// a sign-in needs keys.
	out.Scheduled, out.Wakes = map[string]func(context.Context) error{app.Keys: out.Scheduled[app.Keys]}, nil
	return out, err
}

// people has the mail address of the person who signs in for each audience: the demo's
// operator, and the driver and the rider with the most seeded trips.
var people = map[authz.Audience]string{authz.Dashboard: "operator@metro.example",
	authz.Driver: "driver.1.1@metro.example", authz.Rider: "rider.1.1@metro.example"}

// signIn gets an access token for each of people, unless it did so in the last four
// minutes. The measured erasure of a person needs a sign-in of the last five minutes.
func (w *world) signIn(ctx context.Context) error {
	now := time.Now()
	if now.Sub(w.signedIn) < 4*time.Minute {
		return nil
	}
	for audience, address := range people {
		tokens, err := flow.Token(ctx, flow.Options{BaseURL: w.service.BaseURL, Tenant: slug, Audience: string(audience),
			Email: address, Password: demo.Password})
		if err != nil {
			return fmt.Errorf("signing %s in: %w", address, err)
		}
		w.tokens[audience] = tokens.AccessToken
	}
	w.signedIn = now
	return nil
}

// settle waits until the stream functions have processed all records. Then it stops them, so that only the request is
// measured. In a streaming world they keep running.
func (w *world) settle(ctx context.Context) error {
	if err := w.service.Poller.Drain(ctx); err != nil {
		return err
	}
	if !w.streaming {
		w.service.Poller.Stop()
	}
	return w.know(ctx)
}

// know looks up the ids that requests name, such as {trip}. It also sets {from} and {to},
// the bounds of a window of time, and {month}.
func (w *world) know(ctx context.Context) error {
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
	}
	// The window {from} to {to} is 30 days long, and its bounds are not aligned to days
	// or hours.
	now := w.now()
	w.kept["from"] = timestamp.Format(now.AddDate(0, 0, -40).Add(1234567 * time.Millisecond))
	w.kept["to"] = timestamp.Format(now.AddDate(0, 0, -10))
	return w.knowMonth(ctx)
}

// knowMonth sets {month} to the one of the last five calendar months in which the driver has the
// number of entries nearest to 24. The trips of a month depend on the day of the measurement,
// and what a statement costs depends on its entries.
func (w *world) knowMonth(ctx context.Context) error {
	const entries = 24
	first, nearest := w.now().UTC(), -1
	first = first.AddDate(0, 0, 1-first.Day())
	for back := 1; back <= 5; back++ {
		month := first.AddDate(0, -back, 0).Format("2006-01")
		body, err := w.call(ctx, driver, "GET /me/statements/"+month, "")
		if err != nil {
			return err
		}
		var answer struct{ Entries []struct{} }
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if off := max(len(answer.Entries)-entries, entries-len(answer.Entries)); nearest < 0 || off < nearest {
			nearest, w.kept["month"] = off, month
		}
	}
	return nil
}

// close stops the service and its engine, and removes their data.
func (w *world) close() {
	if w.service != nil {
		w.service.Close()
	}
	w.engine.Stop()
	if w.data != "" {
		_ = os.RemoveAll(w.data)
	}
}

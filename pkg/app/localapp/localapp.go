// Package localapp builds the service's functions for one process: for
// `svc dev`, for tests, and for the benchmark.
package localapp

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"svc/pkg/app"
	"svc/pkg/background/dispatch"
	"svc/pkg/base/panics"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
	"svc/pkg/local/files"
	"svc/pkg/local/service"
)

// atOnce is how many requests the process is expected to serve at once.
const atOnce = 64

// Build opens the runtime's table and returns the service's functions on it. It sets DB,
// BaseURL, GiveUp, Files, Begun and Closing of rt; the caller sets the rest. transport,
// unless nil, wraps the transport to the table, outside of at.Transport. The scheduled
// sweeps log their errors and never return one.
func Build(ctx context.Context, at service.Environment, rt *app.Runtime,
	transport func(http.RoundTripper) http.RoundTripper) (out service.App, err error) {
	rt.BaseURL, rt.GiveUp = at.BaseURL, at.GiveUp
	rt.DB, err = table.Open(ctx, table.Options{Table: at.Table, Endpoint: at.Endpoint, AtOnce: atOnce,
		Transport: func(next http.RoundTripper) http.RoundTripper {
			if next = at.Transport(next); transport != nil {
				next = transport(next)
			}
			return next
		}})
	if err != nil {
		return out, err
	}
	if at.New {
		if err := beginBooks(ctx, rt); err != nil {
			return out, err
		}
	}
	dir := files.In(at.Data)
	if at.Memory {
		if dir, err = os.MkdirTemp("", "svc-files-"); err != nil {
			return out, err
		}
		out.Close = func() { _ = os.RemoveAll(dir) }
	}
	folder := files.Open(dir, at.BaseURL, rt.Now)
	jobs, steps, sends := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	rt.Files, rt.Begun = folder, func() {
		for _, wake := range []chan struct{}{jobs, steps, sends} {
			select {
			case wake <- struct{}{}:
			default: // an earlier signal still waits, and one is enough
			}
		}
	}
	folder.Received = rt.Begun
	out.Files, out.FilesPath = folder, files.Path
	out.Wakes = map[string]<-chan struct{}{app.Jobs: jobs, app.Dispatch: steps, app.Deliver: sends}
	closing := make(chan struct{})
	rt.Closing, out.EndStreams = closing, sync.OnceFunc(func() { close(closing) })
	if out.EventStreams, err = rt.EventStreams(); err != nil {
		return out, err
	}
	out.Functions, err = rt.Functions()
	out.Streams = rt.StreamFunctions()
	out.Scheduled = rt.Scheduled()
	schedule(rt, out.Scheduled)
	return out, err
}

// Books returns the lists of due tasks (pkg/data/due) of all functions.
func Books(db *table.DB, now func() time.Time) []due.Book {
	return append(webhook.AllDue(db, now), dispatch.Worker{DB: db, Now: now}.Book(), sandbox.Book(db, now),
		due.Book{DB: db, Name: tenant.RetentionBook, Now: now})
}

// beginBooks marks every list of due tasks of a new table as swept up to now, so that the
// first sweep does not search the past.
func beginBooks(ctx context.Context, rt *app.Runtime) error {
	for _, book := range Books(rt.DB, rt.Now) {
		if err := book.Begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

// schedule wraps the scheduled functions so that they log their errors and return none.
// The sweep of webhooks runs in the background, so that it does not delay the start. The
// first call of the jobs function only wakes the runner of the jobs, so that the service
// is ready before the jobs continue.
func schedule(rt *app.Runtime, scheduled map[string]func(context.Context) error) {
	for _, name := range []string{app.Settlement, app.Dispatch, app.Deliver} {
		sweep := scheduled[name]
		scheduled[name] = func(ctx context.Context) error {
			if err := sweep(ctx); err != nil { // an error of one trip must not stop the service
				slog.ErrorContext(ctx, "sweep", "function", name, "error", err)
			}
			return nil
		}
	}
	sweep := scheduled[app.Deliver]
	scheduled[app.Deliver] = func(ctx context.Context) error {
		go func() { // receivers that hang must not delay the start
			_ = panics.Try(func() error { return sweep(context.WithoutCancel(ctx)) })
		}()
		return nil
	}
	run, started := scheduled[app.Jobs], false
	scheduled[app.Jobs] = func(ctx context.Context) error {
		if !started { // the service must be ready before old jobs continue
			started = true
			rt.Begun()
			return nil
		}
		if err := run(ctx); err != nil {
			slog.ErrorContext(ctx, "jobs", "error", err)
		}
		return nil
	}
}

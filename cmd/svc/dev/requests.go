package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/cmd/svc/cli"
	"svc/pkg/app"
	"svc/pkg/domain/tenant"
	"svc/pkg/local/accesslog"
)

// requestLog prints each request that svc dev handles, and stores it in the
// data folder for svc logs.
type requestLog struct {
	cli   *cli.CLI
	form  string // text, json or off
	color bool
	file  *accesslog.File
	shown atomic.Bool // svc dev has printed the addresses; add prints no request before that
	slugs sync.Map    // tenant id → slug
	reads sync.WaitGroup
	rt    *app.Runtime

	mu     sync.Mutex // guards the output: one line at a time
	failed sync.Once
}

// Formats of the request log on the terminal.
const (
	logText = "text"
	logJSON = "json"
	logOff  = "off"
)

// newRequestLog returns the request log that the flags of svc dev describe. An unknown
// --log is a usage error.
func newRequestLog(c *cli.CLI, o devOptions) (*requestLog, error) {
	form := o.log
	if o.quiet {
		form = logOff
	}
	if form != logText && form != logJSON && form != logOff {
		return nil, cli.Usagef("--log is %q; expected text, json or off", o.log)
	}
	return &requestLog{cli: c, form: form, color: cli.IsTerminal(c.Err) && !c.Env.NoColor}, nil
}

// wrap returns a function that wraps the gateway so that each request is logged (see
// add). The log file is in the data folder dir.
func (l *requestLog) wrap(dir string) func(http.Handler) (http.Handler, error) {
	return func(next http.Handler) (_ http.Handler, err error) {
		if l.file, err = accesslog.OpenFile(dir); err != nil {
			return nil, err
		}
		return &accesslog.Handler{Next: next, Log: l.add, Slug: l.slug, Now: time.Now}, nil
	}
}

// add stores a request in the log file and prints it. It does not print successful health
// checks, because most commands send one to find the service.
func (l *requestLog) add(e accesslog.Entry) {
	if l.file != nil {
		if err := l.file.Add(e); err != nil {
			l.failed.Do(func() { fmt.Fprintf(l.cli.Err, "svc: %s; svc logs will not find all requests\n", err) })
		}
	}
	if l.form == logOff || !l.shown.Load() || e.Status == http.StatusOK && strings.HasPrefix(e.Path, "/health") {
		return
	}
	line := e.Text(l.color)
	if l.form == logJSON {
		text, err := json.Marshal(e)
		if err != nil {
			return
		}
		line = string(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.cli.Err, line)
}

// SlugTime limits how long a line of the log waits for the slug of its tenant.
var SlugTime = time.Second

// slug calls then with the slug of the tenant with the id, "" if the slug cannot be read.
// It caches every slug that it has read. It reads any other slug on a separate goroutine,
// so that no response waits for a slow table.
func (l *requestLog) slug(id string, then func(string)) {
	if slug, ok := l.slugs.Load(id); ok {
		then(slug.(string))
		return
	}
	l.reads.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), SlugTime)
		defer cancel()
		t, err := tenant.Store{DB: l.rt.DB}.ByID(ctx, id)
		if err == nil {
			l.slugs.Store(id, t.Slug)
		}
		then(t.Slug)
	})
}

// close waits until no slug is being read, and closes the log file.
func (l *requestLog) close() {
	l.reads.Wait()
	if l.file != nil {
		_ = l.file.Close()
	}
}

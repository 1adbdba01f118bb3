package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/poller"
)

// App is the project's functions, keyed by their logical ids in template.yaml.
type App struct {
	// Functions handle the gateway's routes.
	Functions map[string]emulator.Function
	// Streams process the table's stream.
	Streams map[string]emulator.Function
	// Scheduled run at the start and then at the rate in template.yaml.
	Scheduled map[string]func(context.Context) error
	// Wakes start a scheduled function early: each value of its channel starts it.
	Wakes map[string]<-chan struct{}
	// EventStreams serve the paths whose responses are streamed. EndStreams ends the
	// streams that are open; it may be nil.
	EventStreams map[string]http.Handler
	EndStreams   func()
	// Files serves files, and FilesPath is the beginning of their addresses.
	Files     http.Handler
	FilesPath string
	// Close releases what the app holds, such as temporary files; it may be nil.
	Close func()
}

// gateway returns a handler that serves the routes of the template's HTTP API with the
// functions, and the files.
func (a App) gateway(template []byte, log *slog.Logger) (http.Handler, error) {
	g, err := emulator.New(template, a.Functions)
	if err != nil {
		return nil, err
	}
	g.Log, g.Streams = log, a.EventStreams
	if a.Files == nil {
		return g, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, a.FilesPath) {
			a.Files.ServeHTTP(w, r)
			return
		}
		g.ServeHTTP(w, r)
	}), nil
}

// schedules returns the template's schedules of the app's functions.
func (a App) schedules(template []byte) ([]emulator.Schedule, error) {
	all, err := emulator.Schedules(template)
	if err != nil {
		return nil, err
	}
	for name := range a.Scheduled {
		if !slices.ContainsFunc(all, func(s emulator.Schedule) bool { return s.Function == name }) {
			return nil, fmt.Errorf("template: no schedule calls %s", name)
		}
	}
	return slices.DeleteFunc(all, func(s emulator.Schedule) bool { return a.Scheduled[s.Function] == nil }), nil
}

// consumers returns the stream's consumers: the functions that the template subscribes to
// it. It omits a function that the app does not have; the records wait for it.
func (a App) consumers(template []byte, log *slog.Logger) ([]poller.Consumer, error) {
	streams, err := emulator.Streams(template)
	if err != nil {
		return nil, err
	}
	var consumers []poller.Consumer
	for _, s := range streams {
		f := a.Streams[s.Function]
		if f == nil {
			log.Info("template.yaml names a stream function that svc dev does not have; its records wait", "function",
				s.Function)
			continue
		}
		c := poller.Consumer{
			Name: s.Function, Invoke: f, BatchSize: s.BatchSize,
			PartialFailures: s.PartialFailures, Bisect: s.Bisect, Retries: s.Retries, MaxAge: s.MaxAge, Timeout: s.Timeout,
		}
		for _, pattern := range s.Patterns {
			filter, err := poller.ParseFilter(pattern)
			if err != nil {
				return nil, fmt.Errorf("template: %s: %w", s.Function, err)
			}
			c.Filters = append(c.Filters, filter)
		}
		consumers = append(consumers, c)
	}
	for name := range a.Streams {
		if !slices.ContainsFunc(streams, func(s emulator.Stream) bool { return s.Function == name }) {
			return nil, fmt.Errorf("template: no stream calls %s", name)
		}
	}
	return consumers, nil
}

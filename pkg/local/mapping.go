package local

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"svc/pkg/gateway/emulator"
)

// App is the functions of the project, each under its logical id in
// template.yaml.
type App struct {
	// Functions answer the gateway's routes.
	Functions map[string]emulator.Function
	// Streams take the table's stream.
	Streams map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)
	// Scheduled run at the start and then once a day.
	Scheduled map[string]func(context.Context) error
}

// gateway is the template's HTTP API over the functions.
func (a App) gateway(template []byte, log *slog.Logger) (http.Handler, error) {
	g, err := emulator.New(template, a.Functions)
	if err != nil {
		return nil, err
	}
	g.Log = log
	return g, nil
}

// consumers are the template's stream subscriptions over the functions. One
// whose function is not there is left out, its records wait.
func (a App) consumers(template []byte, log *slog.Logger) ([]Consumer, error) {
	streams, err := emulator.Streams(template)
	if err != nil {
		return nil, err
	}
	var consumers []Consumer
	for _, s := range streams {
		f := a.Streams[s.Function]
		if f == nil {
			log.Info("the template's stream function is not there; its records wait", "function", s.Function)
			continue
		}
		c := Consumer{
			Name: s.Function, Invoke: f, BatchSize: s.BatchSize,
			PartialFailures: s.PartialFailures, Retries: max(s.Retries, 0), Timeout: s.Timeout,
		}
		for _, pattern := range s.Patterns {
			filter, err := ParseFilter(pattern)
			if err != nil {
				return nil, fmt.Errorf("template: %s: %w", s.Function, err)
			}
			c.Filters = append(c.Filters, filter)
		}
		consumers = append(consumers, c)
	}
	for name := range a.Streams {
		if !subscribed(streams, name) {
			return nil, fmt.Errorf("template: %s is on no stream", name)
		}
	}
	return consumers, nil
}

func subscribed(streams []emulator.Stream, name string) bool {
	for _, s := range streams {
		if s.Function == name {
			return true
		}
	}
	return false
}

package app

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// StreamRows returns the endpoints whose responses a function URL streams. API Gateway
// cannot stream, so SettingsFunction serves the same endpoints and responds with one
// page.
func StreamRows(*table.DB) []api.Row { return event.StreamRows() }

// Streaming returns the Serve of a function that serves the endpoints in rows at a
// function URL and streams their responses. Anybody can reach that URL, so the function
// does not start without an origin secret. The URL is not the service's public address,
// so the function does not start without BASE_URL either.
func Streaming(rows func(*table.DB) []api.Row) Serve {
	return func(p *Runtime, function string) (any, error) {
		switch c := p.Config; {
		case c.Wrong != nil:
			return nil, c.Wrong
		case len(c.OriginSecrets) == 0 || c.BaseURL == "":
			return nil, errors.New("a function URL needs ORIGIN_SECRET_SHA256 and BASE_URL")
		}
		p.Streams = p.Config.EventStreams
		served := rows(p.DB)
		h, err := p.api(served)
		if err != nil {
			return nil, err
		}
		return gateway.Streamed(crashes(newFront(p.Config).logged(h, served, os.Stdout, function), os.Stdout, function)), nil
	}
}

// logged wraps h with the checks of front.before. It writes a log line to w for each
// request that these checks reject, because a function URL has no gateway that logs such
// requests.
func (f front) logged(h http.Handler, rows []api.Row, w io.Writer, function string) http.Handler {
	l := newLines(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen, passed := time.Now(), &status{ResponseWriter: w}, false
		f.before(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed = true
			h.ServeHTTP(w, r) // h gets the original w, because it must flush
		}), rows).ServeHTTP(seen, r)
		if !passed {
			l.write(func(b line) line {
				return b.ids(r.Context(), w.Header().Get(gateway.RequestHeader), l.function).
					addNumber("status", float64(seen.code)).cost(time.Since(began), table.Usage{})
			})
		}
	})
}

// EventStreams returns the handlers that stream events, by path, for a server that does
// not run in Lambda.
func (p *Runtime) EventStreams() (map[string]http.Handler, error) {
	out := map[string]http.Handler{}
	rows := StreamRows(p.DB)
	h, err := p.api(rows)
	for _, r := range rows {
		out[r.Path] = h
	}
	return out, err
}

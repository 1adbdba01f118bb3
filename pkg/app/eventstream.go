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

// StreamRows are the rows whose responses a function URL streams. The gateway cannot
// stream, so the row is also one of SettingsFunction, which responds with one page.
func StreamRows(*table.DB) []api.Row { return event.StreamRows() }

// Streaming serves the rows at a function URL that streams. Everybody can reach the
// URL, so it does not start without an origin secret. The URL's own name is not the
// address of the service, so it does not start without BASE_URL either.
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

// logged is before with a line for each request that it rejects, because no gateway
// logs the requests to a function URL.
func (f front) logged(h http.Handler, rows []api.Row, w io.Writer, function string) http.Handler {
	l := newLines(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen, passed := time.Now(), &status{ResponseWriter: w}, false
		f.before(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed = true
			h.ServeHTTP(w, r) // which can be flushed
		}), rows).ServeHTTP(seen, r)
		if !passed {
			l.write(func(b line) line {
				return b.ids(r.Context(), w.Header().Get(gateway.RequestHeader), l.function).
					addNumber("status", float64(seen.code)).cost(time.Since(began), table.Usage{})
			})
		}
	})
}

// EventStreams returns the handlers of StreamRows, by path.
func (p *Runtime) EventStreams() (map[string]http.Handler, error) {
	out := map[string]http.Handler{}
	rows := StreamRows(p.DB)
	h, err := p.api(rows)
	for _, r := range rows {
		out[r.Path] = h
	}
	return out, err
}

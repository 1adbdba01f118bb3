package app

import (
	"errors"
	"net/http"
	"os"

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
		return gateway.Streamed(crashes(newFront(p.Config).before(h, served), os.Stdout, function)), nil
	}
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

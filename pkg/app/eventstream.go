package app

import (
	"net/http"

	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/edge/api"
)

// StreamRows are the rows whose responses a function URL streams. The gateway cannot
// stream, so the row is also one of SettingsFunction, which responds with one page.
func StreamRows(*table.DB) []api.Row { return event.StreamRows() }

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

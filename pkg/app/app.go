package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"svc/pkg/api"
	"svc/pkg/gateway"
	"svc/pkg/oauth"
	"svc/pkg/reference/published"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// Place is what the service runs on.
type Place struct {
	DB      *table.DB
	BaseURL string         // public address, without a closing slash
	Sealer  signing.Sealer // nil for a process that only verifies
	Now     func() time.Time
	Logger  *slog.Logger
	Observe func(ctx context.Context, o api.Observation)
	// RefreshGrace is for how long the last refresh token may be presented again.
	RefreshGrace time.Duration
	// Documents fetches clients' metadata documents; nil is the guarded transport.
	Documents http.RoundTripper
	// Mail sends one-time links to who forgot a password; nil is none.
	Mail oauth.Mailer
	// Limits are the throttles of the authorization server; zeros are its defaults.
	Limits oauth.Limits
	// Rates bound what one process takes of /api/v1; zeros are no bound.
	Rates api.Rates

	keys *signing.Keys
}

// Keys gives the signing keys, one set for all functions of a process.
func (p *Place) Keys() *signing.Keys {
	if p.keys == nil {
		p.keys = signing.Open(p.DB, signing.Options{Issuer: p.BaseURL, Sealer: p.Sealer, Now: p.Now})
	}
	return p.keys
}

// AuthorizationServer gives the server behind OAuthFunction.
func (p *Place) AuthorizationServer() *oauth.Server {
	return oauth.New(oauth.Config{BaseURL: p.BaseURL, Now: p.Now, Address: gateway.SourceIP, RefreshGrace: p.RefreshGrace, Documents: p.Documents, Mail: p.Mail, Limits: p.Limits},
		p.DB, p.Keys(), p.Logger)
}

// Handler gives what answers the requests of one function.
func (p *Place) Handler(function string) (http.Handler, error) {
	switch function {
	case OAuth:
		return p.AuthorizationServer().Handler(), nil
	case Docs:
		return published.New(p.BaseURL), nil
	}
	rows := apis()[function]
	if rows == nil {
		return nil, fmt.Errorf("no function is called %s", function)
	}
	return p.api(rows(p.DB))
}

func (p *Place) api(rows []api.Row) (http.Handler, error) {
	return api.New(api.Config{DB: p.DB, Verifier: p.Keys(), BaseURL: p.BaseURL, Now: p.Now, Observe: p.Observe, Logger: p.Logger, Rates: p.Rates}, rows...)
}

// Functions gives every function that answers requests, as the local gateway
// calls them: an event in, an answer out.
func (p *Place) Functions() (map[string]func(context.Context, json.RawMessage) (json.RawMessage, error), error) {
	out := map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){}
	for _, name := range []string{OAuth, Trips, Fleet, Settings, Reports, Delivery, Feedback, Me, Docs} {
		h, err := p.Handler(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		serve := gateway.Handler(h)
		out[name] = func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
			answer, err := serve(ctx, event)
			if err != nil {
				return nil, err
			}
			return json.Marshal(answer)
		}
	}
	return out, nil
}

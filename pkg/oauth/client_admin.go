package oauth

import (
	"context"
	"errors"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/oauth/clients"
)

// ClientSummary is a client as an operator of the platform sees it: no secret
// and no hash.
type ClientSummary struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	RedirectURIs []string  `json:"redirectUris"`
	AuthMethod   string    `json:"authMethod"`
	Audiences    []string  `json:"audiences"`
	Scopes       []string  `json:"scopes"`
	LogoURI      string    `json:"logoUri,omitempty"`
	Contacts     []string  `json:"contacts,omitempty"`
	CreatedAt    time.Time `json:"createdAt"`
	Disabled     bool      `json:"disabled"`
}

// ShowClient returns a client, even if it is disabled. The error is
// fault.NotFound if the client is unknown or has expired.
func (s *Server) ShowClient(ctx context.Context, id string) (ClientSummary, error) {
	it, err := s.db.Platform("CLIENT").Get(ctx, s.clients.Key(id))
	if err != nil {
		return ClientSummary{}, err
	}
	c, err := clients.Decode(id, it, s.now())
	if errors.Is(err, clients.ErrUnknown) {
		return ClientSummary{}, fault.NotFound()
	}
	return summary(c), err
}

// ListClients returns one page of all clients, newest first, and the position at which it
// ends, "" on the last page. after is the position of the previous page, or "" (see
// clients.Registry.List).
func (s *Server) ListClients(ctx context.Context, after string, limit int) ([]ClientSummary, string, error) {
	found, next, err := s.clients.List(ctx, after, limit)
	out := make([]ClientSummary, len(found))
	for i, c := range found {
		out[i] = summary(c)
	}
	return out, next, err
}

// summary returns what an operator of the platform sees of the client.
func summary(c clients.Client) ClientSummary {
	out := ClientSummary{ID: c.ID, Name: c.Name, RedirectURIs: c.RedirectURIs, AuthMethod: c.AuthMethod,
		Scopes: c.Scopes, LogoURI: c.LogoURI, Contacts: c.Contacts, CreatedAt: c.CreatedAt, Disabled: c.Disabled}
	for _, audience := range c.Audiences {
		out.Audiences = append(out.Audiences, string(audience))
	}
	return out
}

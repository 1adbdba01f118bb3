package oauth

import (
	"context"
	"time"

	"svc/pkg/table"
)

// IssueCode is issueCode.
func (s *Server) IssueCode(ctx context.Context, c AuthorizationCode) (string, error) {
	return s.issueCode(ctx, c)
}

// ClientOf is client.
func (s *Server) ClientOf(ctx context.Context, id string) (Client, error) { return s.client(ctx, id) }

// Throttle is throttle.
func (s *Server) Throttle(ctx context.Context, kind, key string, limit int, window time.Duration) error {
	return s.throttle(ctx, counter{kind, key, limit, window})
}

// Disconnect is disconnect.
func (s *Server) Disconnect(ctx context.Context, t table.Tenant, client, actor string) error {
	return s.disconnect(ctx, t, client, actor)
}

// MostAccessTokens is mostAccessTokens.
const MostAccessTokens = mostAccessTokens

// ReadRegistration runs the parser of registrations.
func ReadRegistration(body []byte) (Client, error) {
	m, err := parseMetadata(body)
	if err != nil {
		return Client{}, err
	}
	return m.client()
}

// Reads says whether the token has the form of a refresh token, and gives the
// first part made anew of what was read.
func Reads(token string) (first string, ok bool) {
	a, secret, err := parseRefresh(token)
	if err != nil {
		return "", false
	}
	again := a.token(secret)
	return again[:len(again)-secretSize], true
}

// ReadBasic runs the parser of Basic credentials.
func ReadBasic(header string) (id, secret string, err error) { return basic(header) }

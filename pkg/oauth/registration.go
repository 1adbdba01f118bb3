package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// registered is the answer of registration and management (RFC 7591 section
// 3.2.1, RFC 7592 section 3). A secret is shown once, when it is made.
type registered struct {
	ClientID        string           `json:"client_id"`
	IssuedAt        int64            `json:"client_id_issued_at"`
	Secret          string           `json:"client_secret,omitempty"`
	SecretExpires   *int64           `json:"client_secret_expires_at,omitempty"` // 0: never
	AccessToken     string           `json:"registration_access_token"`
	URI             string           `json:"registration_client_uri"`
	Name            string           `json:"client_name"`
	RedirectURIs    []string         `json:"redirect_uris"`
	LogoutURIs      []string         `json:"post_logout_redirect_uris,omitempty"`
	AuthMethod      string           `json:"token_endpoint_auth_method"`
	GrantTypes      []string         `json:"grant_types"`
	ResponseTypes   []string         `json:"response_types"`
	Audiences       []authz.Audience `json:"audiences"`
	Scope           string           `json:"scope"`
	ApplicationType string           `json:"application_type"`
	IDTokenAlg      string           `json:"id_token_signed_response_alg"`
	LogoURI         string           `json:"logo_uri,omitempty"`
	ClientURI       string           `json:"client_uri,omitempty"`
	PolicyURI       string           `json:"policy_uri,omitempty"`
	TermsURI        string           `json:"tos_uri,omitempty"`
	Contacts        []string         `json:"contacts,omitempty"`
	SoftwareID      string           `json:"software_id,omitempty"`
	SoftwareVersion string           `json:"software_version,omitempty"`
}

func (s *Server) registered(ctx context.Context, c Client, secret, token string) registered {
	out := registered{
		ClientID: c.ID, IssuedAt: c.CreatedAt.Unix(), Secret: secret, AccessToken: token, URI: s.base(ctx) + "/oauth/register/" + c.ID,
		Name: c.Name, RedirectURIs: c.RedirectURIs, LogoutURIs: c.LogoutURIs, AuthMethod: c.AuthMethod,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Audiences: c.Audiences, Scope: strings.Join(c.Scopes, " "), ApplicationType: c.ApplicationType, IDTokenAlg: c.IDTokenAlg,
		LogoURI: c.LogoURI, ClientURI: c.ClientURI, PolicyURI: c.PolicyURI, TermsURI: c.TermsURI,
		Contacts: c.Contacts, SoftwareID: c.SoftwareID, SoftwareVersion: c.SoftwareVersion,
	}
	if secret != "" {
		out.SecretExpires = new(int64)
	}
	return out
}

// register is RFC 7591 section 3: anybody may register a client.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	m, err := readMetadata(r)
	if err != nil {
		return err
	}
	c, err := m.client()
	if err != nil {
		return err
	}
	if err := s.throttle(r.Context(), counter{"register", s.address(r.Context()), s.config.Limits.Registrations, time.Hour}); err != nil {
		return err
	}
	made, err := s.create(r.Context(), c)
	if err != nil {
		return err
	}
	answer(w, http.StatusCreated, made)
	return nil
}

func readMetadata(r *http.Request) (metadata, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return metadata{}, &Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Description: "The body must be application/json."}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return metadata{}, readFault(err)
	}
	return parseMetadata(body)
}

// readFault is a body that could not be read: too large, or cut off.
func readFault(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return refuse("invalid_request", "The body could not be read.")
}

// create stores a new client: its record and all copies of its state.
func (s *Server) create(ctx context.Context, c Client) (registered, error) {
	now := s.now()
	c.ID, c.CreatedAt, c.Expires = ids.New(ids.Client, now), now.Truncate(time.Second), now.Add(UnusedLife)
	secret, token := "", ids.Secret()
	if !c.Public() {
		secret = ids.Secret()
		c.SecretHash = ids.Hash(secret)
	}
	c.ManagementHash = ids.Hash(token)
	tx := s.p.Write()
	tx.Create(s.clientItem(c))
	for n := range authz.Copies {
		tx.Create(table.Item{Key: authz.ClientKey(s.p, c.ID, n), Type: "state", Attrs: map[string]any{"disabled": false}, Expires: c.Expires})
	}
	if err := tx.Commit(ctx); err != nil {
		return registered{}, fmt.Errorf("registering a client: %w", err)
	}
	return s.registered(ctx, c, secret, token), nil
}

func (s *Server) clientItem(c Client) table.Item {
	return table.Item{Key: s.clientKey(c.ID), Type: "client", Version: max(c.version, 1), Expires: c.Expires,
		Attrs: map[string]any{"disabled": c.Disabled}, Doc: c}
}

// readClient is RFC 7592 section 2.1.
func (s *Server) readClient(w http.ResponseWriter, r *http.Request) error {
	c, token, err := s.managed(r)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, s.registered(r.Context(), c, "", token))
	return nil
}

// replaceClient is RFC 7592 section 2.2: what the body leaves out gets its
// default. The registration access token is a new one afterwards.
func (s *Server) replaceClient(w http.ResponseWriter, r *http.Request) error {
	m, unread := readMetadata(r)
	var c Client
	var secret, token string
	err := table.Retry(r.Context(), func(ctx context.Context) error {
		was, _, err := s.managed(r)
		if err != nil {
			return err
		}
		if unread != nil {
			return unread
		}
		if c, err = m.replacing(was); err != nil {
			return err
		}
		secret, token = "", ids.Secret()
		switch {
		case c.Public():
			c.SecretHash = ""
		case c.SecretHash == "":
			secret = ids.Secret()
			c.SecretHash = ids.Hash(secret)
		}
		c.ManagementHash = ids.Hash(token)
		tx := s.p.Write()
		tx.Replace(s.clientItem(c)).Else(table.ErrConflict)
		return tx.Commit(ctx)
	})
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, s.registered(r.Context(), c, secret, token))
	return nil
}

// replacing gives the client as the body would have it, with what the server
// keeps of the old one.
func (m metadata) replacing(was Client) (Client, error) {
	if m.ClientID == nil || *m.ClientID != was.ID {
		return Client{}, refuse("invalid_request", "client_id must be the client's own.")
	}
	if m.ClientSecret != nil && (was.SecretHash == "" || !same(ids.Hash(*m.ClientSecret), was.SecretHash)) {
		return Client{}, refuse("invalid_request", "client_secret is not the client's.")
	}
	c, err := m.client()
	if err != nil {
		return Client{}, err
	}
	c.ID, c.SecretHash, c.CreatedAt = was.ID, was.SecretHash, was.CreatedAt
	c.Disabled, c.Expires, c.version = was.Disabled, was.Expires, was.version
	return c, nil
}

// deleteClient is RFC 7592 section 2.3. The client's tokens die with it.
func (s *Server) deleteClient(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.managed(r)
	if err != nil {
		return err
	}
	err = table.Retry(r.Context(), func(ctx context.Context) error {
		tx := s.p.Write()
		tx.Delete(s.clientKey(c.ID))
		for n := range authz.Copies {
			tx.Delete(authz.ClientKey(s.p, c.ID, n))
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("deleting a client: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// managed gives the client that the request's registration access token is
// for. An unknown client is told as a wrong token is (RFC 7592 section 2).
func (s *Server) managed(r *http.Request) (Client, string, error) {
	token, given := bearer(r)
	if !given {
		return Client{}, "", &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Authenticate: "Bearer",
			Description: "A registration access token is needed."}
	}
	c, err := s.client(r.Context(), r.PathValue("client_id"))
	if err != nil && !errors.Is(err, errNoClient) {
		return Client{}, "", err
	}
	if err != nil || !same(ids.Hash(token), c.ManagementHash) {
		return Client{}, "", &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Authenticate: `Bearer error="invalid_token"`,
			Description: "The registration access token is not good."}
	}
	return c, token, nil
}

// DisableClient switches a client off or on: its tokens, and whatever it asks
// for, stop at once. fault.NotFound for an unknown one.
func (s *Server) DisableClient(ctx context.Context, id string, disabled bool) error {
	if !clientID(id) {
		return fault.NotFound()
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		change := table.Change{Set: map[string]any{"disabled": disabled}}
		if _, ok := documentURL(id); ok { // its name would come back when the record expired
			change.Remove = []string{"expiresAt"}
		}
		record := change
		record.Add = map[string]any{"version": 1}
		tx.Update(s.clientKey(id), record).If("attribute_exists(pk)").Else(fault.NotFound())
		for n := range authz.Copies {
			tx.Update(authz.ClientKey(s.p, id, n), change).If("attribute_exists(pk)").Else(fault.NotFound())
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("disabling a client: %w", err)
	}
	return nil
}

// used adds to a transaction that the client was used: it does not expire any
// more. No operation where that is known already.
func (s *Server) used(tx *table.Tx, c Client) {
	if c.Expires.IsZero() {
		return
	}
	forever := table.Change{Remove: []string{"expiresAt"}}
	for n := range authz.Copies {
		tx.Update(authz.ClientKey(s.p, c.ID, n), forever).If("attribute_exists(pk)").Else(table.ErrConflict)
	}
	forever.Add = map[string]any{"version": 1}
	tx.Update(s.clientKey(c.ID), forever).If("attribute_exists(pk)").Else(table.ErrConflict)
}

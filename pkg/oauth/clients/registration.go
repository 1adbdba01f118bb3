package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/throttle"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/protocol"
)

// registered is the response of registration and management (RFC 7591 section
// 3.2.1, RFC 7592 section 3). It contains the client's secret only when the
// server has just created the secret.
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
	AuthAlg         string           `json:"token_endpoint_auth_signing_alg,omitempty"`
	Keys            json.RawMessage  `json:"jwks,omitempty"`
	KeysURI         string           `json:"jwks_uri,omitempty"`
}

// registered returns the response for a client. secret is "" if it is not new.
func (reg *Registry) registered(c Client, secret, token string) registered {
	out := registered{
		ClientID: c.ID, IssuedAt: c.CreatedAt.Unix(), Secret: secret, AccessToken: token, URI: reg.baseURL +
			"/oauth/register/" + c.ID,
		Name: c.Name, RedirectURIs: c.RedirectURIs, LogoutURIs: c.LogoutURIs, AuthMethod: c.AuthMethod,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Audiences: c.Audiences, Scope: strings.Join(c.Scopes, " "), ApplicationType: c.ApplicationType,
		IDTokenAlg: c.IDTokenAlg,
		LogoURI:    c.LogoURI, ClientURI: c.ClientURI, PolicyURI: c.PolicyURI, TermsURI: c.TermsURI,
		Contacts: c.Contacts, SoftwareID: c.SoftwareID, SoftwareVersion: c.SoftwareVersion,
		AuthAlg: c.AuthAlg, Keys: c.Keys, KeysURI: c.KeysURI,
	}
	if secret != "" {
		out.SecretExpires = new(int64)
	}
	return out
}

// Register implements RFC 7591 section 3. Anybody may register a client.
func (reg *Registry) Register(w http.ResponseWriter, r *http.Request) error {
	m, err := reg.readMetadata(r)
	if err != nil {
		return err
	}
	c, err := m.client()
	if err != nil {
		return err
	}
	if err := reg.throttle.Count(r.Context(), throttle.Counter{Kind: "register", Key: reg.throttle.Address(r.Context()),
		Limit: reg.limits.Registrations, Window: time.Hour}); err != nil {
		return err
	}
	made, err := reg.create(r.Context(), c)
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusCreated, made)
	return nil
}

// readMetadata parses the body of a registration request.
func (reg *Registry) readMetadata(r *http.Request) (metadata, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return metadata{}, &protocol.Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Description: "The body must be application/json."}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return metadata{}, protocol.BodyError(err)
	}
	m, err := parseMetadata(bytes.TrimPrefix(body, []byte("\ufeff"))) // byte order mark (RFC 8259 section 8.1)
	m.localKeys = reg.localKeys
	return m, err
}

// create stores a new client: its record and all copies of its state. It
// returns the secret and the registration access token, which the server stores
// as hashes only.
func (reg *Registry) create(ctx context.Context, c Client) (registered, error) {
	now := reg.now()
	c.ID, c.CreatedAt, c.Expires = ids.New(ids.Client, now), now.Truncate(time.Second), now.Add(UnusedLife)
	secret, token := "", ids.Secret()
	if c.secret() {
		secret = ids.Secret()
		c.SecretHash = ids.Hash(secret)
	}
	c.ManagementHash = ids.Hash(token)
	tx := reg.p.Write()
	tx.Create(reg.Item(c))
	for _, it := range reg.stateItems(c) {
		tx.Create(it)
	}
	if err := table.Retry(ctx, tx.Commit); err != nil {
		return registered{}, fmt.Errorf("registering a client: %w", err)
	}
	return reg.registered(c, secret, token), nil
}

// Read implements RFC 7592 section 2.1.
func (reg *Registry) Read(w http.ResponseWriter, r *http.Request) error {
	c, token, err := reg.managed(r)
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusOK, reg.registered(c, "", token))
	return nil
}

// Replace implements RFC 7592 section 2.2. Members that the body omits get
// their defaults. The response has a new registration access token. The response
// may be lost, so the old token stays valid until somebody uses the new one. If
// the old one is used for another PUT, the new one is replaced, and so is a
// secret that was lost with it.
func (reg *Registry) Replace(w http.ResponseWriter, r *http.Request) error {
	m, unread := reg.readMetadata(r)
	var c Client
	var secret, token string
	err := table.Retry(r.Context(), func(ctx context.Context) error {
		was, used, err := reg.managed(r)
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
		case !c.secret():
			c.SecretHash = ""
		case c.SecretHash == "" || (was.NewSecret && was.replaced(used)):
			secret = ids.Secret()
			c.SecretHash = ids.Hash(secret)
		}
		c.ManagementHash, c.NewSecret = ids.Hash(token), secret != ""
		c.PreviousHash = previousHash(used, c.ManagementHash)
		tx := reg.p.Write()
		tx.Replace(reg.Item(c)).Else(table.ErrConflict)
		reg.setScopes(tx, was, c)
		return tx.Commit(ctx)
	})
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusOK, reg.registered(c, secret, token))
	return nil
}

// replacing returns the client that the body describes, with the values of the
// old client that the server keeps.
func (m metadata) replacing(was Client) (Client, error) {
	if m.ClientID == nil || *m.ClientID != was.ID {
		return Client{}, protocol.Refuse("invalid_request", "client_id must be the id in the request's path.")
	}
	if m.ClientSecret != nil && (was.SecretHash == "" || !protocol.Equal(ids.Hash(*m.ClientSecret), was.SecretHash)) {
		return Client{}, protocol.Refuse("invalid_request", "client_secret is not the client's current secret.")
	}
	m.was = was
	c, err := m.client()
	if err != nil {
		return Client{}, err
	}
	c.ID, c.SecretHash, c.CreatedAt = was.ID, was.SecretHash, was.CreatedAt
	c.Disabled, c.Expires, c.version, c.unknown = was.Disabled, was.Expires, was.version, was.unknown
	return c, nil
}

// Delete implements RFC 7592 section 2.3. Deleting a client revokes its tokens.
func (reg *Registry) Delete(w http.ResponseWriter, r *http.Request) error {
	c, _, err := reg.managed(r)
	if err != nil {
		return err
	}
	err = table.Retry(r.Context(), func(ctx context.Context) error {
		tx := reg.p.Write()
		tx.Delete(reg.Key(c.ID))
		for n := range authz.Copies {
			tx.Delete(authz.ClientKey(reg.p, c.ID, n))
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("deleting a client: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// previousHash returns what the server stores of a registration access token that a
// PUT replaced. It includes next, the hash of the new token. So it is void as soon as
// the new token is replaced.
func previousHash(token, next string) string { return ids.Hash(ids.Hash(token) + " " + next) }

// replaced reports whether token was the client's token before the current one, and
// nobody has used the current one yet.
func (c Client) replaced(token string) bool {
	return c.PreviousHash != "" && protocol.Equal(previousHash(token, c.ManagementHash), c.PreviousHash)
}

// managed returns the client that the path names, and the request's
// registration access token, if the token is that client's. The first use of a
// new token ends the one before it. An unknown client,
// a disabled client and a wrong token get the same response (RFC 7592 section
// 2).
func (reg *Registry) managed(r *http.Request) (Client, string, error) {
	token, given := protocol.Bearer(r)
	if !given {
		return Client{}, "", &protocol.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Authenticate: "Bearer",
			Description: "A registration access token is needed."}
	}
	var c Client
	err := table.Retry(r.Context(), func(ctx context.Context) (err error) {
		c, err = reg.Find(ctx, r.PathValue("client_id"))
		if err != nil || c.PreviousHash == "" || !protocol.Equal(ids.Hash(token), c.ManagementHash) {
			return err
		}
		c.PreviousHash, c.NewSecret = "", false
		tx := reg.p.Write()
		tx.Replace(reg.Item(c)).Else(table.ErrConflict)
		c.version++
		return tx.Commit(ctx)
	})
	if err != nil && !errors.Is(err, ErrUnknown) {
		return Client{}, "", err
	}
	if err != nil || (!protocol.Equal(ids.Hash(token), c.ManagementHash) && !c.replaced(token)) {
		return Client{}, "", &protocol.Error{Status: http.StatusUnauthorized, Code: "invalid_token",
			Authenticate: `Bearer error="invalid_token"`,
			Description:  "The registration access token is not valid for this client."}
	}
	return c, token, nil
}

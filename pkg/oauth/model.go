package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// Lifetimes.
const (
	CodeLife        = 60 * time.Second    // an authorization code, until it is redeemed
	AccessLife      = time.Hour           // an access token and an id_token
	RefreshLife     = 90 * 24 * time.Hour // a refresh token, from its own issue
	UnusedLife      = 90 * 24 * time.Hour // a client, until its first use
	MaxRefreshGrace = 30 * time.Second
	afterlife       = 10 * time.Minute // for which records outlive what they are about
)

// The client authentication methods (RFC 7591 section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// Client is a registered client: the metadata of RFC 7591 section 2 and what
// the server keeps beside it. The JSON is what is stored.
type Client struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	RedirectURIs    []string         `json:"redirectUris"`
	LogoutURIs      []string         `json:"logoutUris,omitempty"` // post_logout_redirect_uris
	AuthMethod      string           `json:"authMethod"`           // none, client_secret_basic or client_secret_post
	SecretHash      string           `json:"secretHash,omitempty"` // SHA-256; "" for a public client
	Audiences       []authz.Audience `json:"audiences"`
	Scopes          []string         `json:"scopes"`          // registered scopes, in the order given
	ApplicationType string           `json:"applicationType"` // web or native
	IDTokenAlg      string           `json:"idTokenAlg"`      // RS256 or ES256
	LogoURI         string           `json:"logoUri,omitempty"`
	ClientURI       string           `json:"clientUri,omitempty"`
	PolicyURI       string           `json:"policyUri,omitempty"`
	TermsURI        string           `json:"tosUri,omitempty"`
	Contacts        []string         `json:"contacts,omitempty"`
	SoftwareID      string           `json:"softwareId,omitempty"`
	SoftwareVersion string           `json:"softwareVersion,omitempty"`
	ManagementHash  string           `json:"managementHash"` // SHA-256 of the registration access token
	CreatedAt       time.Time        `json:"createdAt"`
	DocumentUntil   time.Time        `json:"documentUntil,omitzero"` // until when the document at ID need not be read again

	Disabled bool      `json:"-"` // an attribute of its own
	Expires  time.Time `json:"-"` // zero once the client was used
	version  int64
}

// Public says whether the client has no secret.
func (c Client) Public() bool { return c.AuthMethod == authNone }

// errNoClient is a client that is unknown, expired or disabled.
var errNoClient = errors.New("no such client")

func (s *Server) clientKey(id string) table.Key { return s.p.Key("CLIENT", "CLIENT", id) }

// client gives a client that may be used now, else errNoClient; one that is named
// by an address is fetched from there.
func (s *Server) client(ctx context.Context, id string) (Client, error) {
	if at, ok := documentURL(id); ok {
		return s.document(ctx, at)
	}
	if !ids.Valid(ids.Client, id) {
		return Client{}, errNoClient
	}
	it, err := s.p.Get(ctx, s.clientKey(id))
	if err != nil {
		return Client{}, fmt.Errorf("reading a client: %w", err)
	}
	c, err := clientOf(it, s.now())
	if err == nil && c.Disabled {
		return Client{}, errNoClient
	}
	return c, err
}

// clientOf reads a client's main record; errNoClient when it is absent or
// expired. A disabled client is given with Disabled set.
func clientOf(it table.Item, now time.Time) (Client, error) {
	if !it.Live(now) {
		return Client{}, errNoClient
	}
	var c Client
	if err := it.Decode(&c); err != nil {
		return Client{}, err
	}
	c.Disabled, c.Expires, c.version = it.Flag("disabled"), it.Expires, it.Version
	return c, nil
}

// AuthorizationCode is what a code stands for: one sign-in and one consent.
type AuthorizationCode struct {
	ClientID    string         `json:"client"`
	RedirectURI string         `json:"redirectUri"` // as the authorization request gave it
	Challenge   string         `json:"challenge"`   // PKCE, S256
	TenantID    string         `json:"tenant"`
	Audience    authz.Audience `json:"audience"`
	Actor       string         `json:"actor"` // usr_…, cus_… or drv_…
	Scopes      []string       `json:"scopes"`
	Nonce       string         `json:"nonce,omitempty"`
	AuthTime    time.Time      `json:"authTime"`           // when the person signed in
	Resource    string         `json:"resource,omitempty"` // RFC 8707
	Session     string         `json:"session,omitempty"`  // hash of the browser session, "" for none
	Epoch       int64          `json:"epoch,omitempty"`    // of the grant when it was issued: what ends the grant ends the code
	Since       string         `json:"since,omitempty"`    // of the actor when it was issued: what ends the actor's tokens ends the code
	Expires     time.Time      `json:"expires"`            // set by issueCode
}

func (s *Server) codeKey(code string) table.Key { return s.p.Key("CODE", "CODE", ids.Hash(code)) }

// issueCode makes a code that is good for CodeLife and once. The caller has
// checked the client, the redirect URI, the person and the consent.
func (s *Server) issueCode(ctx context.Context, c AuthorizationCode) (code string, err error) {
	code, now := ids.Secret(), s.now()
	c.Expires = now.Add(CodeLife)
	tx := s.p.Write()
	tx.Create(table.Item{Key: s.codeKey(code), Type: "code", Doc: c, Expires: c.Expires.Add(afterlife)})
	if err := tx.Commit(ctx); err != nil {
		return "", fmt.Errorf("issuing a code: %w", err)
	}
	return code, nil
}

package flow

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

// Options describe who requests a token, and from which service.
type Options struct {
	BaseURL  string // address of the service without a slash at its end
	Tenant   string // slug; an operator with one membership may leave it empty
	Audience string // "dashboard", "rider" or "driver"; empty is "dashboard"
	Email    string
	Password string
	Scope    string // space-separated; empty asks for every scope of the audience
	Resource string // addresses of protected resources (RFC 8707), space-separated; empty is the API

	ClientID     string // empty registers a public client
	ClientSecret string // secret of a confidential ClientID, which authenticates with client_secret_basic
	RedirectURI  string // empty is Redirect
	ClientName   string // name to register if ClientID is empty; empty is "Command line"

	HTTPClient *http.Client // nil is http.DefaultClient; pages use neither its cookie jar nor its redirect policy
}

// Redirect is the default redirect URI. Nothing listens there: the flow reads
// the code from the redirect's address.
const Redirect = "http://127.0.0.1/callback"

// Tokens are the response of the token endpoint (RFC 6749 section 5.1) and the
// client that received them.
type Tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	IDToken      string `json:"id_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"` // seconds
	Scope        string `json:"scope"`

	ClientID string `json:"-"`
}

// Token registers a client if the options name none, requests authorization,
// signs in, picks the tenant, consents, and exchanges the code. The error is an
// *Error if the server returns an OAuth error, and a *Page if the flow cannot get
// past a page, for example because the password is wrong.
func Token(ctx context.Context, o Options) (Tokens, error) {
	o = o.filled()
	if o.ClientID == "" {
		client, err := Register(ctx, o)
		if err != nil {
			return Tokens{}, err
		}
		o.ClientID, o.ClientSecret = client.ID, client.Secret
	}
	verifier := ids.Secret()
	code, err := Code(ctx, o, verifier)
	if err != nil {
		return Tokens{}, err
	}
	return Exchange(ctx, o, code, verifier)
}

// Code runs the authorization and returns the code that the client would
// receive. verifier is the PKCE verifier that Exchange will send.
func Code(ctx context.Context, o Options, verifier string) (string, error) {
	state := ids.Secret()
	answer, err := NewBrowser(o).Authorize(ctx, o.Request(state, verifier))
	if err != nil {
		return "", err
	}
	return o.Answer(answer, state)
}

// Request returns the parameters of the authorization request.
func (o Options) Request(state, verifier string) url.Values {
	o = o.filled()
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {o.ClientID}, "redirect_uri": {o.RedirectURI}, "scope": {o.Scope},
		"state":          {state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if o.Tenant != "" {
		query.Set("tenant_hint", o.Tenant)
	}
	for resource := range strings.FieldsSeq(o.Resource) {
		query.Add("resource", resource)
	}
	return query
}

// Answer returns the code of an authorization response. It checks state and iss (RFC
// 9207). The error is an *Error if the response is an OAuth error.
func (o Options) Answer(answer url.Values, state string) (code string, err error) {
	o = o.filled()
	if answer.Get("state") != state {
		return "", fmt.Errorf("the authorization response has another state than the request")
	}
	if iss := answer.Get("iss"); iss != o.BaseURL {
		return "", fmt.Errorf("the authorization response has iss %q; expected %q", iss, o.BaseURL)
	}
	if code := answer.Get("error"); code != "" {
		return "", &Error{Code: code, Description: answer.Get("error_description")}
	}
	return answer.Get("code"), nil
}

// filled returns the options with defaults applied.
func (o Options) filled() Options {
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.Audience == "" {
		o.Audience = string(authz.Dashboard)
	}
	if o.Scope == "" {
		o.Scope = strings.Join(authz.Scopes(authz.Audience(o.Audience)), " ")
	}
	if o.RedirectURI == "" {
		o.RedirectURI = Redirect
	}
	if o.ClientName == "" {
		o.ClientName = "Command line"
	}
	if o.HTTPClient == nil {
		o.HTTPClient = http.DefaultClient
	}
	return o
}

// NewBrowser returns a browser with its own empty cookie jar, so browsers share
// no session.
func NewBrowser(o Options) *Browser {
	o = o.filled()
	client := *o.HTTPClient
	client.Jar, _ = cookiejar.New(nil) // the error is always nil
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Browser{o: o, client: &client}
}

// Error is an OAuth error response (RFC 6749 sections 4.1.2.1 and 5.2).
type Error struct {
	Status      int // 0 if the error came by a redirect
	Code        string
	Description string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Description == "" {
		return e.Code
	}
	return e.Code + ": " + e.Description
}

// Page is a page of the server at which the flow stopped.
type Page struct {
	Status int
	Text   string // the page's alert or main text; the whole body if the page has neither
}

// Error implements error.
func (p *Page) Error() string {
	return fmt.Sprintf("the server shows a page (%d): %s", p.Status, p.Text)
}

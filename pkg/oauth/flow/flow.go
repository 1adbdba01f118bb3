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

	"svc/pkg/authz"
	"svc/pkg/ids"
)

// Options say who wants a token, from where.
type Options struct {
	BaseURL  string // address of the service without a slash at its end
	Tenant   string // slug; an operator with one membership may leave it empty
	Audience string // "dashboard", "rider" or "driver"; empty is "dashboard"
	Email    string
	Password string
	Scope    string // space-separated; empty asks for every scope of the audience

	ClientID     string // empty registers a public client
	ClientSecret string // of a confidential ClientID; it authenticates with client_secret_basic
	RedirectURI  string // empty is Redirect
	ClientName   string // of a client that is registered here; empty is "Command line"

	HTTPClient *http.Client // nil is http.DefaultClient; its cookie jar and redirect policy are not used
}

// Redirect is where codes are sent when nothing else is asked for. Nobody
// listens there: the flow reads the code from where the server sends its browser.
const Redirect = "http://127.0.0.1/callback"

// Tokens are what the token endpoint answered (RFC 6749 section 5.1), with
// the client they were issued to.
type Tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	IDToken      string `json:"id_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"` // seconds
	Scope        string `json:"scope"`

	ClientID string `json:"-"`
}

// Token registers a client where none is named, asks for authorization, signs
// in, picks the tenant, consents, and exchanges the code. An OAuth error is a
// *Error; a page that asks for what the options do not have is a *Page.
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

// Code goes through authorization and gives the code that the client would
// have received. The answer's state and iss are checked (RFC 9207).
func Code(ctx context.Context, o Options, verifier string) (string, error) {
	o = o.filled()
	state, sum := ids.Secret(), sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {o.ClientID}, "redirect_uri": {o.RedirectURI}, "scope": {o.Scope}, "state": {state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if o.Tenant != "" {
		query.Set("tenant_hint", o.Tenant)
	}
	answer, err := NewBrowser(o).Authorize(ctx, query)
	if err != nil {
		return "", err
	}
	if answer.Get("state") != state {
		return "", fmt.Errorf("the answer to the authorization request has another state")
	}
	if iss := answer.Get("iss"); iss != o.BaseURL {
		return "", fmt.Errorf("the answer to the authorization request is of issuer %q, not %q", iss, o.BaseURL)
	}
	if word := answer.Get("error"); word != "" {
		return "", &Error{Word: word, Description: answer.Get("error_description")}
	}
	return answer.Get("code"), nil
}

// filled gives the options with their defaults.
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

// NewBrowser gives a browser with an empty cookie jar of its own, so that the
// session of one is not the session of another.
func NewBrowser(o Options) *Browser {
	o = o.filled()
	client := *o.HTTPClient
	client.Jar, _ = cookiejar.New(nil) // its error is always nil
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Browser{o: o, client: &client}
}

// Error is an OAuth error answer (RFC 6749 sections 4.1.2.1 and 5.2).
type Error struct {
	Status      int // 0 where the answer came by a redirect
	Word        string
	Description string
}

func (e *Error) Error() string {
	if e.Description == "" {
		return e.Word
	}
	return e.Word + ": " + e.Description
}

// Page is a page of the server that the flow could not get past.
type Page struct {
	Status int
	Text   string // what the page says, without its markup
}

func (p *Page) Error() string {
	return fmt.Sprintf("the server shows a page (%d): %s", p.Status, p.Text)
}

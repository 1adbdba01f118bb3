package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client is a client as the server registered it (RFC 7591 section 3.2.1).
type Client struct {
	ID                      string `json:"client_id"`
	Secret                  string `json:"client_secret"`
	RegistrationAccessToken string `json:"registration_access_token"`
}

// Register registers a public client for the options' audience, scope and
// redirect URI.
func Register(ctx context.Context, o Options) (Client, error) {
	o = o.filled()
	body, err := json.Marshal(map[string]any{
		"client_name": o.ClientName, "redirect_uris": []string{o.RedirectURI}, "token_endpoint_auth_method": "none",
		"application_type": "native", "audiences": []string{o.Audience}, "scope": o.Scope,
	})
	if err != nil {
		return Client{}, fmt.Errorf("client metadata: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.BaseURL+"/oauth/register", bytes.NewReader(body))
	if err != nil {
		return Client{}, fmt.Errorf("registration: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	var client Client
	if err := answer(o.HTTPClient, req, &client); err != nil {
		return Client{}, fmt.Errorf("registration: %w", err)
	}
	return client, nil
}

// Exchange exchanges a code for tokens (RFC 6749 section 4.1.3).
func Exchange(ctx context.Context, o Options, code, verifier string) (Tokens, error) {
	o = o.filled()
	return Grant(ctx, o, url.Values{"grant_type": {"authorization_code"}, "code": {code},
		"redirect_uri": {o.RedirectURI}, "code_verifier": {verifier}})
}

// Refresh exchanges a refresh token for new tokens (RFC 6749 section 6).
func Refresh(ctx context.Context, o Options, refreshToken string) (Tokens, error) {
	return Grant(ctx, o, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}})
}

// Grant sends a token request (RFC 6749 section 3.2), with the parameters form and the
// client's credentials.
func Grant(ctx context.Context, o Options, form url.Values) (Tokens, error) {
	o = o.filled()
	out := Tokens{ClientID: o.ClientID}
	if err := o.post(ctx, o.BaseURL+"/oauth/token", form, &out); err != nil {
		return Tokens{}, fmt.Errorf("token request: %w", err)
	}
	return out, nil
}

// Revoke ends a token, and with a refresh token its whole family (RFC 7009).
func Revoke(ctx context.Context, o Options, token string) error {
	o = o.filled()
	return o.post(ctx, o.BaseURL+"/oauth/revoke", url.Values{"token": {token}}, nil)
}

// post sends a form with the client's credentials, and decodes the JSON response into out.
func (o Options) post(ctx context.Context, to string, form url.Values, out any) error {
	if o.ClientSecret == "" {
		form.Set("client_id", o.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if o.ClientSecret != "" {
		req.SetBasicAuth(url.QueryEscape(o.ClientID), url.QueryEscape(o.ClientSecret))
	}
	return answer(o.HTTPClient, req, out)
}

// answer sends the request and decodes the JSON response into out, unless that is nil. An
// error response becomes an *Error, and so does a redirect that the client does not follow.
func answer(client *http.Client, req *http.Request, out any) error {
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, pageLimit))
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		var failed struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		if json.Unmarshal(body, &failed) != nil || failed.Error == "" {
			failed.Error = http.StatusText(res.StatusCode)
		}
		return &Error{Status: res.StatusCode, Code: failed.Error, Description: failed.Description}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decoding the response: %w", err)
	}
	return nil
}

package tokens

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/protocol"
)

// identified is the policy that accepts every live token with the scope openid
// (OpenID Connect Core section 5.3).
var identified = authz.Policy{Scopes: map[authz.Audience]string{authz.Dashboard: "openid", authz.Rider: "openid",
	authz.Driver: "openid"}}

// UserInfo serves GET and POST /oauth/userinfo. It returns the claims about the
// actor that the token's scopes allow. The token must pass the same checks as in
// an API request. A token for the MCP server alone is rejected.
func (s *Issuer) UserInfo(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	ctx := r.Context()
	raw, err := userToken(r)
	if err != nil {
		return err
	}
	access, err := s.Keys.Verify(ctx, raw)
	if errors.Is(err, signing.ErrToken) {
		return badToken("The access token is malformed or expired, or this server did not sign it.")
	}
	if err != nil {
		return err
	}
	t, platform := s.db.Tenant(access.TenantID), s.db.Platform("CLIENT", "PERSON")
	items, err := table.Join(t.Handle, platform.Handle).Batch(ctx, authz.LiveKeys(t, platform, access)...)
	if err != nil {
		return fmt.Errorf("checks of a token: %w", err)
	}
	live := authz.LiveFrom(items)
	if !live.For(authz.API) {
		return badToken("The token is not for this address. Ask for authorization with resource=" + s.BaseURL +
			authz.API + ".")
	}
	if err := authz.Judge(identified, access, live, s.now()); err != nil {
		return judged(err)
	}
	if live.AgentMode() == authz.AgentsOff {
		return &protocol.Error{Status: http.StatusForbidden, Code: "access_denied",
			Description: "The company does not let agents act, and this access token is an agent's."}
	}
	claims, scopes := map[string]any{"sub": access.Subject}, live.Scopes(access)
	if slices.Contains(scopes, "profile") || slices.Contains(scopes, "email") {
		record := live.Actor
		if authz.Audience(access.Audience) == authz.Dashboard {
			if record, err = platform.Get(ctx, person.Key(platform, access.Subject)); err != nil {
				return fmt.Errorf("person: %w", err)
			}
		}
		if err := describe(claims, record, scopes); err != nil {
			return err
		}
	}
	protocol.WriteJSON(w, http.StatusOK, claims)
	return nil
}

// describe adds the standard claims (OpenID Connect Core section 5.1) that the
// scopes request. Nobody verified the mail address, so email_verified is false.
func describe(claims map[string]any, record table.Item, scopes []string) error {
	var who struct {
		Name      string `json:"name"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
		Email     string `json:"email"`
		PhotoURL  string `json:"photoUrl"`
	}
	if err := record.Decode(&who); err != nil {
		return err
	}
	if slices.Contains(scopes, "email") && who.Email != "" {
		claims["email"], claims["email_verified"] = who.Email, false
	}
	if !slices.Contains(scopes, "profile") {
		return nil
	}
	if who.Name == "" {
		who.Name = strings.TrimSpace(who.FirstName + " " + who.LastName)
	}
	for name, value := range map[string]string{"name": who.Name, "given_name": who.FirstName, "family_name": who.LastName,
		"picture": who.PhotoURL} {
		if value != "" {
			claims[name] = value
		}
	}
	return nil
}

// userToken returns the token of the Authorization header or of a form body. A
// request must not use both (RFC 6750 section 2).
func userToken(r *http.Request) (string, error) {
	var found []string
	for _, header := range r.Header.Values("Authorization") {
		scheme, token, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			found = append(found, strings.TrimSpace(token))
		}
	}
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if r.Method == http.MethodPost && strings.EqualFold(strings.TrimSpace(mediaType),
		"application/x-www-form-urlencoded") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", protocol.BodyError(err)
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", protocol.Refuse("invalid_request", "The form is malformed.")
		}
		found = append(found, form["access_token"]...)
	}
	switch {
	case len(found) == 0 || found[0] == "":
		return "", &protocol.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Authenticate: "Bearer",
			Description: "The request needs an access token."}
	case len(found) > 1:
		return "", protocol.Refuse("invalid_request", "Send the access token once only.")
	}
	return found[0], nil
}

// badToken returns the error invalid_token (RFC 6750 section 3.1).
func badToken(description string) *protocol.Error {
	return &protocol.Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: description,
		Authenticate: `Bearer error="invalid_token", error_description="` + description + `"`}
}

// judged converts an error of the token checks to an error of RFC 6750 section
// 3.1.
func judged(err error) error {
	f := fault.Of(err)
	switch f.Kind {
	case fault.KindUnauthorized:
		return badToken("The token is no longer valid.")
	case fault.KindScope:
		return &protocol.Error{Status: http.StatusForbidden, Code: "insufficient_scope", Description: f.Message,
			Authenticate: `Bearer error="insufficient_scope", scope="` + f.Scope + `"`}
	}
	return err
}

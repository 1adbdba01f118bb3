package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/person"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// identified lets in every token with the scope openid (OpenID Connect Core
// section 5.3).
var identified = authz.Policy{Scopes: map[authz.Audience]string{authz.Dashboard: "openid", authz.Rider: "openid", authz.Driver: "openid"}}

// userinfo answers GET and POST /oauth/userinfo: what the token's scopes let
// be known of the actor, after the same checks as any request of the API.
func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	ctx := r.Context()
	raw, err := userToken(r)
	if err != nil {
		return err
	}
	access, err := s.keys.Verify(ctx, raw)
	if errors.Is(err, signing.ErrToken) {
		return badToken("The token is not good.")
	}
	if err != nil {
		return err
	}
	t := s.db.Tenant(access.TenantID)
	items, err := table.Join(t.Handle, s.p.Handle).Batch(ctx, authz.LiveKeys(t, s.p, access)...)
	if err != nil {
		return fmt.Errorf("checks of a token: %w", err)
	}
	if err := authz.Judge(identified, access, items, s.now()); err != nil {
		return judged(err)
	}
	claims := map[string]any{"sub": access.Subject}
	if slices.Contains(access.Scopes, "profile") || slices.Contains(access.Scopes, "email") {
		record := items[2]
		if authz.Audience(access.Audience) == authz.Dashboard {
			if record, err = s.p.Get(ctx, person.Key(s.p, access.Subject)); err != nil {
				return fmt.Errorf("person: %w", err)
			}
		}
		if err := describe(claims, record, access.Scopes); err != nil {
			return err
		}
	}
	answer(w, http.StatusOK, claims)
	return nil
}

// describe adds the standard claims (OpenID Connect Core section 5.1) that the
// scopes ask for. Nobody verified the address, and that is said.
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
	for name, value := range map[string]string{"name": who.Name, "given_name": who.FirstName, "family_name": who.LastName, "picture": who.PhotoURL} {
		if value != "" {
			claims[name] = value
		}
	}
	return nil
}

// userToken gives the token of the Authorization header or of a form body, one of
// them only (RFC 6750 section 2).
func userToken(r *http.Request) (string, error) {
	var found []string
	for _, header := range r.Header.Values("Authorization") {
		scheme, token, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			found = append(found, strings.TrimSpace(token))
		}
	}
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if r.Method == http.MethodPost && strings.EqualFold(strings.TrimSpace(mediaType), "application/x-www-form-urlencoded") {
		form, err := readForm(r)
		if err != nil {
			return "", refuse("invalid_request", "The form is malformed.")
		}
		found = append(found, form["access_token"]...)
	}
	switch {
	case len(found) == 0 || found[0] == "":
		return "", &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: "A token is needed.", Authenticate: "Bearer"}
	case len(found) > 1:
		return "", refuse("invalid_request", "More than one token was sent.")
	}
	return found[0], nil
}

// badToken is RFC 6750 section 3.1, invalid_token.
func badToken(description string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "invalid_token", Description: description,
		Authenticate: `Bearer error="invalid_token", error_description="` + description + `"`}
}

// judged puts what the checks found into the words of RFC 6750 section 3.1.
func judged(err error) error {
	f := fault.Of(err)
	switch f.Code {
	case fault.CodeUnauthorized:
		return badToken("The token is no longer good.")
	case fault.CodeScope:
		return &Error{Status: http.StatusForbidden, Code: "insufficient_scope", Description: f.Message,
			Authenticate: `Bearer error="insufficient_scope", scope="` + f.Scope + `"`}
	}
	return err
}

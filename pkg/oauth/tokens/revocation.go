package tokens

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// presented is a token that a client wants to introspect or revoke: a verified
// access token, a string in the form of a refresh token, or any other text. The
// server ignores token_type_hint (RFC 7009 section 2.1), because the form of
// the token is more reliable.
type presented struct {
	raw     string
	access  signing.Access // valid if isJWT
	isJWT   bool
	live    []table.Item // of authz.LiveKeys
	refresh address      // valid if formed
	secret  string
	formed  bool
	items   familyItems
}

func (s *Issuer) presented(ctx context.Context, form url.Values) (*presented, error) {
	p := &presented{raw: form.Get("token")}
	if p.raw == "" {
		return p, protocol.Refuse("invalid_request", "token is missing.")
	}
	var err error
	if p.refresh, p.secret, err = parseRefresh(p.raw); err == nil {
		p.formed = true
		return p, nil
	}
	p.access, err = s.Keys.Verify(ctx, p.raw)
	if err != nil && !errors.Is(err, signing.ErrToken) {
		return p, err
	}
	p.isJWT = err == nil
	return p, nil
}

// addGets adds the items that decide whether the token is live. For an access
// token these are the items that the API's checks read. For a refresh token
// they are the items that a refresh reads.
func (p *presented) addGets(s *Issuer, b *table.BatchGet, clientID string) {
	switch {
	case p.isJWT:
		t, platform := s.db.Tenant(p.access.TenantID), s.db.Platform("CLIENT")
		keys := authz.LiveKeys(t, platform, p.access)
		p.live = make([]table.Item, len(keys))
		for n, key := range keys {
			b.Add(table.Join(t.Handle, platform.Handle), key, &p.live[n])
		}
	case p.formed:
		p.items.addGets(b, s.db.Tenant(p.refresh.tenant), p.refresh, clientID)
	}
}

// aboutToken parses a request about a token, authenticates its client and calls
// run.
func (s *Issuer) aboutToken(r *http.Request, run func(context.Context, clients.Client, *presented) error) error {
	form, err := protocol.ParseForm(r)
	if err != nil {
		return err
	}
	by, err := protocol.ParseCredentials(r, form, s.assertion)
	if errors.Is(err, protocol.ErrNoClient) { // RFC 7662 section 2.3, RFC 7009 section 2.2.1
		return protocol.InvalidClient(true)
	}
	if err != nil {
		return err
	}
	p, err := s.presented(r.Context(), form)
	if err != nil {
		return err
	}
	return s.authenticated(r.Context(), by, p, new(bool), func(ctx context.Context, c clients.Client) error {
		return run(ctx, c, p)
	})
}

// family returns the family of a refresh token, even if the token is no longer
// the family's current one. The error is errNoFamily if no stored family
// matches the token.
func (p *presented) family(now time.Time) (family, error) {
	f, err := familyFrom(p.items.family, now)
	if err != nil {
		return family{}, err
	}
	if f.Actor != p.refresh.actor || f.Audience != p.refresh.audience ||
		!protocol.Equal(ids.Hash(p.secret), f.SecretHash) {
		return family{}, errNoFamily
	}
	return f, nil
}

// Revoke implements RFC 7009. For an access token or a refresh token, it
// revokes the token's family: the refresh token and every access token. For an
// unknown, expired or revoked token the status is 200 (section 2.2). The
// exception is a token of another client that has not expired: it gets
// unauthorized_client (section 2.1).
func (s *Issuer) Revoke(w http.ResponseWriter, r *http.Request) error {
	err := s.aboutToken(r, func(ctx context.Context, c clients.Client, p *presented) error {
		var tenant, owner, id string
		var alone bool // a token of a machine, which has no family
		switch {
		case p.isJWT:
			token := authz.LiveFrom(p.live).Token
			tenant, owner, id = p.access.TenantID, p.access.ClientID, token.Text("family")
			alone = token.Found() && id == ""
		case p.formed:
			f, err := p.family(s.now())
			if errors.Is(err, errNoFamily) {
				return nil
			}
			if err != nil {
				return err
			}
			tenant, owner, id = p.refresh.tenant, f.Client, f.ID
		}
		if owner != "" && owner != c.ID {
			return protocol.Refuse("unauthorized_client", "The token belongs to another client.")
		}
		if alone {
			return s.endToken(ctx, s.db.Tenant(tenant), p.access.ID, nil)
		}
		if id == "" {
			return nil
		}
		if err := s.endFamily(ctx, s.db.Tenant(tenant), id, nil); err != nil && !errors.Is(err, errNoFamily) {
			return fmt.Errorf("revoking a token: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// introspection is the response of RFC 7662 section 2.2.
type introspection struct {
	Active   bool   `json:"active"`
	Scope    string `json:"scope,omitempty"`
	ClientID string `json:"client_id,omitempty"`
	Type     string `json:"token_type,omitempty"`
	Expires  int64  `json:"exp,omitempty"`
	IssuedAt int64  `json:"iat,omitempty"`
	Subject  string `json:"sub,omitempty"`
	Audience string `json:"aud,omitempty"`
	Issuer   string `json:"iss,omitempty"`
	ID       string `json:"jti,omitempty"`
	TenantID string `json:"tenant_id,omitempty"`
}

// Introspect implements RFC 7662 for confidential clients. A public client gets
// invalid_client. A token of another client is reported as not active.
func (s *Issuer) Introspect(w http.ResponseWriter, r *http.Request) error {
	var out introspection
	err := s.aboutToken(r, func(_ context.Context, c clients.Client, p *presented) (err error) {
		if c.Public() {
			return protocol.InvalidClient(true)
		}
		switch {
		case p.isJWT:
			out = s.aboutAccess(c, p)
		case p.formed:
			out, err = s.aboutRefresh(c, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusOK, out)
	return nil
}

// anyone is a policy that requires only a live token.
var anyone = authz.Policy{Scopes: map[authz.Audience]string{authz.Dashboard: "", authz.Rider: "", authz.Driver: ""}}

func (s *Issuer) aboutAccess(c clients.Client, p *presented) introspection {
	a, live := p.access, authz.LiveFrom(p.live)
	if a.ClientID != c.ID || authz.Judge(anyone, a, live, s.now()) != nil {
		return introspection{}
	}
	return introspection{Active: true, Scope: strings.Join(live.Scopes(a), " "), ClientID: a.ClientID, Type: "Bearer",
		Expires:  a.Expires.Unix(),
		IssuedAt: a.IssuedAt.Unix(), Subject: a.Subject, Audience: a.Audience, Issuer: a.Issuer, ID: a.ID,
		TenantID: a.TenantID}
}

func (s *Issuer) aboutRefresh(c clients.Client, p *presented) (introspection, error) {
	f, err := p.family(s.now())
	if err != nil && !errors.Is(err, errNoFamily) {
		return introspection{}, err
	}
	stands, gone := p.items.standing()
	scopes, none := grantable(c, f.Audience, f.Scopes, stands.Have)
	if err != nil || gone != nil || none != nil || f.Client != c.ID || f.Revoked ||
		!protocol.Equal(ids.Hash(p.raw), f.CurrentHash) || !p.items.grant.Found() ||
		!p.items.current(f.Epoch, f.Since) {
		return introspection{}, nil
	}
	return introspection{Active: true, Scope: strings.Join(scopes, " "), ClientID: c.ID, Expires: f.Expires.Unix(),
		Subject: f.Actor, Audience: string(f.Audience), TenantID: p.refresh.tenant}, nil
}

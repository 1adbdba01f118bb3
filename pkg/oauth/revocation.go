package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/signing"
	"svc/pkg/table"
)

// presented is a token that a client asks about or ends: an access token that
// verified, or what has the form of a refresh token. token_type_hint is a hint
// only (RFC 7009 section 2.1), and the form says it better.
type presented struct {
	raw     string
	access  signing.Access // good when isJWT
	isJWT   bool
	refresh address // good when formed
	secret  string
	formed  bool
}

func (s *Server) presented(ctx context.Context, form url.Values) (presented, error) {
	p := presented{raw: form.Get("token")}
	if p.raw == "" {
		return p, refuse("invalid_request", "token is missing.")
	}
	var err error
	if p.refresh, p.secret, err = parseRefresh(p.raw); err == nil {
		p.formed = true
		return p, nil
	}
	p.access, err = s.keys.Verify(ctx, p.raw)
	if err != nil && !errors.Is(err, signing.ErrToken) {
		return p, err
	}
	p.isJWT = err == nil
	return p, nil
}

// reads names what says whether the token is alive: for an access token what
// the checks of the API read, for a refresh token what a refresh reads.
func (p presented) reads(s *Server, clientID string) (table.Handle, []table.Key) {
	switch {
	case p.isJWT:
		t := s.db.Tenant(p.access.TenantID)
		return t.Handle, authz.LiveKeys(t, s.p, p.access)
	case p.formed:
		t := s.db.Tenant(p.refresh.tenant)
		return t.Handle, []table.Key{
			familyKey(t, p.refresh.family), authz.GrantKey(t, clientID, p.refresh.actor),
			authz.ActorKey(t, p.refresh.audience, p.refresh.actor), authz.FlagsKey(t, ids.Pick(p.refresh.family, authz.Copies)),
		}
	}
	return table.Handle{}, nil
}

// asked parses a request about a token and authenticates its client.
func (s *Server) asked(r *http.Request, run func(context.Context, Client, presented, []table.Item) error) error {
	form, err := parseForm(r)
	if err != nil {
		return err
	}
	by, err := credentialsOf(r, form)
	if err != nil {
		return err
	}
	p, err := s.presented(r.Context(), form)
	if err != nil {
		return err
	}
	return s.authenticated(r.Context(), by, p, func(ctx context.Context, c Client, items []table.Item) error {
		return run(ctx, c, p, items)
	})
}

// family gives the family of a refresh token of the client, any generation of
// it; errNoFamily when it is none of ours.
func (p presented) family(items []table.Item, now time.Time) (family, error) {
	f, err := familyFrom(items[0], now)
	if err != nil {
		return family{}, err
	}
	if f.Actor != p.refresh.actor || f.Audience != p.refresh.audience || !same(ids.Hash(p.secret), f.SecretHash) {
		return family{}, errNoFamily
	}
	return f, nil
}

// revoke is RFC 7009. Either token ends its family: the refresh token and every
// access token that came of the same sign-in. An unknown token is a 200 like
// one that was ended (section 2.2); another client's is refused (section 2.1).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	err := s.asked(r, func(ctx context.Context, c Client, p presented, items []table.Item) error {
		var tenant, owner, id string
		switch {
		case p.isJWT:
			tenant, owner, id = p.access.TenantID, p.access.ClientID, items[0].Text("family")
		case p.formed:
			f, err := p.family(items, s.now())
			if errors.Is(err, errNoFamily) {
				return nil
			}
			if err != nil {
				return err
			}
			tenant, owner, id = p.refresh.tenant, f.Client, f.ID
		}
		if owner != "" && owner != c.ID {
			return refuse("unauthorized_client", "The token is another client's.")
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

// introspection is the answer of RFC 7662 section 2.2.
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

// introspect is RFC 7662, for confidential clients and their own tokens.
func (s *Server) introspect(w http.ResponseWriter, r *http.Request) error {
	var out introspection
	err := s.asked(r, func(_ context.Context, c Client, p presented, items []table.Item) (err error) {
		if c.Public() {
			return unknownClient(authNone)
		}
		switch {
		case p.isJWT:
			out = s.aboutAccess(c, p, items)
		case p.formed:
			out, err = s.aboutRefresh(c, p, items)
		}
		return err
	})
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, out)
	return nil
}

// anyone is a policy that asks for nothing beyond a live token.
var anyone = authz.Policy{Scopes: map[authz.Audience]string{authz.Dashboard: "", authz.Rider: "", authz.Driver: ""}}

func (s *Server) aboutAccess(c Client, p presented, items []table.Item) introspection {
	a := p.access
	if a.ClientID != c.ID || authz.Judge(anyone, a, items, s.now()) != nil {
		return introspection{}
	}
	return introspection{Active: true, Scope: strings.Join(a.Scopes, " "), ClientID: a.ClientID, Type: "Bearer", Expires: a.Expires.Unix(),
		IssuedAt: a.IssuedAt.Unix(), Subject: a.Subject, Audience: a.Audience, Issuer: a.Issuer, ID: a.ID, TenantID: a.TenantID}
}

func (s *Server) aboutRefresh(c Client, p presented, items []table.Item) (introspection, error) {
	f, err := p.family(items, s.now())
	if err != nil && !errors.Is(err, errNoFamily) {
		return introspection{}, err
	}
	_, gone := standingOf(items[2], items[3])
	grant := items[1]
	if err != nil || f.Client != c.ID || f.Revoked || !same(ids.Hash(p.raw), f.CurrentHash) || !grant.Found() || grant.Int("epoch") != f.Epoch || gone != nil || items[2].Text("since") != f.Since {
		return introspection{}, nil
	}
	return introspection{Active: true, Scope: strings.Join(f.Scopes, " "), ClientID: c.ID, Expires: f.Expires.Unix(),
		Subject: f.Actor, Audience: string(f.Audience), TenantID: p.refresh.tenant}, nil
}

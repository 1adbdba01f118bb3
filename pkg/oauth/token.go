package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// grant is one grant type of the token endpoint. The phases are the same for
// all: the request is parsed, the client and what the grant names are read in
// one batch, the client is authenticated, and only then is the grant redeemed.
type grant interface {
	needs
	// redeem gives the answer; items are what reads named, absent ones too.
	redeem(ctx context.Context, s *Server, c Client, items []table.Item) (tokens, error)
}

// needs names what is read beside the client, and the handle for it.
type needs interface {
	reads(s *Server, clientID string) (table.Handle, []table.Key)
}

// tokens is the answer of the token endpoint (RFC 6749 section 5.1).
type tokens struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"` // seconds
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
	ID        string `json:"id_token,omitempty"`
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) error {
	form, err := parseForm(r)
	if err != nil {
		return err
	}
	by, err := credentialsOf(r, form)
	if err != nil {
		return err
	}
	var g grant
	switch form.Get("grant_type") {
	case "authorization_code":
		g = &codeGrant{form: form}
	case "refresh_token":
		g = newRefreshGrant(form)
	case "":
		return refuse("invalid_request", "grant_type is missing.")
	default:
		return refuse("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
	}
	var out tokens
	err = s.authenticated(r.Context(), by, g, func(ctx context.Context, c Client, items []table.Item) error {
		if err := s.checkResource(ctx, form); err != nil {
			return err
		}
		out, err = g.redeem(ctx, s, c, items)
		return err
	})
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, out)
	return nil
}

// authenticated reads the client and what the request needs in one batch,
// authenticates the client, and runs what is asked. Refusals that a guess would
// meet are counted by address; too many of them are a 429 whatever is asked.
func (s *Server) authenticated(ctx context.Context, by credentials, n needs, run func(context.Context, Client, []table.Item) error) error {
	failures := counter{"token", s.address(ctx), s.config.Limits.TokenFailures, time.Minute}
	counted, end := failures.at(s)
	known := clientID(by.id)
	h, keys := s.p.Handle, []table.Key(nil)
	if known {
		h, keys = n.reads(s, by.id)
		h, keys = table.Join(h, s.p.Handle), append(keys, s.clientKey(by.id))
	}
	if failures.counts() {
		keys = append(keys, counted)
	}
	items, err := h.Batch(ctx, keys...)
	if err != nil {
		return fmt.Errorf("reading a token request: %w", err)
	}
	if failures.counts() {
		last := items[len(items)-1]
		if last.Live(s.now()) && last.Int("n") >= int64(failures.limit) {
			return s.throttled(end)
		}
		items = items[:len(items)-1]
	}
	var c Client
	if known {
		if c, err = clientOf(items[len(items)-1], s.now()); err != nil && !errors.Is(err, errNoClient) {
			return err
		}
		items = items[:len(items)-1]
	}
	err = unknownClient(by.method)
	if known && c.authenticates(by) {
		err = run(ctx, c, items)
	}
	var e *Error
	if errors.As(err, &e) && (e.Code == "invalid_client" || e.Code == "invalid_grant") {
		if throttled := s.throttle(ctx, failures); throttled != nil {
			return throttled
		}
	}
	return err
}

// checkResource is RFC 8707: the one resource is the API.
func (s *Server) checkResource(ctx context.Context, form url.Values) error {
	for _, resource := range form["resource"] {
		if resource != s.base(ctx)+"/api/v1" {
			return refuse("invalid_target", "resource must be the address of the API.")
		}
	}
	return nil
}

func badGrant(format string, args ...any) *Error { return refuse("invalid_grant", format, args...) }

// standing is what an actor and a tenant are now.
type standing struct {
	authz.Have
	writeShards int
}

// standingOf refuses when the actor or the tenant is gone or disabled.
func standingOf(actor, flags table.Item) (standing, error) {
	if !actor.Found() || actor.Flag("disabled") || !flags.Found() || flags.Flag("disabled") {
		return standing{}, badGrant("The account may not sign in any more.")
	}
	return standing{authz.Have{Permissions: actor.Strings("permissions"), Taxi: flags.Flag(authz.Taxi), Delivery: flags.Flag(authz.Delivery)},
		max(1, int(flags.Int("writeShards")))}, nil
}

// grantable gives what of the scopes the client may have by its registration
// and the actor may have now.
func grantable(c Client, audience authz.Audience, scopes []string, have authz.Have) ([]string, error) {
	var out []string
	if slices.Contains(c.Audiences, audience) {
		for _, scope := range authz.Grantable(audience, scopes, have) {
			if slices.Contains(c.Scopes, scope) {
				out = append(out, scope)
			}
		}
	}
	if len(out) == 0 {
		return nil, refuse("invalid_scope", "Nothing of the scope may be granted now.")
	}
	return out, nil
}

// issue makes an access token of a family and its audit record, and signs
// before anything is written.
type issue struct {
	tenant table.Tenant
	client Client
	family family
	scopes []string
	id     string        // jti
	at     time.Time     // iat
	age    time.Duration // of an answer that is given again; a new token has its whole life before it
	nonce  string
	shards int
}

func (s *Server) sign(ctx context.Context, i issue, refresh string) (tokens, error) {
	at := i.at.Truncate(time.Second)
	access, err := s.keys.MintAccess(ctx, signing.Access{Issuer: s.base(ctx), Subject: i.family.Actor, Audience: string(i.family.Audience),
		ClientID: i.client.ID, TenantID: i.tenant.ID(), Scopes: i.scopes, ID: i.id, IssuedAt: at, Expires: at.Add(AccessLife)})
	if err != nil {
		return tokens{}, err
	}
	out := tokens{Access: access, Type: "Bearer", ExpiresIn: int64((AccessLife - i.age + time.Second - 1) / time.Second),
		Refresh: refresh, Scope: strings.Join(i.scopes, " ")}
	if !slices.Contains(i.scopes, "openid") {
		return out, nil
	}
	half := sha256.Sum256([]byte(access)) // both algorithms are with SHA-256
	claims := map[string]any{"iss": s.base(ctx), "sub": i.family.Actor, "aud": i.client.ID, "iat": at.Unix(), "exp": at.Add(AccessLife).Unix(),
		"auth_time": i.family.AuthTime.Unix(), "at_hash": base64.RawURLEncoding.EncodeToString(half[:16]), "tenant_id": i.tenant.ID()}
	if i.nonce != "" {
		claims["nonce"] = i.nonce
	}
	out.ID, err = s.keys.MintID(ctx, claims, i.client.IDTokenAlg)
	return out, err
}

// record is the audit record of the token; the checks of every request read it.
func (i issue) record() table.Item {
	at := i.at.Truncate(time.Second)
	attrs := map[string]any{"revoked": false, "epoch": i.family.Epoch, "client": i.client.ID, "actor": i.family.Actor, "family": i.family.ID}
	if i.family.Since != "" {
		attrs["since"] = i.family.Since
	}
	return table.Item{Key: authz.TokenKey(i.tenant, i.id), Type: "token", Expires: at.Add(AccessLife + afterlife),
		G: [4]string{tokensOf(i.tenant, ids.Pick(i.id, i.shards))}, R: timestamp.Format(at) + "#" + i.id,
		Attrs: attrs, Doc: tokenDoc{Audience: string(i.family.Audience), Scopes: i.scopes, IssuedAt: at, Expires: at.Add(AccessLife)}}
}

// tokenDoc is the document of an audit record.
type tokenDoc struct {
	Audience string    `json:"audience"`
	Scopes   []string  `json:"scopes"`
	IssuedAt time.Time `json:"issuedAt"`
	Expires  time.Time `json:"expires"`
}

// tokensOf is the index partition (by-g1) of a tenant's access tokens.
func tokensOf(t table.Tenant, shard int) string {
	return t.Partition("TOKENS", strconv.Itoa(shard))
}

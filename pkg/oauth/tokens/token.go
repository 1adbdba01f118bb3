package tokens

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/access/throttle"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// grant is one grant type of the token endpoint. All grants share the same
// phases. The endpoint parses the request. One batch reads the client and the
// grant's own items. The endpoint authenticates the client and then redeems the
// grant.
type grant interface {
	reader
	// redeem issues the tokens, based on the items of the batch.
	redeem(ctx context.Context, s *Issuer, c clients.Client) (tokens, error)
}

// reader adds what a request needs to the batch that reads its client.
type reader interface {
	addGets(s *Issuer, b *table.BatchGet, clientID string)
}

// tokens is the response of the token endpoint (RFC 6749 section 5.1).
type tokens struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in"` // seconds
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
	ID        string `json:"id_token,omitempty"`
}

// Token serves POST /oauth/token.
func (s *Issuer) Token(w http.ResponseWriter, r *http.Request) error {
	form, err := protocol.ParseForm(r)
	if err != nil {
		return err
	}
	by, err := protocol.ParseCredentials(r, form, s.assertion)
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
		return protocol.Refuse("invalid_request", "grant_type is missing.")
	default:
		return protocol.Refuse("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
	}
	var out tokens
	err = s.authenticated(r.Context(), by, g, func(ctx context.Context, c clients.Client) error {
		if _, refused := protocol.ParseResources(s.BaseURL, form["resource"]); refused != nil {
			return refused
		}
		out, err = g.redeem(ctx, s, c)
		return err
	})
	if err != nil {
		return err
	}
	protocol.WriteJSON(w, http.StatusOK, out)
	return nil
}

// authenticated reads the client and the items of the request in one batch,
// authenticates the client, and runs the request. It counts the failures that a
// guessed secret or code would cause. They count for the address, or for a
// confidential client that authenticated. Beyond the limit, failures get a 429,
// and nothing else does: a good grant is never refused because of the failures of
// others behind the same address. This helps nobody to guess, because secrets
// and codes have 256 bits. There is one exception: for an address beyond the limit
// the server fetches no keys of a client that has never got a token.
func (s *Issuer) authenticated(ctx context.Context, by protocol.Credentials, request reader,
	run func(context.Context, clients.Client) error) error {
	var client, failed table.Item
	var b table.BatchGet
	if clients.ValidID(by.ClientID) {
		request.addGets(s, &b, by.ClientID)
		b.Add(s.Clients.Handle(), s.Clients.Key(by.ClientID), &client)
	}
	failures := throttle.Counter{Kind: "token", Key: s.Throttle.Address(ctx), Limit: s.TokenFailures, Window: time.Minute}
	window, end := s.Throttle.Window(failures)
	if failures.Enabled() {
		b.Add(s.Throttle.Handle(), window, &failed)
	}
	if err := b.Do(ctx); err != nil {
		return fmt.Errorf("reading a token request: %w", err)
	}
	over := failed.Live(s.now()) && failed.Int("n") >= int64(failures.Limit)
	c, err := clients.FromItem(client, s.now())
	switch {
	case err == nil && over && !c.Expires.IsZero() && !s.Clients.Recognizes(c, by):
		return s.Throttle.Refusal(end)
	case err == nil:
		c, err = s.Clients.Authenticate(ctx, c, by)
	case errors.Is(err, clients.ErrUnknown):
		err = protocol.InvalidClient(by.Header)
	}
	var e *protocol.Error
	if err != nil && !errors.As(err, &e) {
		return err
	}
	if err == nil {
		if !c.Public() && failures.Limit >= 0 {
			over = false
			failures = throttle.Counter{Kind: "token-client", Key: c.ID, Limit: failures.Limit, Window: time.Minute}
		}
		err = run(ctx, c)
	}
	if errors.As(err, &e) && (e.Code == "invalid_client" || e.Code == "invalid_grant") {
		if over { // without a write
			return s.Throttle.Refusal(end)
		}
		if refused := s.Throttle.Count(ctx, failures); refused != nil {
			return refused
		}
	}
	return err
}

// assertion decodes a client assertion for this server: its aud is the issuer
// (RFC 7523 section 3), the token endpoint, or a list of these. A list that names another
// server is rejected, because that server could use the assertion here.
func (s *Issuer) assertion(raw string) (signing.Assertion, error) {
	return signing.ParseAssertion(raw, s.now(), s.BaseURL, s.BaseURL+"/oauth/token")
}

// narrowed returns the resources of an access token: those that the request
// names, by default all that were granted (RFC 8707 section 2.2). It returns
// them as a token's record has them.
func (s *Issuer) narrowed(form url.Values, granted string) (string, error) {
	asked, refused := protocol.ParseResources(s.BaseURL, form["resource"])
	if refused != nil {
		return "", refused
	}
	if len(asked) == 0 {
		return granted, nil
	}
	var out []string
	for _, resource := range asked {
		if !slices.Contains(strings.Fields(cmp.Or(granted, authz.API)), resource.Path) {
			return "", protocol.Refuse("invalid_target", "The resource was not part of the authorization.")
		}
		out = append(out, resource.Path)
	}
	return authz.Resources(out), nil
}

func badGrant(format string, args ...any) *protocol.Error {
	return protocol.Refuse("invalid_grant", format, args...)
}

// standingItems contains the items that decide whether an actor may get tokens for a
// client now.
type standingItems struct {
	grant table.Item // the grant from the actor to the client
	actor table.Item // the membership, customer or driver
	flags table.Item // of the tenant
}

// addGets adds the items to the batch. copyOf selects the copy of
// the tenant's flags.
func (a *standingItems) addGets(b *table.BatchGet, t table.Tenant, audience authz.Audience,
	clientID, actor, copyOf string) {
	b.Add(t.Handle, authz.GrantKey(t, clientID, actor), &a.grant)
	b.Add(t.Handle, authz.ActorKey(t, audience, actor), &a.actor)
	b.Add(t.Handle, authz.FlagsKey(t, ids.Pick(copyOf, authz.Copies)), &a.flags)
}

// current reports whether a code or family with this epoch and since is still
// valid. It is not if somebody has ended its grant or membership, changed the
// password, or ended all tokens of the actor (login.EndTokens).
func (a *standingItems) current(epoch int64, since string) bool {
	return a.grant.Int("epoch") == epoch && a.actor.Text("since") == since
}

// standing is what an enabled actor may get in an enabled tenant.
type standing struct {
	authz.Have
	writeShards int
}

// standing returns an error if the actor or the tenant does not exist or is
// disabled.
func (a *standingItems) standing() (standing, error) {
	if !a.actor.Found() || a.actor.Flag("disabled") || !a.flags.Found() || a.flags.Flag("disabled") {
		return standing{}, badGrant("The account or its company is disabled or does not exist any more.")
	}
	have := authz.Have{Permissions: a.actor.Strings("permissions"), Taxi: a.flags.Flag(authz.Taxi),
		Delivery: a.flags.Flag(authz.Delivery)}
	return standing{have, max(1, int(a.flags.Int("writeShards")))}, nil
}

// grantable returns those of the scopes that the client has registered and the
// actor may have now.
func grantable(c clients.Client, audience authz.Audience, scopes []string, have authz.Have) ([]string, error) {
	var out []string
	if slices.Contains(c.Audiences, audience) {
		for _, scope := range authz.Grantable(audience, scopes, have) {
			if slices.Contains(c.Scopes, scope) {
				out = append(out, scope)
			}
		}
	}
	if len(out) == 0 {
		return nil, protocol.Refuse("invalid_scope", "The client or the person may have none of the scopes now.")
	}
	return out, nil
}

// issue describes an access token of a family and its audit record. The token is new,
// or it is the one in the answer to the same request that was lost. A new token is signed before anything is written.
type issue struct {
	tenant   table.Tenant
	client   clients.Client
	family   family
	scopes   []string
	resource string        // of the record
	id       string        // jti
	at       time.Time     // iat
	age      time.Duration // age of the token when the response is repeated; 0 for a new token
	nonce    string
	shards   int
}

func (s *Issuer) sign(ctx context.Context, i issue, refresh string) (tokens, error) {
	at := i.at.Truncate(time.Second)
	access, err := s.Keys.MintAccess(ctx, signing.Access{Issuer: s.BaseURL, Subject: i.family.Actor,
		Audience: string(i.family.Audience),
		ClientID: i.client.ID, TenantID: i.tenant.ID(), Scopes: i.scopes, ID: i.id, IssuedAt: at,
		Expires: at.Add(AccessLife)})
	if err != nil {
		return tokens{}, err
	}
	out := tokens{Access: access, Type: "Bearer", ExpiresIn: int64((AccessLife - i.age + time.Second - 1) / time.Second),
		Refresh: refresh, Scope: strings.Join(i.scopes, " ")}
	if !slices.Contains(i.scopes, "openid") {
		return out, nil
	}
	half := sha256.Sum256([]byte(access)) // both signing algorithms use SHA-256
	claims := map[string]any{"iss": s.BaseURL, "sub": i.family.Actor, "aud": i.client.ID, "iat": at.Unix(),
		"exp":       at.Add(AccessLife).Unix(),
		"auth_time": i.family.AuthTime.Unix(), "at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
		"tenant_id": i.tenant.ID()}
	if i.nonce != "" {
		claims["nonce"] = i.nonce
	}
	out.ID, err = s.Keys.MintID(ctx, claims, i.client.IDTokenAlg)
	return out, err
}

var _ = table.Kind[any]{Type: "token", Personal: "nothing", Once: "only its revocation is updated"}

// record returns the audit record of the token. The access checks of each
// request with the token read the record.
func (i issue) record() table.Item {
	at := i.at.Truncate(time.Second)
	attrs := map[string]any{"revoked": false, "epoch": i.family.Epoch, "client": i.client.ID, "actor": i.family.Actor,
		"family": i.family.ID}
	attrs[authz.SignedIn] = i.family.AuthTime.Unix()
	if i.family.Since != "" {
		attrs["since"] = i.family.Since
	}
	if i.resource != "" {
		attrs["resource"] = i.resource
	}
	if authz.NamesAgents(i.family.Resource) { // even if the client narrowed this token to the API
		attrs[authz.AgentActions] = cmp.Or(i.family.Agents, authz.AgentsConfirm)
	}
	return table.Item{Key: authz.TokenKey(i.tenant, i.id), Type: "token", Expires: at.Add(AccessLife + retention),
		G: [4]string{authz.TokensOf(i.tenant, ids.Pick(i.id, i.shards))}, R: timestamp.Format(at) + "#" + i.id,
		Attrs: attrs, Doc: tokenDoc{Audience: string(i.family.Audience), Scopes: i.scopes, IssuedAt: at,
			Expires: at.Add(AccessLife)}}
}

// tokenDoc is the document of an audit record.
type tokenDoc struct {
	Audience string    `json:"audience"`
	Scopes   []string  `json:"scopes"`
	IssuedAt time.Time `json:"issuedAt"`
	Expires  time.Time `json:"expires"`
}

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
	// redeem issues the tokens, based on the items of the batch. If another write is faster,
	// the error is table.ErrConflict, and the endpoint begins again with the batch.
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
	Refresh   string `json:"refresh_token,omitempty"`
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
	case "client_credentials":
		g = &machineGrant{form: form}
	case DeviceGrant:
		g = newDeviceGrant(form)
	case "":
		return protocol.Refuse("invalid_request", "grant_type is missing.")
	default:
		return protocol.Refuse("unsupported_grant_type", "grant_type must be authorization_code, refresh_token, "+
			"client_credentials or %s.", DeviceGrant)
	}
	var out tokens
	spent := false
	err = table.Retry(r.Context(), func(ctx context.Context) error {
		return s.authenticated(ctx, by, g, &spent, func(ctx context.Context, c clients.Client) (err error) {
			if _, refused := protocol.ParseResources(s.BaseURL, form["resource"]); refused != nil {
				return refused
			}
			out, err = g.redeem(ctx, s, c)
			return err
		})
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
//
// spent is whether an attempt before has used the request's assertion.
func (s *Issuer) authenticated(ctx context.Context, by protocol.Credentials, request reader, spent *bool,
	run func(context.Context, clients.Client) error) error {
	var failed table.Item
	var b table.BatchGet
	client := clientItem{by: by}
	if client.addGet(s, &b) {
		request.addGets(s, &b, by.ClientID)
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
	c, err := client.decode(s.now())
	switch {
	case err == nil && over && !c.Used() && !s.Clients.Recognizes(c, by):
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
		err = s.spending(ctx, c, request, spent, run)
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

// spending runs the request of a client that has authenticated, and uses its assertion: once
// before the request, or in the transaction of a machine's token. Then a refused request uses
// it too.
func (s *Issuer) spending(ctx context.Context, c clients.Client, request reader, spent *bool,
	run func(context.Context, clients.Client) error) error {
	_, joins := request.(*machineGrant)
	if !joins && !*spent {
		if err := s.Clients.Spend(ctx, c); err != nil {
			return err
		}
		*spent = true
	}
	err := run(ctx, c)
	if e := new(protocol.Error); joins && errors.As(err, &e) {
		return cmp.Or(s.Clients.Spend(ctx, c), err)
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

var errNoStanding = badGrant("The account or its company is disabled or does not exist any more.")

// standing returns an error if the actor or the tenant does not exist or is
// disabled.
func (a *standingItems) standing() (standing, error) {
	if !a.actor.Found() || a.actor.Flag("disabled") || !a.flags.Found() || a.flags.Flag("disabled") {
		return standing{}, errNoStanding
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
		return nil, errNoScopes
	}
	return out, nil
}

var errNoScopes = protocol.Refuse("invalid_scope", "The client or the person may have none of the scopes now.")

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
	life     time.Duration // of the token; 0 for AccessLife
	secret   string        // id of the secret that got it, "" for none
	age      time.Duration // age of the token when the response is repeated; 0 for a new token
	nonce    string
	shards   int
}

func (i issue) lifetime() time.Duration { return cmp.Or(i.life, AccessLife) }

func (s *Issuer) sign(ctx context.Context, i issue, refresh string) (tokens, error) {
	at := i.at.Truncate(time.Second)
	access, err := s.Keys.MintAccess(ctx, signing.Access{Issuer: s.BaseURL, Subject: i.family.Actor,
		Audience: string(i.family.Audience),
		ClientID: i.client.ID, TenantID: i.tenant.ID(), Scopes: i.scopes, ID: i.id, IssuedAt: at,
		Expires: at.Add(i.lifetime())})
	if err != nil {
		return tokens{}, err
	}
	out := tokens{Access: access, Type: "Bearer", ExpiresIn: int64((i.lifetime() - i.age + time.Second - 1) / time.Second),
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
	attrs := map[string]any{"revoked": false, "epoch": i.family.Epoch, "client": i.client.ID, "actor": i.family.Actor}
	if i.family.ID != "" { // a machine has neither a family nor a sign-in
		attrs["family"] = i.family.ID
	}
	// Nobody has signed in at the device, so its tokens never count as a recent sign-in.
	if i.family.ID != "" && !i.family.Device {
		attrs[authz.SignedIn] = i.family.AuthTime.Unix()
	}
	if i.secret != "" {
		attrs["credential"] = i.secret
	}
	if i.family.Since != "" {
		attrs["since"] = i.family.Since
	}
	if i.resource != "" {
		attrs["resource"] = i.resource
	}
	if authz.NamesAgents(i.family.Resource) { // even if the client narrowed this token to the API
		attrs[authz.AgentActions] = cmp.Or(i.family.Agents, authz.AgentsConfirm)
	}
	return table.Item{Key: authz.TokenKey(i.tenant, i.id), Type: "token", Expires: at.Add(i.lifetime() + retention),
		G: [4]string{authz.TokensOf(i.tenant, ids.Pick(i.id, i.shards))}, R: timestamp.Format(at) + "#" + i.id,
		Attrs: attrs, Doc: tokenDoc{Audience: string(i.family.Audience), Scopes: i.scopes, IssuedAt: at,
			Expires: at.Add(i.lifetime())}}
}

// tokenDoc is the document of an audit record.
type tokenDoc struct {
	Audience string    `json:"audience"`
	Scopes   []string  `json:"scopes"`
	IssuedAt time.Time `json:"issuedAt"`
	Expires  time.Time `json:"expires"`
}

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/oauth/page"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// authorization is an authorization request on its way: what is known of it so
// far.
type authorization struct {
	authRequest
	client   Client
	audience authz.Audience
	hinted   string        // whom id_token_hint names, "" for nobody
	asked    []string      // registered scopes among those asked for
	tenant   tenant.Tenant // the zero one until an operator's is known
	brand    page.Brand
	session  *session
	choices  []page.Choice // tenants to pick from
	granted  []string      // what would be granted now
	agreed   bool          // the person agreed to all of it before
	epoch    int64         // of the grant, when this was found out
	since    string        // of the actor, then
}

// step is what an authorization waits for.
type step int

const (
	stepSignIn step = iota
	stepPick
	stepConsent
	stepIssue
)

// The errors that prompt=none gives in place of a page (OpenID Connect Core
// section 3.1.2.6).
var promptless = map[step]*Error{
	stepSignIn:  refuse("login_required", "The person is not signed in."),
	stepPick:    refuse("account_selection_required", "The person has several memberships; name one by tenant_hint."),
	stepConsent: refuse("consent_required", "The person has not agreed to this."),
}

// authorize answers GET and POST /oauth/authorize.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, s.authorizeStep)
}

func (s *Server) authorizeStep(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost { // OpenID Connect Core section 3.1.2.1; a POST of another site brings no cookie
		return s.authorizeByGet(w, r)
	}
	a, err := s.open(r)
	if err != nil {
		return err
	}
	if domain := a.tenant.CustomDomain; domain != "" && domain != hostOf(r) {
		return redirect(w, http.StatusFound, "https://"+domain+"/oauth/authorize?"+r.URL.RawQuery)
	}
	next, err := s.proceed(r, a)
	if err != nil {
		return err
	}
	if next == stepIssue {
		return s.issue(w, r, a)
	}
	if a.authRequest.asks("none") {
		return &redirectError{a, promptless[next]}
	}
	switch next {
	case stepSignIn:
		return s.showSignIn(w, r, a, page.SignIn{Email: a.loginHint}, http.StatusOK)
	case stepPick:
		return s.showPicker(w, r, a)
	default:
		return s.showConsent(w, r, a)
	}
}

// authorizeByGet turns a request that was posted into the same one by GET.
func (s *Server) authorizeByGet(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("request", "the query is malformed")
	}
	for name, values := range posted {
		query[name] = append(query[name], values...)
	}
	return redirect(w, http.StatusSeeOther, "authorize?"+query.Encode())
}

// open reads the request and whom it concerns: client, audience, tenant. Its
// error is a *pageError, a *redirectError or a fault of ours.
func (s *Server) open(r *http.Request) (*authorization, error) {
	ctx := r.Context()
	request, err := parseRequest(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	a := &authorization{authRequest: request}
	if a.client, err = s.client(ctx, a.clientID); errors.Is(err, errNoClient) {
		return nil, badRequest("client", "client_id is not known")
	} else if err != nil {
		return nil, err
	}
	if !redirectAllowed(a.client.RedirectURIs, a.redirectURI) {
		return nil, badRequest("redirect", "redirect_uri is not registered")
	}
	refused := a.read()
	if refused == nil {
		refused = a.readResource(s.base(ctx))
	}
	if refused == nil {
		a.audience, a.asked, refused = a.authRequest.audience(a.client)
	}
	if refused == nil && a.audience != authz.Dashboard && a.tenantHint == "" {
		refused = refuse("invalid_request", "tenant_hint is missing: riders and drivers belong to a tenant.")
	}
	if refused == nil && a.idTokenHint != "" {
		if a.hinted, err = s.hintedActor(ctx, a.idTokenHint); errors.Is(err, signing.ErrToken) {
			refused = refuse("login_required", "id_token_hint is not an id_token of this issuer.")
		} else if err != nil {
			return nil, err
		}
	}
	if refused != nil {
		return nil, &redirectError{a, refused}
	}
	if a.tenantHint != "" {
		return a, s.hintedTenant(ctx, a)
	}
	return a, nil
}

// hintedActor gives whom an id_token_hint names.
func (s *Server) hintedActor(ctx context.Context, hint string) (string, error) {
	claims, err := s.keys.VerifyID(ctx, hint)
	if err != nil {
		return "", err
	}
	actor, _ := claims["sub"].(string)
	return actor, nil
}

// hintedTenant finds the tenant that the request names.
func (s *Server) hintedTenant(ctx context.Context, a *authorization) error {
	n, err := tenant.Store{DB: s.db}.BySlug(ctx, a.tenantHint)
	if errors.Is(err, fault.NotFound()) || (err == nil && n.Disabled) {
		return badRequest("tenant", "tenant_hint is not known")
	}
	if err != nil {
		return err
	}
	a.tenant = n
	a.brand, err = s.brand(ctx, n)
	return err
}

// proceed finds out what the authorization waits for.
func (s *Server) proceed(r *http.Request, a *authorization) (step, error) {
	ctx := r.Context()
	n, err := s.session(ctx, r)
	if err != nil {
		return 0, err
	}
	if n == nil || !s.suits(a, n) {
		return stepSignIn, nil
	}
	if a.hinted != "" && a.hinted != n.Actor {
		// Nobody else may be answered for (OpenID Connect Core section 3.1.2.2),
		// not even who has just signed in.
		if n.Fresh == a.name() {
			return 0, &redirectError{a, refuse("login_required", "Another person signed in than id_token_hint names.")}
		}
		return stepSignIn, nil
	}
	a.session = n
	if a.tenant.ID == "" {
		if picked, err := s.pick(ctx, a); err != nil || !picked {
			return stepPick, err
		}
	}
	return s.weigh(ctx, a)
}

// suits says whether the session is one that the request can go on with.
func (s *Server) suits(a *authorization, n *session) bool {
	if n.Audience != a.audience || (n.TenantID != "" && n.TenantID != a.tenant.ID) {
		return false
	}
	if n.Fresh == a.name() {
		return true
	}
	if a.authRequest.asks("login") || a.authRequest.asks("select_account") {
		return false
	}
	return !a.hasMaxAge || !s.now().After(n.AuthTime.Add(a.maxAge))
}

// name is what sessions and forms know the request by.
func (a *authRequest) name() string { return ids.Hash(a.query.Encode()) }

// link is the request again, relative to the pages of this package.
func (a *authRequest) link(path string) string { return path + "?" + a.query.Encode() }

// weigh reads what the person may have now and agreed to before: with a
// membership or record that is gone or disabled it is a sign-in again.
func (s *Server) weigh(ctx context.Context, a *authorization) (step, error) {
	t := s.db.Tenant(a.tenant.ID)
	items, err := t.Batch(ctx, authz.ActorKey(t, a.audience, a.session.Actor),
		authz.FlagsKey(t, ids.Pick(a.session.secret, authz.Copies)), consentKey(t, a.client.ID, a.session.Actor),
		authz.GrantKey(t, a.client.ID, a.session.Actor))
	if err != nil {
		return 0, fmt.Errorf("what may be granted: %w", err)
	}
	actor, flags, consent := items[0], items[1], items[2]
	a.epoch = items[3].Int("epoch")
	if !stands(actor) || !stands(flags) {
		return stepSignIn, nil
	}
	a.granted = authz.Grantable(a.audience, a.asked, authz.Have{Permissions: actor.Strings("permissions"),
		Taxi: flags.Flag(authz.Taxi), Delivery: flags.Flag(authz.Delivery)})
	if len(a.granted) == 0 {
		return 0, &redirectError{a, refuse("invalid_scope", "The person may have none of the scopes.")}
	}
	before := consent.Strings("scopes")
	a.since = actor.Text("since")
	a.agreed = inForce(consent, actor) && !slices.ContainsFunc(a.granted, func(scope string) bool { return !slices.Contains(before, scope) })
	if !a.agreed || a.authRequest.asks("consent") || a.anybodys() {
		return stepConsent, nil
	}
	return stepIssue, nil
}

// stands says whether an actor's or a tenant's item is there and not disabled.
func stands(it table.Item) bool { return it.Found() && !it.Flag("disabled") }

// anybodys says whether any application on a device could receive the code of
// this client: then the person is asked each time (RFC 8252 section 8.6). Anybody
// may use a client_id that is published at an address.
func (a *authorization) anybodys() bool {
	return a.client.Public() && !strings.HasPrefix(a.redirectURI, "https://") && (a.client.Host() != "" || !loopback.MatchString(a.redirectURI))
}

// issue ends the authorization with a code.
func (s *Server) issue(w http.ResponseWriter, r *http.Request, a *authorization) error {
	if err := s.keep(r.Context(), a.client); err != nil {
		return err
	}
	code, err := s.issueCode(r.Context(), AuthorizationCode{
		ClientID: a.client.ID, RedirectURI: a.redirectURI, Challenge: a.challenge, TenantID: a.tenant.ID, Audience: a.audience,
		Actor: a.session.Actor, Scopes: a.granted, Nonce: a.nonce, AuthTime: a.session.AuthTime, Resource: a.resource, Session: a.session.hash(), Epoch: a.epoch, Since: a.since,
	})
	if err != nil {
		return err
	}
	byForm := a.cameByForm(r, a.session)
	if err := s.answered(r.Context(), a); err != nil {
		return err
	}
	return s.answerClient(w, r, a, byForm, url.Values{"code": {code}})
}

// answered makes the session forget the request: the same one again asks for
// a new sign-in where it asked for one, and for the tenant.
func (s *Server) answered(ctx context.Context, a *authorization) error {
	n := a.session
	if n.Fresh == "" && n.Picked == "" {
		return nil
	}
	n.Fresh, n.Picked, n.PickedFor = "", "", ""
	return s.save(ctx, n)
}

// cameByForm says whether one of the server's forms led to this request, so
// that browsers see its answer as the form's.
func (a *authorization) cameByForm(r *http.Request, n *session) bool {
	return r.Method == http.MethodPost || (n != nil && (n.Fresh == a.name() || n.PickedFor == a.name()))
}

// hostOf is the host by which the request came, without port. It is compared
// only: nothing is ever made of it.
func hostOf(r *http.Request) string {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(host, ".")
}

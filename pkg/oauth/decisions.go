package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/email"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
	"svc/pkg/oauth/tokens"
)

// decisions finds the next page that an authorization needs. If it needs none, decisions
// issues the code.
type decisions struct {
	*pages
	db        *table.DB
	companies company.Companies
	clients   *clients.Registry
	tokens    *tokens.Issuer
	now       func() time.Time
}

// answered reads a form of an authorization's page as authorizations.posted does, and decides
// the next step of the authorization.
func (d *decisions) answered(q *authorizations, r *http.Request) (
	a *authorization, form url.Values, next step, err error) {
	if a, form, err = q.posted(r); err == nil {
		next, err = d.proceed(r, a)
	}
	return a, form, next, err
}

// proceed returns the next step of the authorization.
func (d *decisions) proceed(r *http.Request, a *authorization) (step, error) {
	ctx := r.Context()
	n, err := d.sessions.Find(ctx, r)
	if err != nil {
		return 0, err
	}
	if n == nil || !d.suits(a, n) {
		return stepSignIn, nil
	}
	if a.hinted.actor != "" && a.hinted.actor != n.Actor {
		// A response must not be about anybody but the hinted person (OpenID
		// Connect Core section 3.1.2.2), even if somebody else has just signed
		// in.
		if n.FreshFor(a.Name(), d.now()) {
			return 0, &redirectError{a, protocol.Refuse("login_required",
				"The signed-in person is not the one that id_token_hint names.")}
		}
		return stepSignIn, nil
	}
	a.session = n
	if a.Tenant.ID == "" {
		if picked, err := d.pick(ctx, a); err != nil || !picked {
			return stepPick, err
		}
	}
	next, err := d.weigh(ctx, a)
	if next == stepIssue && a.hintsOther(n) && a.Asks("none") {
		return stepSignIn, err
	}
	return next, err
}

// hintsOther reports whether login_hint names another account than the
// session's. A login_hint that is no mail address names no account.
func (a *authorization) hintsOther(n *session.Session) bool {
	return email.Valid(a.LoginHint) && email.Fold(a.LoginHint) != email.Fold(n.Email)
}

// pick determines the tenant of an operator who named none: the only
// membership, or the tenant that was chosen for this request. False means that
// the operator must choose, or has no membership.
func (d *decisions) pick(ctx context.Context, a *authorization) (bool, error) {
	all, err := d.sessions.Memberships(ctx, a.session.Actor)
	if err != nil {
		return false, err
	}
	chosen := ""
	for _, m := range all {
		a.choices = append(a.choices, page.Choice{Slug: m.Slug, Name: m.Name})
		if len(all) == 1 || a.session.Picks[a.Name()] == m.TenantID {
			chosen = m.TenantID
		}
	}
	if chosen == "" {
		return false, nil
	}
	a.Company, err = d.companies.ByID(ctx, chosen)
	return err == nil, err
}

// suits reports whether the session satisfies the request, so that no new
// sign-in is needed. With prompt=none, login_hint is compared only before a code
// is issued (see proceed). Otherwise any client could learn by the error who is
// signed in.
func (d *decisions) suits(a *authorization, n *session.Session) bool {
	if n.Audience != a.audience || (n.TenantID != "" && n.TenantID != a.Tenant.ID) {
		return false
	}
	if n.FreshFor(a.Name(), d.now()) {
		return true
	}
	if a.Asks("login") || a.Asks("select_account") || a.Asks("create") || a.hintsOther(n) && !a.Asks("none") {
		return false
	}
	return !a.HasMaxAge || !d.now().After(n.AuthTime.Add(a.MaxAge))
}

// weigh reads what the person may grant now and has consented to before, and
// returns the next step. If the membership, record or tenant is gone or
// disabled, the person must sign in again.
func (d *decisions) weigh(ctx context.Context, a *authorization) (step, error) {
	t := d.db.Tenant(a.Tenant.ID)
	var actor, flags, consent, grant table.Item
	var reads table.BatchGet
	reads.Add(t.Handle, authz.ActorKey(t, a.audience, a.session.Actor), &actor)
	reads.Add(t.Handle, authz.FlagsKey(t, ids.Pick(a.session.Hash(), authz.Copies)), &flags)
	reads.Add(t.Handle, consentKey(t, a.client.ID, a.session.Actor), &consent)
	reads.Add(t.Handle, authz.GrantKey(t, a.client.ID, a.session.Actor), &grant)
	if err := reads.Do(ctx); err != nil {
		return 0, fmt.Errorf("what may be granted: %w", err)
	}
	a.epoch = grant.Int("epoch")
	if !session.Enabled(actor) || !session.Enabled(flags) {
		return stepSignIn, nil
	}
	var err error
	if a.terms, err = newerTerms(a, actor); err != nil {
		return 0, err
	}
	a.granted = authz.Grantable(a.audience, a.asked, authz.Have{Permissions: actor.Strings("permissions"),
		Taxi: flags.Flag(authz.Taxi), Delivery: flags.Flag(authz.Delivery)})
	if a.ActsAs != "" { // an agent can do nothing with the other scopes
		a.granted, _ = protocol.SplitOffered(a.granted)
	}
	if len(a.granted) == 0 {
		return 0, &redirectError{a, protocol.Refuse("invalid_scope", "The person may have none of the requested scopes now.")}
	}
	a.since = actor.Text("since")
	if a.ActsAs != "" {
		a.agents = authz.AgentMode(flags)
		a.agentsThen = authz.AgentMode(consent)
	}
	a.agreed = a.agrees(consent, actor)
	if a.agreed && a.device == nil && !a.Asks("consent") && !a.redirectInterceptable() {
		return stepIssue, nil
	}
	if err := d.owner(ctx, a); err != nil {
		return 0, err
	}
	if a.silently = d.skipsConsent(a, consent, actor); a.silently {
		return stepIssue, nil
	}
	return stepConsent, nil
}

// errConsentEnded means that the person ended the consent while the server
// issued a code for it. A batch read is no snapshot, so the epoch may be newer
// than the consent read with it. If the transaction did not check the consent,
// a code could get the epoch that follows the end of the consent.
var errConsentEnded = errors.New("the consent has ended")

// condition returns a function that adds to the transaction that creates a code:
// a check of the consent, or the consent itself. A condition may run more than
// once.
type condition func(context.Context, *authorization) (func(*table.Tx), error)

// mustStand is the condition that the consent still exists.
func (d *decisions) mustStand(_ context.Context, a *authorization) (func(*table.Tx), error) {
	t := d.db.Tenant(a.Tenant.ID)
	return func(tx *table.Tx) {
		tx.Covers(t.Handle).Check(consentKey(t, a.client.ID, a.session.Actor)).
			If("attribute_exists(pk)").Else(errConsentEnded)
	}, nil
}

// issue ends the authorization with the code. If the code was issued before and
// not redeemed yet, the response has it again. If it was redeemed, or if the
// consent has ended in the meantime, issue starts the request again.
func (d *decisions) issue(w http.ResponseWriter, r *http.Request, a *authorization, code string,
	consent condition) error {
	if a.device != nil {
		return d.answerDevice(w, r, a, consent)
	}
	if _, err := d.clients.Keep(r.Context(), a.client); errors.Is(err, clients.ErrUnknown) {
		return protocol.RefuseOnPage("client", "client_id is not known")
	} else if err != nil {
		return err
	}
	err := table.Retry(r.Context(), func(ctx context.Context) error {
		require, err := consent(ctx, a)
		if err != nil {
			return err
		}
		return d.tokens.IssueCode(ctx, code, a.code(), require)
	})
	if errors.Is(err, errConsentEnded) || errors.Is(err, tokens.ErrRedeemed) {
		return redirect(w, http.StatusSeeOther, a.Link("authorize"))
	}
	if err != nil {
		return err
	}
	if a.audience == authz.Dashboard {
		if err := d.sessions.RememberOperator(w, r, a.Tenant.ID); err != nil {
			d.log.Error("the operator cookie is not set", "error", err) // the console shows no map
		}
	}
	byForm := a.cameByForm(r, a.session)
	if err := d.forget(r.Context(), a); err != nil {
		return err
	}
	return d.answerClient(w, r, a, byForm, url.Values{"code": {code}})
}

// code returns what the person allowed.
func (a *authorization) code() tokens.AuthorizationCode {
	return tokens.AuthorizationCode{ClientID: a.client.ID, RedirectURI: a.RedirectURI, Challenge: a.Challenge,
		TenantID: a.Tenant.ID, Audience: a.audience, Actor: a.session.Actor, Scopes: a.granted, Nonce: a.Nonce,
		AuthTime: a.session.AuthTime, Resource: a.Resource, Session: a.session.Hash(), Epoch: a.epoch, Since: a.since,
		Agents: a.agentsThen}
}

// forget removes the request from the session. If the same request comes
// again, it needs a new sign-in (if it asks for one) and a new choice of the
// tenant.
func (d *decisions) forget(ctx context.Context, a *authorization) error {
	n := a.session
	if n.Fresh != a.Name() && n.Picks[a.Name()] == "" {
		return nil
	}
	return d.sessions.Change(ctx, n, func(n *session.Session) {
		if n.Fresh == a.Name() {
			n.Fresh = ""
		}
		delete(n.Picks, a.Name())
	})
}

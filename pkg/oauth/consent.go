package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/oauth/page"
	"svc/pkg/table"
	"svc/pkg/tenant"
	"svc/pkg/timestamp"
)

const (
	consentForm = "consent"
	pickForm    = "tenant"
)

// pick finds the tenant of an operator who named none: the only membership, or
// the one picked for this request. False means that the person must pick.
func (s *Server) pick(ctx context.Context, a *authorization) (bool, error) {
	all, err := s.memberships(ctx, a.session.Actor)
	if err != nil {
		return false, err
	}
	chosen := ""
	for _, m := range all {
		a.choices = append(a.choices, page.Choice{Slug: m.slug, Name: m.name})
		if len(all) == 1 || (a.session.Picked == m.tenantID && a.session.PickedFor == a.name()) {
			chosen = m.tenantID
		}
	}
	if chosen == "" {
		return false, nil
	}
	if a.tenant, err = (tenant.Store{DB: s.db}).ByID(ctx, chosen); err != nil {
		return false, err
	}
	a.brand, err = s.brand(ctx, a.tenant)
	return true, err
}

func (s *Server) showPicker(w http.ResponseWriter, r *http.Request, a *authorization) error {
	return s.show(w, r, http.StatusOK, a.frame(), page.Picker{Action: a.link("tenant"), CSRF: formToken(a.session.secret, pickForm, a.name()),
		Account: a.session.Email, Choices: a.choices, Switch: a.another()})
}

// reload leads a reload of a page that was posted back to its request.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) error {
	return redirect(w, http.StatusSeeOther, "authorize?"+r.URL.RawQuery)
}

// posted runs what answers a form of an authorization.
func (s *Server) posted(w http.ResponseWriter, r *http.Request, answer func(a *authorization, form url.Values) error) error {
	return s.browser(w, r, func(_ http.ResponseWriter, r *http.Request) error {
		form, err := readForm(r)
		if err != nil {
			return err
		}
		a, err := s.open(r)
		if err != nil {
			return err
		}
		return answer(a, form)
	})
}

// pickTenant answers POST /oauth/tenant: it notes the choice in the session
// and leads back to the request.
func (s *Server) pickTenant(w http.ResponseWriter, r *http.Request) error {
	return s.posted(w, r, func(a *authorization, form url.Values) error {
		if a.tenant.ID == "" {
			if err := s.notePick(r, a, form); err != nil {
				return err
			}
		}
		return redirect(w, http.StatusSeeOther, a.link("authorize"))
	})
}

func (s *Server) notePick(r *http.Request, a *authorization, form url.Values) error {
	ctx := r.Context()
	n, err := s.session(ctx, r)
	if err != nil || n == nil || !s.suits(a, n) || !formGood(n.secret, pickForm, a.name(), form.Get("csrf")) {
		return err
	}
	all, err := s.memberships(ctx, n.Actor)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.slug == form.Get("tenant") {
			n.Picked, n.PickedFor = m.tenantID, a.name()
			return s.save(ctx, n)
		}
	}
	return nil
}

// another is the request with a sign-in of another account asked for.
func (a *authRequest) another() string {
	query := url.Values{}
	for name, values := range a.query {
		query[name] = values
	}
	prompt := []string{"login"}
	if a.asks("consent") {
		prompt = append(prompt, "consent")
	}
	query.Set("prompt", strings.Join(prompt, " "))
	query.Del("login_hint")
	query.Del("id_token_hint")
	return "authorize?" + query.Encode()
}

// shown names what a consent page showed: a form of it agrees to nothing else.
func (a *authorization) shown() string {
	return strings.Join([]string{a.name(), a.tenant.ID, strings.Join(a.granted, " ")}, "\n")
}

func (s *Server) showConsent(w http.ResponseWriter, r *http.Request, a *authorization) error {
	host, local := hostAt(a.redirectURI)
	return s.show(w, r, http.StatusOK, a.frame(), page.Consent{
		Action: a.link("consent"), CSRF: formToken(a.session.secret, consentForm, a.shown()), Client: a.client.Name, Host: host, Local: local, Site: a.client.Host(),
		Account: a.session.Email, Tenant: a.tenant.Name, Scopes: a.granted, Policy: a.client.PolicyURI, Terms: a.client.TermsURI, Switch: a.another(),
	})
}

// consent answers POST /oauth/consent. A form that shows what is not so any
// more (another session, other scopes) leads to a fresh page.
func (s *Server) consent(w http.ResponseWriter, r *http.Request) error {
	return s.posted(w, r, func(a *authorization, form url.Values) error {
		next, err := s.proceed(r, a)
		if err != nil {
			return err
		}
		if next < stepConsent || !formGood(a.session.secret, consentForm, a.shown(), form.Get("csrf")) {
			return redirect(w, http.StatusSeeOther, a.link("authorize"))
		}
		if form.Get("decision") != "allow" {
			if err := s.answered(r.Context(), a); err != nil {
				return err
			}
			return &redirectError{a, refuse("access_denied", "The person did not agree.")}
		}
		if err := s.agree(r.Context(), a); err != nil {
			return err
		}
		return s.issue(w, r, a)
	})
}

// consentDoc is what is remembered of a consent, beside the scopes.
type consentDoc struct {
	Client string `json:"client"`
	Name   string `json:"name"` // what the client called itself
	Since  string `json:"since"`
}

func consentKey(t table.Tenant, client, actor string) table.Key {
	return t.Key("CONSENT", "CONSENT", client, actor)
}

// consentsOf is the partition of by-g1 with an actor's consents, by client.
func consentsOf(t table.Tenant, actor string) string { return t.Partition("CONSENTS", actor) }

// inForce says whether a consent is of the membership and password that the
// actor has: one of an earlier membership or password is forgotten.
func inForce(consent, actor table.Item) bool {
	return consent.Found() && actor.Found() && consent.Text("since") == actor.Text("since")
}

// agree remembers that the person agreed to the granted scopes, beside those
// agreed to before.
func (s *Server) agree(ctx context.Context, a *authorization) error {
	t := s.db.Tenant(a.tenant.ID)
	key := consentKey(t, a.client.ID, a.session.Actor)
	return table.Retry(ctx, func(ctx context.Context) error {
		was, err := t.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("consent: %w", err)
		}
		doc, scopes := consentDoc{Client: a.client.ID, Since: timestamp.Format(s.now())}, slices.Clone(a.granted)
		if was.Found() && was.Text("since") == a.since {
			if err := was.Decode(&doc); err != nil {
				return err
			}
			scopes = append(scopes, was.Strings("scopes")...)
		}
		doc.Name = a.client.Name
		slices.Sort(scopes)
		next := table.Item{Key: key, Type: "consent", Version: max(was.Version, 1), G: [4]string{consentsOf(t, a.session.Actor)}, R: a.client.ID,
			Attrs: map[string]any{"scopes": slices.Compact(scopes), "since": a.since}, Doc: doc}
		tx := t.Write()
		if was.Found() {
			tx.Replace(next).Else(table.ErrConflict)
		} else {
			tx.Create(next).Else(table.ErrConflict)
		}
		return tx.Commit(ctx)
	})
}

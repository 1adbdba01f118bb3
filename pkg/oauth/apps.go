package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/oauth/page"
	"svc/pkg/person"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

const (
	appsForm = "apps"
	mostApps = 98 // shown of one tenant
)

// own is a request of one of the server's own pages, where no client asks:
// whose account it is about.
type own struct {
	audience authz.Audience
	tenant   tenant.Tenant // the zero one for an operator
	brand    page.Brand
	query    url.Values
}

// isOwn says whether the sign-in is one without a client.
func isOwn(r *http.Request) bool { return !r.URL.Query().Has("client_id") }

// ownLink is the connected applications of the account that the query names.
func ownLink(r *http.Request) string { return "apps?" + ownQuery(r).Encode() }

func ownQuery(r *http.Request) url.Values {
	out, in := url.Values{}, r.URL.Query()
	for _, name := range []string{"audience", "tenant_hint", "ui_locales"} {
		if value := in.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// openOwn reads whose account a request is about; without an audience it is an
// operator's.
func (s *Server) openOwn(r *http.Request) (own, error) {
	o := own{query: ownQuery(r)}
	if o.audience = authz.Audience(o.query.Get("audience")); o.audience == "" {
		o.audience = authz.Dashboard
	}
	slug := o.query.Get("tenant_hint")
	switch {
	case !slices.Contains(authz.Audiences, o.audience):
		return own{}, badRequest("request", "audience is not known")
	case slug == "" && o.audience != authz.Dashboard:
		return own{}, badRequest("request", "tenant_hint is missing")
	case slug == "":
		return o, nil
	}
	a := &authorization{authRequest: authRequest{tenantHint: slug}}
	err := s.hintedTenant(r.Context(), a)
	o.tenant, o.brand = a.tenant, a.brand
	return o, err
}

// signInOwn answers the sign-in form of the server's own pages.
func (s *Server) signInOwn(w http.ResponseWriter, r *http.Request, form url.Values) error {
	o, err := s.openOwn(r)
	if err != nil {
		return err
	}
	if !formGood(s.cookie(r, formCookie), signInForm, o.query.Encode(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, ownLink(r))
	}
	problem, err := s.signInAs(w, r, session{Audience: o.audience, Email: form.Get("email")}, o.tenant.ID, form.Get("password"))
	if err != nil {
		return err
	}
	if problem != "" {
		note(r, "sign_in_"+problem)
		return s.showOwnSignIn(w, r, o, page.SignIn{Email: form.Get("email"), Problem: problem}, statusOf(problem))
	}
	return redirect(w, http.StatusSeeOther, ownLink(r))
}

func (s *Server) showOwnSignIn(w http.ResponseWriter, r *http.Request, o own, c page.SignIn, status int) error {
	c.Action, c.CSRF = "signin?"+o.query.Encode(), s.form(w, r, signInForm, o.query.Encode())
	c.Rider, c.Driver = o.audience == authz.Rider, o.audience == authz.Driver
	c.Forgot = s.forgotLink(o.audience, o.query.Get("tenant_hint"), o.query.Get("ui_locales"))
	return s.show(w, r, status, page.Frame{Brand: o.brand}, c)
}

// appsPage answers GET /oauth/apps: the clients that the signed-in person let
// in. tenant_hint and audience say whose account to sign in to.
func (s *Server) appsPage(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		n, err := s.session(r.Context(), r)
		if err != nil {
			return err
		}
		asked := r.URL.Query().Has("audience") || r.URL.Query().Has("tenant_hint")
		if n == nil || asked {
			o, err := s.openOwn(r)
			if err != nil {
				return err
			}
			if n == nil || n.Audience != o.audience || n.TenantID != tenantOf(o.audience, o.tenant.ID) {
				return s.showOwnSignIn(w, r, o, page.SignIn{}, http.StatusOK)
			}
		}
		apps, err := s.apps(r.Context(), n)
		if err != nil {
			return err
		}
		frame, err := s.sessionFrame(r.Context(), n)
		if err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, frame, page.Apps{Action: ownLink(r), CSRF: formToken(n.secret, appsForm, ""), Account: n.Email,
			Ended: r.URL.Query().Has("ended"), Apps: apps, Logout: "logout"})
	})
}

// sessionFrame is the branding of the session's tenant, none for an operator.
func (s *Server) sessionFrame(ctx context.Context, n *session) (page.Frame, error) {
	if n == nil || n.TenantID == "" {
		return page.Frame{}, nil
	}
	record, err := tenant.Store{DB: s.db}.ByID(ctx, n.TenantID)
	if err != nil {
		return page.Frame{}, err
	}
	brand, err := s.brand(ctx, record)
	return page.Frame{Brand: brand}, err
}

// tenantsOf gives the tenants in which the session's person may have let
// clients in.
func (s *Server) tenantsOf(ctx context.Context, n *session) ([]string, error) {
	if n.Audience != authz.Dashboard {
		return []string{n.TenantID}, nil
	}
	p, err := person.Store{DB: s.db}.ByID(ctx, n.Actor)
	if errors.Is(err, fault.NotFound()) {
		return nil, nil
	}
	return p.Tenants, err
}

// apps lists the consents of the session's person, oldest tenant first. The
// index lags, so each is read again where it is consistent.
//
// Access pattern: by-g1 T#t#CONSENTS#actor, then a batch get.
func (s *Server) apps(ctx context.Context, n *session) ([]page.App, error) {
	tenants, err := s.tenantsOf(ctx, n)
	if err != nil {
		return nil, err
	}
	var out []page.App
	for _, id := range tenants {
		t := s.db.Tenant(id)
		listed, err := t.Query(ctx, consentsOf(t, n.Actor), table.Query{Index: 1, Limit: mostApps})
		if err != nil {
			return nil, fmt.Errorf("connected applications: %w", err)
		}
		keys := []table.Key{authz.FlagsKey(t, 0), authz.ActorKey(t, n.Audience, n.Actor)}
		for _, it := range listed.Items {
			keys = append(keys, it.Key)
		}
		items, err := t.Batch(ctx, keys...)
		if err != nil {
			return nil, fmt.Errorf("connected applications: %w", err)
		}
		company := items[0].Text("name")
		for _, it := range items[2:] {
			if !inForce(it, items[1]) {
				continue
			}
			var doc consentDoc
			if err := it.Decode(&doc); err != nil {
				return nil, err
			}
			scopes := it.Strings("scopes")
			slices.Sort(scopes)
			day, _, _ := strings.Cut(doc.Since, "T")
			out = append(out, page.App{ClientID: doc.Client, Name: doc.Name, Tenant: id, Company: company, Since: day, Scopes: scopes})
		}
	}
	return out, nil
}

// endApp answers POST /oauth/apps: it forgets the consent and ends every token
// of the client and the person, on all devices.
func (s *Server) endApp(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		form, err := readForm(r)
		if err != nil {
			return err
		}
		n, err := s.session(r.Context(), r)
		if err != nil {
			return err
		}
		if n == nil || !formGood(n.secret, appsForm, "", form.Get("csrf")) {
			return redirect(w, http.StatusSeeOther, ownLink(r))
		}
		tenants, err := s.tenantsOf(r.Context(), n)
		if err != nil {
			return err
		}
		if !slices.Contains(tenants, form.Get("of")) || strings.Contains(form.Get("client"), "#") {
			return badRequest("request", "there is no such connected application")
		}
		if err := s.forget(r.Context(), s.db.Tenant(form.Get("of")), form.Get("client"), n.Actor); err != nil {
			return err
		}
		query := ownQuery(r)
		query.Set("ended", "1")
		return redirect(w, http.StatusSeeOther, "apps?"+query.Encode())
	})
}

// forget forgets what the actor agreed to for the client and ends every token
// of the two, in this order: a code that is issued in between needs a consent
// again.
func (s *Server) forget(ctx context.Context, t table.Tenant, client, actor string) error {
	tx := t.Write()
	tx.Delete(consentKey(t, client, actor))
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("forgetting a consent: %w", err)
	}
	return s.disconnect(ctx, t, client, actor)
}

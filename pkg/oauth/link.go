package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/email"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/login"
	"svc/pkg/oauth/page"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/table"
)

// LinkLife is how long a link to set a password is good, and it is good once.
const LinkLife = 24 * time.Hour

const passwordForm = "password"

// link is what a one-time link stands for.
type link struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	Since    string         `json:"since"` // of the password then: a newer one ends the link
}

// NewLink makes a one-time link with which the account of a mail address sets
// its password; tenantID is "" for an operator. fault.NotFound when there is
// no such account. The link is a credential: never log it.
func NewLink(ctx context.Context, db *table.DB, baseURL string, audience authz.Audience, tenantID, address string, now time.Time) (string, error) {
	s := &Server{db: db, p: db.Platform("LINK")}
	l, err := s.login(ctx, audience, tenantID, address)
	if err != nil {
		return "", err
	}
	if l.Actor == "" || l.Disabled {
		return "", fault.NotFound()
	}
	return s.newLink(ctx, baseURL, link{Audience: audience, TenantID: tenantOf(audience, tenantID), Actor: l.Actor, Email: address, Since: l.Since}, now.Add(LinkLife))
}

// newLink makes a link that is good until it expires.
func (s *Server) newLink(ctx context.Context, baseURL string, n link, expires time.Time) (string, error) {
	secret := ids.Secret()
	tx := s.p.Write()
	tx.Create(table.Item{Key: s.linkKey(secret), Type: "link", Expires: expires, Doc: n})
	if err := tx.Commit(ctx); err != nil {
		return "", fmt.Errorf("one-time link: %w", err)
	}
	return baseURL + "/oauth/password?" + url.Values{"link": {secret}}.Encode(), nil
}

func (s *Server) linkKey(secret string) table.Key { return s.p.Key("LINK", "LINK", ids.Hash(secret)) }

var errLink = badRequest("link", "")

// openLink reads a link that may be used now, else errLink. Reading uses
// nothing up: mail programs open links before people do.
func (s *Server) openLink(ctx context.Context, secret string) (link, login.Login, error) {
	if !s256.MatchString(secret) {
		return link{}, login.Login{}, errLink
	}
	it, err := s.p.Get(ctx, s.linkKey(secret))
	if err != nil {
		return link{}, login.Login{}, fmt.Errorf("one-time link: %w", err)
	}
	if !it.Live(s.now()) {
		return link{}, login.Login{}, errLink
	}
	var n link
	if err := it.Decode(&n); err != nil {
		return link{}, login.Login{}, err
	}
	l, err := s.login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return link{}, login.Login{}, err
	}
	if l.Actor != n.Actor || l.Disabled || l.Since != n.Since {
		return link{}, login.Login{}, errLink
	}
	return n, l, nil
}

// passwordPage answers GET /oauth/password, where a one-time link leads.
func (s *Server) passwordPage(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		secret := r.URL.Query().Get("link")
		n, l, err := s.openLink(r.Context(), secret)
		if err != nil {
			return err
		}
		return s.showPassword(w, r, secret, n, l, "", http.StatusOK)
	})
}

func (s *Server) showPassword(w http.ResponseWriter, r *http.Request, secret string, n link, l login.Login, problem string, status int) error {
	frame, err := s.linkFrame(r.Context(), n)
	if err != nil {
		return err
	}
	return s.show(w, r, status, frame, page.Password{Action: "password?" + url.Values{"link": {secret}}.Encode(),
		CSRF: s.form(w, r, passwordForm, secret), Account: n.Email, First: l.Hash == "", Problem: problem, Least: password.Shortest})
}

func (s *Server) linkFrame(ctx context.Context, n link) (page.Frame, error) {
	return s.sessionFrame(ctx, &session{TenantID: n.TenantID})
}

// setPassword answers POST /oauth/password. The link is used up and the
// password set in one transaction; every session and token of the account is over.
func (s *Server) setPassword(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		ctx, secret := r.Context(), r.URL.Query().Get("link")
		form, err := readForm(r)
		if err != nil {
			return err
		}
		n, l, err := s.openLink(ctx, secret)
		if err != nil {
			return err
		}
		if !formGood(s.cookie(r, formCookie), passwordForm, secret, form.Get("csrf")) {
			return redirect(w, http.StatusSeeOther, "password?"+url.Values{"link": {secret}}.Encode())
		}
		if problem := passwordProblem(n, form); problem != "" {
			return s.showPassword(w, r, secret, n, l, problem, http.StatusBadRequest)
		}
		if err := s.useLink(ctx, secret, n, password.Hash(form.Get("password"))); err != nil {
			return err
		}
		if err := s.end(ctx, w, r); err != nil {
			return err
		}
		if err := s.welcome(w, r, n); err != nil { // the password is set all the same
			s.log.WarnContext(ctx, "a browser that set a password is not known", "error", err)
		}
		frame, err := s.linkFrame(ctx, n)
		if err != nil {
			return err
		}
		return s.show(w, r, http.StatusOK, frame, page.Message{Kind: "saved"})
	})
}

// welcome makes the browser of who has set a password one that the account
// knows: guesses of others cannot keep its owner from signing in with it.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, n link) error {
	ctx := r.Context()
	d, err := s.device(ctx, r)
	if err != nil {
		return err
	}
	l, err := s.login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return err
	}
	tx := s.p.Write()
	known := s.remember(tx, d, account(n.Audience, n.TenantID, n.Email), l.Since)
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	s.setCookie(ctx, w, deviceCookie, known, DeviceLife)
	return nil
}

// passwordProblem gives what is wrong with a new password, a key of
// page.Password, "" for nothing.
func passwordProblem(n link, form url.Values) string {
	chosen := form.Get("password")
	switch {
	case utf8.RuneCountInString(chosen) < password.Shortest:
		return "short"
	case password.Check(chosen) != nil:
		return "long"
	case email.Fold(chosen) == email.Fold(n.Email):
		return "email"
	case chosen != form.Get("again"):
		return "differ"
	}
	return ""
}

// useLink uses the link up and sets the hash, or errLink when it was used in
// the meantime. Every session and token of the account is over.
func (s *Server) useLink(ctx context.Context, secret string, n link, hash string) error {
	by := audit.By{Who: n.Actor, At: s.now()}
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		tx.Delete(s.linkKey(secret)).If("attribute_exists(pk)").Else(errLink)
		if n.Audience == authz.Dashboard {
			people := person.Store{DB: s.db}
			p, err := people.ByID(ctx, n.Actor)
			if err != nil {
				return err
			}
			people.SetPassword(tx, by, p, hash)
			return tx.Commit(ctx)
		}
		t := s.db.Tenant(n.TenantID)
		login.SetPassword(tx.Covers(t.Handle), login.Key(t, n.Audience, n.Email), n.Actor, hash, by)
		login.EndTokens(tx, t, n.Audience, n.Actor, by)
		audit.Append(tx, t, by, "person.password", n.Actor, nil, nil)
		return tx.Commit(ctx)
	})
	if errors.Is(err, fault.NotFound()) {
		return errLink
	}
	return err
}

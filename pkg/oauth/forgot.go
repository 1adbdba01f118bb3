package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"svc/pkg/authz"
	"svc/pkg/oauth/page"
	"svc/pkg/person"
	"svc/pkg/table"
)

// Mailer sends a message, plain text, to one address.
type Mailer func(ctx context.Context, to, subject, text string) error

const (
	// MailedLinkLife is how long a link that a person asked for is good.
	MailedLinkLife = time.Hour
	forgotForm     = "forgot"
	linksAnAccount = 3 // mailed to one account in an hour
	// mailTime is how long asking for a link takes, for a known account and for
	// an unknown one; what is not mailed by then is not mailed.
	mailTime = 3 * time.Second
)

// forgotLink is the address of the page where a person asks for a link, "" where
// no mailer is configured.
func (s *Server) forgotLink(audience authz.Audience, tenantHint, locales string) string {
	if s.config.Mail == nil {
		return ""
	}
	query := url.Values{"audience": {string(audience)}}
	for name, value := range map[string]string{"tenant_hint": tenantHint, "ui_locales": locales} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "forgot?" + query.Encode()
}

// openForgot reads whose account a request for a link is about.
func (s *Server) openForgot(r *http.Request) (own, error) {
	if s.config.Mail == nil {
		return own{}, &pageError{status: http.StatusNotFound, kind: "request", detail: "no mailer is configured"}
	}
	return s.openOwn(r)
}

// forgotPage answers GET /oauth/forgot.
func (s *Server) forgotPage(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		o, err := s.openForgot(r)
		if err != nil {
			return err
		}
		return s.showForgot(w, r, o, page.Forgot{}, http.StatusOK)
	})
}

func (s *Server) showForgot(w http.ResponseWriter, r *http.Request, o own, c page.Forgot, status int) error {
	c.Action, c.CSRF = "forgot?"+o.query.Encode(), s.form(w, r, forgotForm, o.query.Encode())
	c.Rider, c.Driver = o.audience == authz.Rider, o.audience == authz.Driver
	return s.show(w, r, status, page.Frame{Brand: o.brand}, c)
}

// forgot answers POST /oauth/forgot: it mails a one-time link to the account's
// address. Whether there is such an account neither the answer nor its time say.
func (s *Server) forgot(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		form, err := readForm(r)
		if err != nil {
			return err
		}
		o, err := s.openForgot(r)
		if err != nil {
			return err
		}
		if !formGood(s.cookie(r, formCookie), forgotForm, o.query.Encode(), form.Get("csrf")) {
			return redirect(w, http.StatusSeeOther, "forgot?"+o.query.Encode())
		}
		err = s.throttle(r.Context(), counter{"forgot-address", s.address(r.Context()), s.config.Limits.Links, time.Hour})
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
			note(r, e.Code)
			w.Header().Set("Retry-After", seconds(e.RetryAfter))
			return s.showForgot(w, r, o, page.Forgot{Email: form.Get("email"), Problem: throttled}, http.StatusTooManyRequests)
		}
		if err != nil {
			return err
		}
		enough := s.after(s.mailTime)
		ctx, cancel := context.WithTimeout(r.Context(), s.mailTime)
		defer cancel()
		if err := s.mailLink(ctx, o, s.lang(r), form.Get("email")); err != nil {
			s.log.ErrorContext(ctx, "a link was not mailed", "request_id", w.Header().Get(requestHeader), "error", err)
		}
		select {
		case <-enough:
		case <-r.Context().Done():
		}
		return s.show(w, r, http.StatusOK, page.Frame{Brand: o.brand}, page.Message{Kind: "mailed"})
	})
}

// mailLink mails a one-time link to the account of the mail address, at the
// address that is stored: another spelling that folds to the same may be
// somebody else's mailbox. It does nothing where there is no such account, or
// where links enough were mailed.
func (s *Server) mailLink(ctx context.Context, o own, lang page.Lang, address string) error {
	err := s.throttle(ctx, counter{"forgot", account(o.audience, o.tenant.ID, address), linksAnAccount, time.Hour})
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := s.login(ctx, o.audience, o.tenant.ID, address)
	if err != nil || l.Actor == "" || l.Disabled {
		return err
	}
	to, err := s.mailbox(ctx, o, l.Actor)
	if err != nil || to == "" {
		return err
	}
	base, company := s.base(ctx), ""
	if o.audience != authz.Dashboard { // an operator's account is no tenant's: neither name nor domain of one may lead her there
		company = o.brand.Name
		if domain := o.tenant.CustomDomain; domain != "" {
			base = "https://" + domain
		}
	}
	link, err := s.newLink(ctx, base, link{Audience: o.audience, TenantID: tenantOf(o.audience, o.tenant.ID), Actor: l.Actor, Email: to, Since: l.Since},
		s.now().Add(MailedLinkLife))
	if err != nil {
		return err
	}
	subject, text, err := page.LinkMail(lang, company, link)
	if err != nil {
		return err
	}
	return s.config.Mail(ctx, to, subject, text)
}

// mailbox is the address that the actor's record has.
func (s *Server) mailbox(ctx context.Context, o own, actor string) (string, error) {
	var it table.Item
	var err error
	if o.audience == authz.Dashboard {
		it, err = s.p.Get(ctx, person.Key(s.p, actor))
	} else {
		t := s.db.Tenant(o.tenant.ID)
		it, err = t.Get(ctx, authz.ActorKey(t, o.audience, actor))
	}
	if err != nil || !it.Found() {
		return "", err
	}
	var record struct {
		Email string `json:"email"`
	}
	return record.Email, it.Decode(&record)
}

package oauth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/login"
	"svc/pkg/person"
	"svc/pkg/table"
)

// SessionLife is how long a person stays signed in.
const SessionLife = 12 * time.Hour

// session is one person signed in with one browser. A rider's or driver's is
// bound to a tenant; an operator's is the person's, who may have several.
type session struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	AuthTime time.Time      `json:"authTime"`
	Host     string         `json:"host"`  // by which the person signed in: the session is none at another
	Since    string         `json:"since"` // of the password that was used: a new one ends the session
	// Fresh names the request for which the person signed in: for this one
	// prompt=login and max_age are satisfied, until it is answered.
	Fresh string `json:"fresh,omitempty"`
	// Picked is the tenant picked for the request that PickedFor names.
	Picked    string `json:"picked,omitempty"`
	PickedFor string `json:"pickedFor,omitempty"`

	secret  string // the cookie's value
	expires time.Time
}

func (s *Server) sessionKey(secret string) table.Key {
	return s.p.Key("SESSION", "SESSION", ids.Hash(secret))
}

// hash is what is stored of the session's secret, and how a code names it.
func (n *session) hash() string { return ids.Hash(n.secret) }

// session gives the session of the request's cookie, nil when there is none or
// its account is gone, disabled or has another password by now. It is good at
// the host where it began alone: a tenant's domain holds none of the platform's.
func (s *Server) session(ctx context.Context, r *http.Request) (*session, error) {
	secret := s.cookie(r, sessionCookie)
	if secret == "" {
		return nil, nil
	}
	it, err := s.p.Get(ctx, s.sessionKey(secret))
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if !it.Live(s.now()) {
		return nil, nil
	}
	n := &session{secret: secret, expires: it.Expires}
	if err := it.Decode(n); err != nil {
		return nil, err
	}
	if n.Host != hostOf(r) {
		return nil, nil
	}
	l, err := s.login(ctx, n.Audience, n.TenantID, n.Email)
	if err != nil {
		return nil, err
	}
	if l.Actor != n.Actor || l.Disabled || l.Since != n.Since || l.Hash == "" {
		return nil, nil
	}
	return n, nil
}

// login reads the account of a mail address, the zero Login when there is none.
func (s *Server) login(ctx context.Context, audience authz.Audience, tenantID, email string) (login.Login, error) {
	var l login.Login
	var err error
	if audience == authz.Dashboard {
		l, err = person.Store{DB: s.db}.Login(ctx, email)
	} else {
		l, err = login.Find(ctx, s.db.Tenant(tenantID), audience, email)
	}
	if errors.Is(err, fault.NotFound()) {
		return login.Login{}, nil
	}
	return l, err
}

// begin stores a new session and sets its cookie; the account knows the browser
// from now on. The secret is new at every sign-in, and the session that the
// browser had before is over, so that nobody can have fixed it beforehand.
func (s *Server) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, n session, d device) error {
	n.secret, n.expires, n.Host = ids.Secret(), s.now().Add(SessionLife), hostOf(r)
	tx := s.p.Write()
	tx.Create(s.sessionItem(&n))
	if old := s.cookie(r, sessionCookie); old != "" {
		tx.Delete(s.sessionKey(old))
	}
	known := s.remember(tx, d, account(n.Audience, n.TenantID, n.Email), n.Since)
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("new session: %w", err)
	}
	s.setCookie(ctx, w, sessionCookie, n.secret, SessionLife)
	s.setCookie(ctx, w, deviceCookie, known, DeviceLife)
	return nil
}

// save stores what changed in the session, unless it is over.
func (s *Server) save(ctx context.Context, n *session) error {
	tx := s.p.Write()
	tx.Put(s.sessionItem(n)).If("attribute_exists(pk)").Else(errNoSession)
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, errNoSession) {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

var errNoSession = errors.New("the session is over")

// end removes the browser's session and its cookie.
func (s *Server) end(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if secret := s.cookie(r, sessionCookie); secret != "" {
		tx := s.p.Write()
		tx.Delete(s.sessionKey(secret))
		if err := tx.Commit(ctx); err != nil {
			return fmt.Errorf("end of a session: %w", err)
		}
	}
	s.setCookie(ctx, w, sessionCookie, "", -time.Second)
	return nil
}

func (s *Server) sessionItem(n *session) table.Item {
	return table.Item{Key: s.sessionKey(n.secret), Type: "session", Doc: n, Expires: n.expires}
}

// The cookies: the session, and what forms are bound to before there is one;
// deviceCookie is the third.
const (
	sessionCookie = "svc-session"
	formCookie    = "svc-form"
)

// cookieName is the cookie's name with the prefix that keeps other hosts of
// the domain from setting it (RFC 6265bis section 4.1.3.2), where there is
// TLS; a browser refuses the prefix without it.
func (s *Server) cookieName(ctx context.Context, name string) string {
	if s.secure(ctx) {
		return "__Host-" + name
	}
	return name
}

func (s *Server) secure(ctx context.Context) bool { return strings.HasPrefix(s.base(ctx), "https://") }

// cookie gives a cookie's value, "" for one that is not of ours. Of two with
// the same name none is believed.
func (s *Server) cookie(r *http.Request, name string) string {
	found := r.CookiesNamed(s.cookieName(r.Context(), name))
	if len(found) != 1 || !s256.MatchString(found[0].Value) {
		return ""
	}
	return found[0].Value
}

// setCookie sets a cookie for the life; below zero removes it, zero keeps it
// until the browser ends.
func (s *Server) setCookie(ctx context.Context, w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(ctx, name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: s.secure(ctx), HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// form gives the token of a form that is bound to the browser's form cookie,
// which is set where it is not there yet.
func (s *Server) form(w http.ResponseWriter, r *http.Request, purpose, bound string) string {
	secret := s.cookie(r, formCookie)
	if secret == "" {
		secret = ids.Secret()
		s.setCookie(r.Context(), w, formCookie, secret, 0)
	}
	return formToken(secret, purpose, bound)
}

// formToken binds a form to the secret of a cookie, its purpose, and what it
// was shown for: another site can read none of them.
func formToken(secret, purpose, bound string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(purpose + "\x00" + bound))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// formGood says whether a posted form is the one that was shown.
func formGood(secret, purpose, bound, token string) bool {
	return secret != "" && hmac.Equal([]byte(formToken(secret, purpose, bound)), []byte(token))
}

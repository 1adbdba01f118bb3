package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

// The names of the cookies. They contain, in this order: the session's secret; the secret
// of the known browser (Device); the secret of forms before the sign-in; the slug of the
// company that a rider or driver chose; for each client, the audience of the person's last
// sign-in; and the tenants for which an operator got a code.
const (
	sessionCookie  = "svc-session"
	deviceCookie   = "svc-device"
	formCookie     = "svc-form"
	companyCookie  = "svc-company"
	audienceCookie = "svc-audience"
	operatorCookie = "svc-operator"
)

// Cookies reads and sets the server's cookies.
type Cookies struct {
	Secure bool // the public address is https
	// Key returns the key that authenticates the operator cookie, nil if there is none yet.
	Key func(context.Context) ([]byte, error)
}

// name returns the cookie's name. With TLS the name has the prefix that stops
// other hosts of the domain from setting the cookie (RFC 6265bis section
// 4.1.3.2). A browser rejects the prefix without TLS.
func (c Cookies) name(name string) string {
	if c.Secure {
		return "__Host-" + name
	}
	return name
}

// secretFormat matches what ids.Secret returns.
var secretFormat = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// get returns a cookie's value, or "" if the value does not have the form of a
// secret. If two cookies have the same name, get trusts neither and returns "".
func (c Cookies) get(r *http.Request, name string) string {
	found := r.CookiesNamed(c.name(name))
	if len(found) != 1 || !secretFormat.MatchString(found[0].Value) {
		return ""
	}
	return found[0].Value
}

// set sets a cookie for the given life. A negative life deletes the cookie. With
// a life of zero, the browser keeps the cookie until it closes.
func (c Cookies) set(w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: c.name(name), Value: value, Path: "/", MaxAge: int(life.Seconds()),
		Secure: c.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// HasForm reports whether the browser sent the form cookie. Without this
// cookie, FormValid rejects every form.
func (c Cookies) HasForm(r *http.Request) bool { return c.get(r, formCookie) != "" }

// companyLife is how long a browser remembers the company that a person chose.
const companyLife = 180 * 24 * time.Hour

var slugFormat = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// Company returns the short name of the company that was last chosen with the
// browser, or "". The name is no credential.
func (c Cookies) Company(r *http.Request) string {
	found, err := r.Cookie(c.name(companyCookie))
	if err != nil || !slugFormat.MatchString(found.Value) {
		return ""
	}
	return found.Value
}

// RememberCompany makes the browser remember a company's short name.
func (c Cookies) RememberCompany(w http.ResponseWriter, slug string) {
	c.set(w, companyCookie, slug, companyLife)
}

// mostChoices limits the clients in the audience cookie, and the tenants in the operator
// cookie.
const mostChoices = 8

var choiceFormat = regexp.MustCompile(`^[A-Za-z0-9_-]{8}\.(dashboard|rider|driver)$`)

// choices returns the entries of the audience cookie, newest first. An entry is the
// beginning of the hash of a client's id, and an audience. It is no credential.
func (c Cookies) choices(r *http.Request) []string {
	found, err := r.Cookie(c.name(audienceCookie))
	if err != nil {
		return nil
	}
	valid := slices.DeleteFunc(strings.Split(found.Value, "/"), func(one string) bool {
		return !choiceFormat.MatchString(one)
	})
	return valid[:min(len(valid), mostChoices)]
}

// choiceOf returns how a client's entry in the audience cookie begins.
func choiceOf(client string) string { return ids.Hash(client)[:8] + "." }

// Audience returns the audience with which the person last signed in to the client with
// this browser, or "".
func (c Cookies) Audience(r *http.Request, client string) authz.Audience {
	for _, one := range c.choices(r) {
		if audience, ok := strings.CutPrefix(one, choiceOf(client)); ok {
			return authz.Audience(audience)
		}
	}
	return ""
}

// RememberAudience makes the browser remember whether the person signs in to the client as
// operator, rider or driver.
func (c Cookies) RememberAudience(w http.ResponseWriter, r *http.Request, client string, audience authz.Audience) {
	others := slices.DeleteFunc(c.choices(r), func(one string) bool { return strings.HasPrefix(one, choiceOf(client)) })
	all := append([]string{choiceOf(client) + string(audience)}, others...)
	c.set(w, audienceCookie, strings.Join(all[:min(len(all), mostChoices)], "/"), companyLife)
}

// Operates reports whether an operator got a code for the tenant with this browser, and
// has not signed out since. It decides only whether the console's page may load that
// company's map. A cookie that the key did not authenticate names no tenant.
func (c Cookies) Operates(r *http.Request, tenantID string) (bool, error) {
	for _, one := range c.operated(r) {
		if id, _, _ := strings.Cut(one, "."); id == tenantID {
			key, err := c.Key(r.Context())
			return err == nil && key != nil && hmac.Equal([]byte(operatorOf(key, tenantID)), []byte(one)), err
		}
	}
	return false, nil
}

// operatorOf returns the entry of a tenant in the operator cookie: the tenant's id, and a
// message authentication code of the id with the key.
func operatorOf(key []byte, tenantID string) string {
	return tenantID + "." + formToken(string(key), operatorCookie, tenantID)
}

// operated returns the entries of the operator cookie, newest first, as the browser sent
// them.
func (c Cookies) operated(r *http.Request) []string {
	found, err := r.Cookie(c.name(operatorCookie))
	if err != nil {
		return nil
	}
	valid := slices.DeleteFunc(strings.Split(found.Value, "/"), func(one string) bool {
		id, mac, _ := strings.Cut(one, ".")
		return !ids.Valid(ids.Tenant, id) || !secretFormat.MatchString(mac)
	})
	return valid[:min(len(valid), mostChoices)]
}

// RememberOperator makes the browser remember that an operator got a code for the tenant.
func (c Cookies) RememberOperator(w http.ResponseWriter, r *http.Request, tenantID string) error {
	key, err := c.Key(r.Context())
	if err != nil || key == nil {
		return err
	}
	others := slices.DeleteFunc(c.operated(r), func(one string) bool { return strings.HasPrefix(one, tenantID+".") })
	all := append([]string{operatorOf(key, tenantID)}, others...)
	c.set(w, operatorCookie, strings.Join(all[:min(len(all), mostChoices)], "/"), companyLife)
	return nil
}

// FormToken returns a token for a form that is bound to the browser's form
// cookie, to the form's purpose and to what the page showed. If the request has
// no form cookie, FormToken sets one.
func (c Cookies) FormToken(w http.ResponseWriter, r *http.Request, purpose, bound string) string {
	secret := c.get(r, formCookie)
	if secret == "" {
		secret = ids.Secret()
		c.set(w, formCookie, secret, 0)
	}
	return formToken(secret, purpose, bound)
}

// FormValid reports whether FormToken returned this token to this browser, for
// the same purpose and content.
func (c Cookies) FormValid(r *http.Request, purpose, bound, token string) bool {
	return formValid(c.get(r, formCookie), purpose, bound, token)
}

// FormToken returns a token for a form that is bound to the session, to the
// form's purpose and to what the page showed.
func (n *Session) FormToken(purpose, bound string) string { return formToken(n.secret, purpose, bound) }

// FormValid reports whether the token is the session's own. Without a session no
// token is valid.
func (n *Session) FormValid(purpose, bound, token string) bool {
	return n != nil && formValid(n.secret, purpose, bound, token)
}

// formToken binds a form to the secret of a cookie, to its purpose and to what
// the page showed. Another site cannot compute the token, because it cannot read
// the secret.
func formToken(secret, purpose, bound string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(purpose + "\x00" + bound))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// formValid reports whether formToken returned the token. Without a secret none is valid.
func formValid(secret, purpose, bound, token string) bool {
	return secret != "" && hmac.Equal([]byte(formToken(secret, purpose, bound)), []byte(token))
}

// HostOf returns the request's host without port. Use it only for comparison,
// never to build an address.
func HostOf(r *http.Request) string {
	u := url.URL{Host: strings.ToLower(r.Host)}
	return strings.TrimSuffix(u.Hostname(), ".")
}

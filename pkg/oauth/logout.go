package oauth

import (
	"net/http"
	"net/url"
	"slices"

	"svc/pkg/oauth/page"
)

const logoutForm = "logout"

// logoutRequest is a request to sign out (OpenID Connect RP-Initiated Logout
// section 2).
type logoutRequest struct {
	params url.Values
	client Client // whose address to is
	to     string // where to go afterwards, "" for nowhere
	actor  string // whom the hint names, "" for nobody
}

// logoutPage answers GET /oauth/logout. The session ends at once for a client
// that shows whose it is; anybody else's link asks the person.
func (s *Server) logoutPage(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		if len(r.URL.RawQuery) > longestQuery {
			return badRequest("request", "the request is too long")
		}
		q, err := s.openLogout(r, r.URL.Query())
		if err != nil {
			return err
		}
		n, err := s.session(r.Context(), r)
		if err != nil {
			return err
		}
		if n != nil && q.actor != n.Actor {
			frame, err := s.sessionFrame(r.Context(), n)
			if err != nil {
				return err
			}
			hidden := map[string]string{}
			for name := range q.params {
				hidden[name] = q.params.Get(name)
			}
			frame.FormTo = formTo(q.client, q.to)
			return s.show(w, r, http.StatusOK, frame, page.Logout{Action: "logout", CSRF: formToken(n.secret, logoutForm, q.params.Encode()),
				Account: n.Email, Hidden: hidden})
		}
		return s.signOut(w, r, q)
	})
}

// logout answers POST /oauth/logout: the page's own form, or a client's
// request, which becomes the same one by GET.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		form, err := readForm(r)
		if err != nil {
			return err
		}
		token := form.Get("csrf")
		q, err := s.openLogout(r, form)
		if err != nil {
			return err
		}
		n, err := s.session(r.Context(), r)
		if err != nil {
			return err
		}
		if n == nil || !formGood(n.secret, logoutForm, q.params.Encode(), token) {
			return redirect(w, http.StatusSeeOther, "logout?"+q.params.Encode())
		}
		return s.signOut(w, r, q)
	})
}

// openLogout reads the request. An address to go to that is not registered for
// the client is a page: nobody is sent there.
func (s *Server) openLogout(r *http.Request, in url.Values) (logoutRequest, error) {
	ctx, q := r.Context(), logoutRequest{params: url.Values{}}
	for _, name := range []string{"id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales"} {
		if len(in[name]) > 1 {
			return q, badRequest("request", name+" is repeated")
		}
		if value := in.Get(name); value != "" {
			q.params.Set(name, value)
		}
	}
	clientID := q.params.Get("client_id")
	if hint := q.params.Get("id_token_hint"); hint != "" {
		claims, err := s.keys.VerifyID(ctx, hint)
		if err != nil {
			return q, badRequest("request", "id_token_hint is not an id_token of this issuer")
		}
		audience, _ := claims["aud"].(string)
		if clientID != "" && clientID != audience {
			return q, badRequest("request", "id_token_hint is not the client's")
		}
		clientID = audience
		q.actor, _ = claims["sub"].(string)
	}
	to := q.params.Get("post_logout_redirect_uri")
	if to == "" {
		return q, nil
	}
	c, err := s.client(ctx, clientID)
	if err == errNoClient { //nolint:errorlint // never wrapped
		return q, badRequest("client", "client_id is not known")
	}
	if err != nil {
		return q, err
	}
	if !slices.Contains(c.LogoutURIs, to) {
		return q, badRequest("redirect", "post_logout_redirect_uri is not registered")
	}
	q.client, q.to = c, to
	return q, nil
}

// signOut ends the session and goes where the client asked to.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, q logoutRequest) error {
	if err := s.end(r.Context(), w, r); err != nil {
		return err
	}
	if q.to == "" {
		return s.show(w, r, http.StatusOK, page.Frame{}, page.Message{Kind: "signedout"})
	}
	target, err := url.Parse(q.to)
	if err != nil {
		return badRequest("redirect", "post_logout_redirect_uri is malformed")
	}
	if state := q.params.Get("state"); state != "" {
		query := target.Query()
		query.Set("state", state)
		target.RawQuery = query.Encode()
	}
	return s.leave(w, r, page.Frame{}, q.client, target.String(), r.Method == http.MethodPost)
}

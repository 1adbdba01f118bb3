package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/oauth"
)

// suite is a service with one actor of each audience in metro.
type suite struct {
	*apptest.Service
	actors map[authz.Audience]apptest.Actor
}

func newSuite(t *testing.T) *suite {
	s := &suite{Service: apptest.New(t), actors: map[authz.Audience]apptest.Actor{}}
	s.actors[authz.Dashboard] = s.Operator(t, "metro", "olga")
	s.actors[authz.Rider] = s.Rider(t, "metro", "rosa")
	s.actors[authz.Driver] = s.Driver(t, "metro", "dan")
	return s
}

// request returns a request to the row. It passes the access checks if the token
// does; the resource in its path does not exist.
func request(r api.Row, token string) apptest.Request {
	path := strings.NewReplacer("{id}", "trp_"+strings.Repeat("0", 26)).Replace(r.Path)
	body := ""
	if r.Method != http.MethodGet {
		body = "{}"
	}
	return apptest.Request{Method: r.Method, Path: path, Token: token, Body: body}
}

// examples returns the document's example of each row's body, by the row's id; "{}"
// for a row without one.
var examples = sync.OnceValue(func() map[string]string {
	var doc struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Body struct {
				Content map[string]struct{ Example json.RawMessage }
			} `json:"requestBody"`
		}
	}
	if err := json.Unmarshal(svc.OpenAPI, &doc); err != nil {
		panic(err)
	}
	out := map[string]string{}
	for _, methods := range doc.Paths {
		for _, operation := range methods {
			out[operation.ID] = cmp.Or(string(operation.Body.Content["application/json"].Example), "{}")
		}
	}
	return out
})

// other returns a different scope of the audience.
func other(audience authz.Audience, scope string) string {
	for _, s := range authz.Scopes(audience) {
		rule, _ := authz.FindRule(s)
		if s != scope && rule.Audience == audience {
			return s
		}
	}
	panic("no other scope")
}

func (s *suite) expect(t *testing.T, r apptest.Request, status int, word string) {
	t.Helper()
	a := s.Do(t, r)
	if a.Status != status || a.Code() != word {
		t.Errorf("%s %s: %d %s, want %d %s: %s", r.Method, r.Path, a.Status, a.Code(), status, word, a.Body)
	}
	if a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", r.Method, r.Path)
	}
	challenge := a.Header.Get("WWW-Authenticate")
	switch status {
	case http.StatusUnauthorized:
		if !strings.HasPrefix(challenge, `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource"`) ||
			(r.Token != "") != strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s %s: WWW-Authenticate: %s", r.Method, r.Path, challenge)
		}
	case http.StatusForbidden:
		if (word == "insufficient_scope") != strings.HasPrefix(challenge, `Bearer error="insufficient_scope"`) {
			t.Errorf("%s %s: WWW-Authenticate: %s", r.Method, r.Path, challenge)
		}
	}
}

// TestEveryRowIsGuarded checks every endpoint row against the six checks.
func TestEveryRowIsGuarded(t *testing.T) {
	s := newSuite(t)
	rows := app.Rows(s.DB)
	good := s.Token(t, s.actors[authz.Rider])
	parts := strings.Split(good, ".")
	tampered := parts[0] + "." + parts[1] + "." + parts[2][:20] + flip(parts[2][20:21]) + parts[2][21:]
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			s.expect(t, request(r, ""), 401, "unauthorized")
			for name, token := range map[string]string{"signature": tampered, "form": "abc", "none": unsigned(parts[1]),
				"cut": parts[0] + "." + parts[1]} {
				t.Run(name, func(t *testing.T) { s.expect(t, request(r, token), 401, "unauthorized") })
			}
			s.audiences(t, r)
			for audience, scope := range r.Policy.Scopes {
				t.Run(string(audience), func(t *testing.T) { s.admitted(t, r, audience, scope) })
			}
		})
	}
}

// audiences checks that every audience without access is rejected, even with
// all scopes and permissions.
func (s *suite) audiences(t *testing.T, r api.Row) {
	for _, audience := range authz.Audiences {
		if _, in := r.Policy.Scopes[audience]; in || (r.ID == "svc_my_trips" && audience == authz.Dashboard) {
			continue
		}
		s.expect(t, request(r, s.Token(t, s.actors[audience])), 403, "insufficient_scope")
	}
}

// admitted checks that an audience with access passes with all rights, and is
// rejected if the scope, the permission or the feature is missing.
func (s *suite) admitted(t *testing.T, r api.Row, audience authz.Audience, scope string) {
	actor := s.actors[audience]
	all := request(r, s.Token(t, actor))
	if a := s.Do(t, all); a.Status == 401 || a.Status == 403 || a.Status >= 500 {
		t.Errorf("with everything: %d %s", a.Status, a.Body)
	}
	if scope != "" {
		s.expect(t, request(r, s.Token(t, actor, other(audience, scope))), 403, "insufficient_scope")
	}
	if audience == authz.Dashboard && r.Policy.Permission != "" {
		store := person.Store{DB: s.DB}
		_, err := store.Revoke(context.Background(), s.Tenant("metro"), s.By(), actor.ID, r.Policy.Permission)
		testkit.Must(t, err)
		s.expect(t, all, 403, "forbidden")
		_, err = store.Grant(context.Background(), s.Tenant("metro"), s.By(), actor.ID, r.Policy.Permission)
		testkit.Must(t, err)
	}
	if r.Policy.Feature != "" {
		s.Change(t, "metro", func(n *tenant.Tenant) { n.TaxiEnabled, n.DeliveryEnabled = false, false })
		s.expect(t, all, 403, "feature_disabled")
		s.Change(t, "metro", func(n *tenant.Tenant) { n.TaxiEnabled, n.DeliveryEnabled = true, true })
	}
}

// TestEndedAccessIsRefusedAtOnce: after every kind of event that ends a token,
// the next request on every row is rejected. The response names the first
// failed check.
func TestEndedAccessIsRefusedAtOnce(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	ctx, metro := context.Background(), s.Tenant("metro")
	ends := map[string]func(t *testing.T, a apptest.Actor, jti, client string) (undo func()){
		"revoked": func(t *testing.T, _ apptest.Actor, jti, _ string) func() {
			testkit.Must(t, s.Runtime.AuthorizationServer().RevokeToken(ctx, metro, s.By(), jti))
			return nil
		},
		"actor disabled": func(t *testing.T, a apptest.Actor, _, _ string) func() {
			set := func(disabled bool) {
				switch a.Audience {
				case authz.Dashboard:
					_, err := person.Store{DB: s.DB}.Disable(ctx, metro, s.By(), a.ID, disabled)
					testkit.Must(t, err)
				case authz.Rider:
					_, err := customer.Store.Change(ctx, metro, s.By(), a.ID,
						func(r *customer.Record) error { r.Disabled = disabled; return nil })
					testkit.Must(t, err)
				case authz.Driver:
					_, err := driver.Store.Change(ctx, metro, s.By(), a.ID,
						func(r *driver.Record) error { r.Disabled = disabled; return nil })
					testkit.Must(t, err)
				}
			}
			set(true)
			if a.Audience == authz.Dashboard { // the tokens of a member end for good
				t.Cleanup(func() { set(false) })
				return nil
			}
			return func() { set(false) }
		},
		"tenant disabled": func(t *testing.T, _ apptest.Actor, _, _ string) func() {
			s.Change(t, "metro", func(n *tenant.Tenant) { n.Disabled = true })
			return func() { s.Change(t, "metro", func(n *tenant.Tenant) { n.Disabled = false }) }
		},
		"expired": func(_ *testing.T, _ apptest.Actor, _, _ string) func() {
			s.Clock.Advance(time.Hour + time.Second)
			return nil
		},
	}
	for name, end := range ends {
		for _, audience := range authz.Audiences {
			t.Run(name+" "+string(audience), func(t *testing.T) {
				tokens := s.SignIn(t, s.actors[audience])
				claims, err := s.Runtime.Keys().Verify(ctx, tokens.AccessToken)
				testkit.Must(t, err)
				probe := apptest.Request{Method: http.MethodGet, Path: "/api/v1/me", Token: tokens.AccessToken}
				s.Do(t, probe).Must(t, 200)
				undo := end(t, s.actors[audience], claims.ID, claims.ClientID)
				for _, r := range app.Rows(s.DB) {
					s.expect(t, request(r, tokens.AccessToken), 401, "unauthorized")
				}
				if undo != nil {
					undo()
					s.Do(t, probe).Must(t, 200)
				}
			})
		}
	}
}

// TestBrokenStore: while the table is unreachable, every row returns a 503 in
// our format without internal details. Afterwards every row works again.
func TestBrokenStore(t *testing.T) {
	s := newSuite(t)
	for _, audience := range authz.Audiences {
		s.Token(t, s.actors[audience])
	}
	s.Get(t, s.Token(t, s.actors[authz.Rider]), "/api/v1/me").Must(t, 200) // the key set is read
	each := func(check func(id string, a apptest.Answer)) {
		var group sync.WaitGroup
		for _, r := range app.Rows(s.DB) {
			for audience := range r.Policy.Scopes {
				group.Go(func() { check(r.ID, s.Do(t, request(r, s.Token(t, s.actors[audience])))) })
			}
		}
		group.Wait()
	}
	s.Wire.Break()
	each(func(id string, a apptest.Answer) {
		if a.Status != 503 || a.Code() != "temporarily_unavailable" || a.Header.Get("Retry-After") == "" ||
			strings.Contains(string(a.Body), "wire") {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
	})
	s.Wire.Restore()
	each(func(id string, a apptest.Answer) {
		if a.Status >= 500 {
			t.Errorf("%s afterwards: %d %s", id, a.Status, a.Body)
		}
	})
}

// TestFirstFailedCheckAnswers: the first failed check, in the specified order,
// decides the response.
func TestFirstFailedCheckAnswers(t *testing.T) {
	s := newSuite(t)
	ctx, metro := context.Background(), s.Tenant("metro")
	op := s.actors[authz.Dashboard]
	all, few := s.Token(t, op), s.Token(t, op, "tenant.trips:read")
	orders := func(token string) apptest.Request {
		return apptest.Request{Method: http.MethodGet, Path: "/api/v1/orders?limit=0&nonsense=1", Token: token}
	}
	s.expect(t, orders(all), 400, "invalid_request")
	s.Change(t, "metro", func(n *tenant.Tenant) { n.DeliveryEnabled = false })
	s.expect(t, orders(all), 403, "feature_disabled")
	_, err := person.Store{DB: s.DB}.Revoke(ctx, metro, s.By(), op.ID, "VIEW_FOOD_ORDERS")
	testkit.Must(t, err)
	s.expect(t, orders(all), 403, "forbidden")
	s.expect(t, orders(few), 403, "insufficient_scope")
	s.expect(t, orders(s.Token(t, s.actors[authz.Rider])), 403, "insufficient_scope")
	claims, err := s.Runtime.Keys().Verify(ctx, few)
	testkit.Must(t, err)
	testkit.Must(t, s.Runtime.AuthorizationServer().RevokeToken(ctx, metro, s.By(), claims.ID))
	s.expect(t, orders(few), 401, "unauthorized")
	list, _, err := s.Runtime.AuthorizationServer().Tokens(ctx, metro, "", 100)
	testkit.Must(t, err)
	if slices.ContainsFunc(list, func(k oauth.Token) bool { return k.ID == claims.ID }) {
		t.Error("the revoked token is listed as live")
	}
}

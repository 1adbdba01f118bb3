package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

// TestRepeatedIsWhole: on every POST, a repeated key gets the first response whole:
// status, body and ETag, also of a request that was refused.
func TestRepeatedIsWhole(t *testing.T) {
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Still(t)
	whole, tagged := 0, 0
	for _, r := range app.Rows(s.DB) {
		if r.Method != http.MethodPost || strings.Contains(r.Path, "/feedback/{") {
			continue
		}
		for audience := range r.Policy.Scopes {
			q := keyed(metro.tokens[audience], pathOf(t, metro, r), metro.body(r), "whole-"+r.ID)
			first := s.Do(t, q)
			if first.Status >= 300 && first.Status != 404 && first.Status != 409 {
				continue // not stored
			}
			again := s.Do(t, q)
			if again.Status != first.Status || string(again.Body) != string(first.Body) ||
				again.Header.Get("ETag") != first.Header.Get("ETag") || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: %d %q %s, and again %d %q %s", r.ID, first.Status, first.Header.Get("ETag"), first.Body,
					again.Status, again.Header.Get("ETag"), again.Body)
			}
			if whole++; first.Header.Get("ETag") != "" {
				tagged++
			}
		}
	}
	if whole < 30 || tagged < 5 {
		t.Errorf("%d responses were repeated, %d with an ETag", whole, tagged)
	}
}

// sealedAnswer is a request whose response shows a secret.
type sealedAnswer struct {
	*suite
	request apptest.Request
	first   apptest.Answer
}

func (s *suite) sealedAnswers(t *testing.T) map[string]sealedAnswer {
	t.Helper()
	token := s.Token(t, s.actors[authz.Dashboard])
	create := keyed(token, "/api/v1/webhooks", `{"url":"https://hooks.metro.example/a","description":"<b> & \u00e9"}`,
		"create")
	made := sealedAnswer{s, create, s.Do(t, create).Must(t, 201)}
	id := apptest.JSON[struct{ ID string }](t, made.first).ID
	rotate := keyed(token, "/api/v1/webhooks/"+id+"/rotate", "", "rotate")
	return map[string]sealedAnswer{"creation": made, "rotation": {s, rotate, s.Do(t, rotate).Must(t, 200)}}
}

func (a sealedAnswer) secret(t *testing.T) string {
	t.Helper()
	secret := apptest.JSON[struct{ Secret string }](t, a.first).Secret
	if !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("no secret: %s", a.first.Body)
	}
	return secret
}

// TestRepeatedSecret: a repeated key shows the secret again, to the same client and
// actor for as long as the record lives, and to nobody else. The table has it only
// sealed, under a name of the record.
func TestRepeatedSecret(t *testing.T) {
	s := newSuite(t)
	operator, metro := s.actors[authz.Dashboard], s.Tenant("metro")
	s.setAgentActions(t, authz.AgentsAll)
	others := map[string]string{"another client": s.SignIn(t, operator).AccessToken,
		"an agent at the API": s.SignInFor(t, operator, "/mcp /api/v1").AccessToken,
		"another operator":    s.Token(t, s.Operator(t, "metro", "otto"))}
	answers := s.sealedAnswers(t)
	s.Clock.Advance(50 * time.Minute)
	for name, a := range answers {
		secret := a.secret(t)
		for who, token := range others {
			q := a.request
			q.Token = token
			if other := s.Do(t, q); strings.Contains(string(other.Body), secret) ||
				(who != "another operator") != (other.Header.Get("Idempotent-Replayed") == "true") {
				t.Errorf("%s: %s got %d %s", name, who, other.Status, other.Body)
			}
		}
		again := s.Do(t, a.request).Must(t, a.first.Status)
		if string(again.Body) != string(a.first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s, and again %s", name, a.first.Body, again.Body)
		}
		it, err := metro.Get(t.Context(), api.AnswerKey(metro, operator.ID, a.request.Header["Idempotency-Key"]))
		testkit.Must(t, err)
		if it.Text("sealed") == "" || strings.Contains(it.Text("body"), "whsec_") {
			t.Errorf("%s: stored %q %q", name, it.Text("body"), it.Text("sealed"))
		}
	}
	agent := keyed(others["an agent at the API"], "/api/v1/webhooks", `{"url":"https://hooks.metro.example/b"}`, "agent")
	for range 2 {
		if a := s.Do(t, agent).Must(t, 201); strings.Contains(string(a.Body), "whsec_") {
			t.Errorf("an agent saw %s", a.Body)
		}
	}
}

// shut is a key service that denies access.
type shut struct{}

func (shut) Seal(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("denied") }
func (shut) Open(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("denied") }

// TestRepeatedSecretWithoutKeyService: without the key service, a repeated request gets a
// 503 and never a response that lacks its secret, and a first request changes nothing.
func TestRepeatedSecretWithoutKeyService(t *testing.T) {
	s := newSuite(t)
	answers := s.sealedAnswers(t)
	rt := &app.Runtime{DB: s.DB, BaseURL: s.URL, Sealer: s.Runtime.Sealer, Answers: shut{}, Now: s.Clock.Now,
		Logger: slog.New(slog.DiscardHandler)}
	handler, err := rt.Handler(app.Settings)
	testkit.Must(t, err)
	send := func(q apptest.Request) int {
		r := httptest.NewRequest(q.Method, q.Path, strings.NewReader(q.Body))
		r.Header.Set("Authorization", "Bearer "+q.Token)
		for name, value := range q.Header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	token := s.Token(t, s.actors[authz.Dashboard])
	created := answers["creation"].request
	fresh := keyed(token, created.Path, created.Body, "fresh")
	for name, q := range map[string]apptest.Request{"a repeated creation": created, "a first creation": fresh,
		"a repeated rotation": answers["rotation"].request} {
		if got := send(q); got != http.StatusServiceUnavailable {
			t.Errorf("%s: %d, want 503", name, got)
		}
	}
	if n := len(apptest.JSON[struct{ Items []any }](t, s.Get(t, token, "/api/v1/webhooks").Must(t, 200)).Items); n != 1 {
		t.Errorf("%d endpoints, want the one of before", n)
	}
	again := s.Do(t, created).Must(t, 201)
	if string(again.Body) != string(answers["creation"].first.Body) {
		t.Errorf("when it is back: %s", again.Body)
	}
}

package app_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/e2e"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/base/phone/plans"
	"svc/pkg/local/demo"
	"svc/pkg/local/service"
)

// TestEveryChangeMeetsAConflict: each transaction of a request meets a conflict,
// and the next attempt does not. No caller notices, because no transaction is
// sent without the one retry. The stream functions are tested in their packages. Tool calls
// send the same transactions.
func TestEveryChangeMeetsAConflict(t *testing.T) {
	testkit.Long(t)
	wire := &testkit.Wire{}
	rt := &app.Runtime{Sealer: signing.NewSealer(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		ReadPhone: plans.Read}
	running, err := service.Start(t.Context(), service.Options{Data: t.TempDir(), Memory: true, Table: testkit.Fresh(),
		Template: testkit.Template(240), Engine: io.Discard, Log: slog.New(slog.DiscardHandler),
		Build: func(ctx context.Context, at service.Environment) (service.App, error) {
			return localapp.Build(ctx, at, rt, wire.Over)
		}})
	testkit.Must(t, err)
	defer running.Close()
	_, err = demo.Load(t.Context(), rt.DB, time.Now())
	testkit.Must(t, err)
	testkit.Must(t, running.Poller.Drain(t.Context()))
	wire.Conflicts(1, `"RECEIPT`, `"COUNT`, `#COUNT`)
	e2e.Run(t, e2e.Target{BaseURL: running.BaseURL, Transport: noFailure{t}, FewTools: true, Patience: 10 * time.Minute})
}

// noFailure fails the test if the service responds with a 5xx.
type noFailure struct{ t *testing.T }

// RoundTrip implements http.RoundTripper.
func (n noFailure) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && res.StatusCode >= 500 {
		n.t.Errorf("%s %s: %d", r.Method, r.URL.Path, res.StatusCode)
	}
	return res, err
}

// TestConflictAfterAnUnknownOutcome: the first attempt of a transaction has no
// known outcome, its retry meets a conflict, and then the first attempt arrives.
// The caller must not hear that somebody else was faster.
func TestConflictAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	rider, driver := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.actors[authz.Driver])
	t.Run("accept", func(t *testing.T) {
		trip := apptest.JSON[struct{ ID string }](t, s.Post(t, rider, "/api/v1/me/trips", ride).Must(t, 201)).ID
		accept := keyed(driver, "/api/v1/me/trips/"+trip+"/accept", "", "late")
		s.Still(t)
		s.Wire.Late()
		if a := s.Do(t, accept); a.Status != 503 || a.Code() != "outcome_unknown" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.Do(t, accept).Must(t, 200); a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the trip was accepted again: %s", a.Body)
		}
	})
	t.Run("a ride", func(t *testing.T) {
		s.Wire.Late()
		request := keyed(rider, "/api/v1/me/trips", ride, "late")
		if a := s.Do(t, request); a.Status != 503 || a.Code() != "outcome_unknown" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.Do(t, request).Must(t, 201); a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the ride was made again: %s", a.Body)
		}
	})
	t.Run("refresh", func(t *testing.T) {
		tokens := s.SignIn(t, s.actors[authz.Rider])
		s.Wire.Late()
		a := s.Do(t, posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", tokens.RefreshToken,
			"client_id", tokens.ClientID))
		if a.Status != 503 || a.Code() != "temporarily_unavailable" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		s.Get(t, tokens.AccessToken, "/api/v1/me").Must(t, 200) // nothing was revoked
	})
}

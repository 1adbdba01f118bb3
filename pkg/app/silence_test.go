package app_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth/flow"
)

func newImpatientSuite(t *testing.T) *suite {
	s := &suite{Service: apptest.With(t, apptest.Options{Impatient: true}), actors: map[authz.Audience]apptest.Actor{}}
	s.actors[authz.Dashboard] = s.Operator(t, "metro", "olga")
	s.actors[authz.Rider] = s.Rider(t, "metro", "rosa")
	return s
}

// inTime sends a request and fails the test unless the function responds before
// its timeout, at which the gateway would return 500. Of the 5xx responses,
// only a 503 with Retry-After is allowed.
func (s *suite) inTime(t *testing.T, r apptest.Request) apptest.Answer {
	t.Helper()
	a := s.Do(t, r)
	if a.Status >= 500 && (a.Status != 503 || a.Header.Get("Retry-After") == "") || leaks(a) {
		t.Errorf("%s %s: %d %v %s", r.Method, r.Path, a.Status, a.Header, a.Body)
	}
	return a
}

// patiently repeats a request while its response is a 503. On a busy machine
// the engine itself may miss the time limits of the template.
func (s *suite) patiently(t *testing.T, r apptest.Request) apptest.Answer {
	t.Helper()
	a := s.inTime(t, r)
	for n := 0; a.Status == 503 && n < 600; n++ {
		time.Sleep(time.Second)
		a = s.inTime(t, r)
	}
	return a
}

// read is a GET request.
func read(token, path string) apptest.Request {
	return apptest.Request{Method: "GET", Path: path, Token: token}
}

// TestSilentTable: the table does not respond to one request of ten. It executes
// half of those.
func TestSilentTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel() // it waits for time limits
	s := newImpatientSuite(t)
	rider, fleet := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.actors[authz.Dashboard])
	client, err := flow.Register(t.Context(), flow.Options{BaseURL: s.URL, Audience: "rider"})
	testkit.Must(t, err)
	authorize := "/oauth/authorize?" + url.Values{"client_id": {client.ID}, "redirect_uri": {flow.Redirect},
		"response_type": {"code"}}.Encode()
	const workers, rounds = 4, 8
	tokens := make([]flow.Tokens, workers)
	for i := range tokens {
		tokens[i] = s.SignIn(t, s.actors[authz.Rider])
	}
	s.Wire.Silence(t, testkit.Silence{Every: 10})
	var group sync.WaitGroup
	good, refused := make([]int, workers), make([]int, workers)
	for i := range workers {
		group.Go(func() {
			for n := range rounds {
				for _, r := range []apptest.Request{
					{Method: "GET", Path: "/api/v1/me", Token: rider},
					{Method: "GET", Path: "/api/v1/trips?limit=5", Token: fleet},
					keyed(rider, "/api/v1/me/trips", ride, fmt.Sprintf("key-%d-%d", i, n)),
					{Method: "GET", Path: authorize},
					posted("/oauth/introspect", "token", tokens[i].AccessToken, "client_id", tokens[i].ClientID),
				} {
					if a := s.inTime(t, r); a.Status < 400 {
						good[i]++
					} else if a.Status == 503 {
						refused[i]++
					}
				}
			}
		})
	}
	group.Wait()
	s.Wire.Restore()
	sum := func(counts []int) (n int) {
		for _, c := range counts {
			n += c
		}
		return n
	}
	t.Logf("%d good, %d refused", sum(good), sum(refused))
	if sum(good) < sum(refused) {
		t.Errorf("%d good answers, %d refused", sum(good), sum(refused))
	}
	for i := range workers {
		for n := range rounds { // whatever the response was, a retry with the same key shows the result; the ride exists once
			s.patiently(t, keyed(rider, "/api/v1/me/trips", ride, fmt.Sprintf("key-%d-%d", i, n))).Must(t, 201)
		}
	}
	trips := apptest.JSON[struct{ Items []struct{ ID string } }](t,
		s.patiently(t, read(rider, "/api/v1/me/trips?limit=100")).Must(t, 200))
	if len(trips.Items) != workers*rounds {
		t.Errorf("%d rides of %d keys", len(trips.Items), workers*rounds)
	}
}

// TestNoAnswerAtAll: if the table never responds, a caller waits some seconds,
// not the function's complete timeout.
func TestNoAnswerAtAll(t *testing.T) {
	testkit.Long(t)
	t.Parallel() // it waits for time limits
	s := newImpatientSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	s.patiently(t, read(rider, "/api/v1/me")).Must(t, 200)
	s.Wire.Silence(t, testkit.Silence{Every: 1})
	var group sync.WaitGroup
	for _, r := range []apptest.Request{{Method: "GET", Path: "/api/v1/me", Token: rider},
		keyed(rider, "/api/v1/me/trips", ride, "never")} {
		group.Go(func() {
			if a := s.inTime(t, r); a.Status != 503 || a.Code() != "temporarily_unavailable" {
				t.Errorf("%s: %d %s", r.Path, a.Status, a.Body)
			}
		})
	}
	group.Wait()
}

// TestUnknownOutcome: a change without a response from the table may have been
// made. The response says so, and a retry with the Idempotency-Key shows the
// result.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, carryOut := range []bool{true, false} {
		t.Run(fmt.Sprint("carried out: ", carryOut), func(t *testing.T) {
			t.Parallel() // it waits for time limits
			s := newImpatientSuite(t)
			rider := s.Token(t, s.actors[authz.Rider])
			s.patiently(t, read(rider, "/api/v1/me")).Must(t, 200)
			s.Wire.Silence(t, testkit.Silence{Every: 1, Operation: "TransactWriteItems", CarryOut: carryOut})
			r := keyed(rider, "/api/v1/me/trips", ride, "unknown")
			if a := s.inTime(t, r); a.Status != 503 || a.Code() != "outcome_unknown" ||
				!strings.Contains(string(a.Body), "Idempotency-Key") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			s.Wire.Restore()
			a := s.patiently(t, r).Must(t, 201)
			if replayed := a.Header.Get("Idempotent-Replayed") != ""; carryOut && !replayed {
				t.Errorf("the ride was made again: %s", a.Body)
			}
		})
	}
}

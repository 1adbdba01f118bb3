package app_test

import (
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// TestEveryRowInTwoRoundTrips: every row answers its own people in at most two round
// trips to the table, also with an Idempotency-Key.
func TestEveryRowInTwoRoundTrips(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Drain(t)
	s.Still(t)
	s.Wire.Rounds(true)
	answered := map[int]int{}
	for _, r := range app.Rows(s.DB) {
		path := r.Path
		if strings.Contains(path, "{") && !strings.HasPrefix(path, "/api/v1/feedback/") {
			path = pathOf(t, metro, r)
		}
		for audience := range r.Policy.Scopes {
			q := apptest.Request{Method: r.Method, Path: path, Token: metro.tokens[audience], Body: metro.body(r)}
			if r.Method == http.MethodPost {
				q.Header = map[string]string{"Idempotency-Key": r.ID + string(audience)}
			}
			a := s.Do(t, q)
			answered[a.Status/100]++
			if u := a.Seen.Usage; u.Sequential > 2 || u.Sequential == 0 || a.Status >= 500 {
				t.Errorf("%s as %s: %d in %d round trips: %.200s", r.ID, audience, a.Status, u.Sequential, a.Body)
			}
		}
	}
	if answered[2] < 60 {
		t.Errorf("only %v succeeded", answered)
	}
}

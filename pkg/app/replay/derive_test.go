package replay_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

// callers are the demo's people who call an operation, unless the list names
// another person.
var callers = map[authz.Audience]string{authz.Dashboard: boss, authz.Rider: rider1, authz.Driver: drives}

// requests returns all events of events/api in the order in which they are
// sent: first one for each row that can be read without a parameter, then the
// list. So the derived events see the demo before the list changes it.
func requests(t *testing.T) []request {
	t.Helper()
	var out []request
	for _, r := range app.Rows(nil) {
		switch {
		case slices.ContainsFunc(listed, func(q request) bool { return q.name == r.ID }):
		case r.Method == http.MethodGet && !strings.Contains(r.Path, "{"):
			out = append(out, request{name: r.ID, person: caller(r), method: r.Method, path: r.Path})
		default:
			t.Errorf("%s has no event: add a request named %q that succeeds to listed in pkg/app/replay/cases_test.go", r.ID,
				r.ID)
		}
	}
	return append(out, listed...)
}

// caller returns the person of the first audience that the row permits:
// operator, rider, driver.
func caller(r api.Row) string {
	for _, audience := range authz.Audiences {
		if r.Policy.Scopes[audience] != "" {
			return callers[audience]
		}
	}
	return boss
}

package replay_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/app/replay"
	"svc/pkg/edge/api"
)

// request is one event of events/api. Its name is the operation it calls and,
// after a hyphen, the variant; the event named as the operation alone succeeds.
type request struct {
	name, person, method, path, query, body string
	header                                  map[string]string
}

const (
	boss   = "operator@metro.example"
	rider1 = "rider1@metro.example"
	drives = "driver1@metro.example"
)

// listed returns the request of a listed event.
func listed(r replay.Request) request {
	var with []string
	for name, value := range r.With {
		with = append(with, "{"+name+"}", value)
	}
	fill := strings.NewReplacer(with...)
	method, target, _ := strings.Cut(fill.Replace(r.Send), " ")
	path, query, _ := strings.Cut(target, "?")
	return request{r.Event, cmp.Or(r.Person, callers[r.As]), method, path, query, fill.Replace(r.Body), r.Header}
}

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
		case replay.Listed().Steps[r.ID].Event != "":
		case r.Method == http.MethodGet && !strings.Contains(r.Path, "{"):
			out = append(out, request{name: r.ID, person: caller(r), method: r.Method, path: r.Path})
		default:
			t.Errorf("%s has no event: add a request named %q that succeeds to pkg/app/replay/requests.yaml", r.ID,
				r.ID)
		}
	}
	for _, r := range replay.Listed().Requests {
		if r.Event != "" {
			out = append(out, listed(r))
		}
	}
	return out
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

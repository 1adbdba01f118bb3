package replay_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
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
// sent. First come those that derived returns, then the list. So the derived events
// see the demo before the list changes it.
func requests(t *testing.T) []request {
	t.Helper()
	unlisted := slices.DeleteFunc(app.Rows(nil), func(r api.Row) bool {
		return replay.Listed().Steps[r.ID].Event != ""
	})
	out := derived(t, unlisted)
	for _, r := range unlisted {
		if !slices.ContainsFunc(out, func(q request) bool { return q.name == r.ID }) {
			t.Errorf("%s has no event: add a request named %q that succeeds to internal/test/replay/requests.yaml", r.ID,
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

// derived returns the events of rows: creations, whose bodies are the examples of their
// members, then reads, then reads and removals of what was created.
func derived(t *testing.T, rows []api.Row) (out []request) {
	t.Helper()
	created := map[string]string{} // operation id by path
	for _, r := range rows {
		if r.Status == http.StatusCreated && !strings.Contains(r.Path, "{") {
			created[r.Path] = r.ID
			out = append(out, request{name: r.ID, person: caller(r), method: r.Method, path: r.Path, body: exampleOf(t, r)})
		}
	}
	add := func(method string, one bool) {
		for _, r := range rows {
			path, isOne := strings.CutSuffix(r.Path, "/{id}")
			if r.Method != method || isOne != one || strings.Contains(path, "{") || one && created[path] == "" {
				continue
			}
			if one {
				path += "/{{" + created[path] + "}}"
			}
			out = append(out, request{name: r.ID, person: caller(r), method: method, path: path})
		}
	}
	add(http.MethodGet, false)
	add(http.MethodGet, true)
	add(http.MethodDelete, true)
	return out
}

// exampleOf returns the row's body with the example of each member that has one.
func exampleOf(t *testing.T, r api.Row) string {
	t.Helper()
	server, err := api.New(api.Config{BaseURL: "https://api.svc.example"}, r)
	testkit.Must(t, err)
	doc := server.OpenAPI()
	var schema *huma.Schema
	if body := doc.Paths[r.Path].Post.RequestBody; body != nil {
		schema = body.Content["application/json"].Schema
	}
	if schema == nil {
		return ""
	}
	if schema.Ref != "" {
		schema = doc.Components.Schemas.SchemaFromRef(schema.Ref)
	}
	members := map[string]any{}
	for name, member := range schema.Properties {
		if len(member.Examples) > 0 {
			members[name] = member.Examples[0]
		} else if slices.Contains(schema.Required, name) {
			t.Errorf("%s: the member %s needs an example, or the row a request in internal/test/replay/requests.yaml",
				r.ID, name)
		}
	}
	text, err := json.Marshal(members)
	testkit.Must(t, err)
	return string(text)
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

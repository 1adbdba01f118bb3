package emulator_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoutePrecedence(t *testing.T) {
	for name, c := range map[string]struct {
		method, target string
		route          string
		parameters     map[string]string
	}{
		"static before parameter": {"GET", "/pets/dog/one", "GET /pets/dog/one", nil},
		"a method before ANY":     {"GET", "/pets/dog/two", "GET /pets/dog/{id}", map[string]string{"id": "two"}},
		"ANY where no method is":  {"PUT", "/pets/dog/one", "ANY /pets/dog/{name}", map[string]string{"name": "one"}},
		"parameter before greedy": {"GET", "/pets/dog/x", "GET /pets/dog/{id}", map[string]string{"id": "x"}},
		"greedy": {"GET", "/pets/fish/x/y", "GET /pets/{proxy+}",
			map[string]string{"proxy": "fish/x/y"}},
		"the longer greedy":      {"GET", "/pets/cat/x/y", "GET /pets/cat/{rest+}", map[string]string{"rest": "x/y"}},
		"greedy takes something": {"GET", "/pets/", "$default", nil},
		"greedy needs its slash": {"GET", "/pets", "$default", nil},
		"two parameters": {"POST", "/pets/a/b/vote", "POST /pets/{kind}/{id}/vote",
			map[string]string{"kind": "a", "id": "b"}},
		"another method":     {"DELETE", "/pets/a/b/vote", "$default", nil},
		"a slash too many":   {"POST", "/pets/a/b/vote/", "$default", nil},
		"an empty parameter": {"POST", "/pets//b/vote", "$default", nil},
		"an encoded slash":   {"PUT", "/pets/dog/a%2Fb", "ANY /pets/dog/{name}", map[string]string{"name": "a/b"}},
		"an encoded percent": {"PUT", "/pets/dog/100%25", "ANY /pets/dog/{name}",
			map[string]string{"name": "100%"}},
		"an encoded dot":               {"PUT", "/pets/dog/%2e%2e", "ANY /pets/dog/{name}", map[string]string{"name": ".."}},
		"the root":                     {"GET", "/", "GET /", nil},
		"nowhere":                      {"GET", "/nowhere", "$default", nil},
		"HEAD is no GET":               {"HEAD", "/pets/dog/one", "ANY /pets/dog/{name}", map[string]string{"name": "one"}},
		"HEAD where only GET is":       {"HEAD", "/", "$default", nil},
		"HEAD where HEAD is":           {"HEAD", "/head", "HEAD /head", nil},
		"OPTIONS that is no preflight": {"OPTIONS", "/", "$default", nil},
		"left out by its condition":    {"GET", "/trucks", "$default", nil},
		"other letters":                {"GET", "/Pets/dog/one", "$default", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, calls := newSmall(t, `{"statusCode":204}`)
			if r := send(g, c.method, c.target, nil); r.StatusCode != http.StatusNoContent || len(*calls) != 1 {
				t.Fatalf("status %d after %d calls", r.StatusCode, len(*calls))
			}
			e := (*calls)[0].Event
			if e.RouteKey != c.route || e.RequestContext.RouteKey != c.route {
				t.Errorf("route %q, want %q", e.RouteKey, c.route)
			}
			if diff := cmp.Diff(c.parameters, e.PathParameters); diff != "" {
				t.Error(diff)
			}
		})
	}
}

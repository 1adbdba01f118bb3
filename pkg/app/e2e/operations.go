package e2e

import (
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"svc/pkg/access/authz"
)

// everyOperation checks that each operation of the deployment's OpenAPI
// document has succeeded at least once. If no other part has called an
// operation successfully, and a GET without path parameters is enough,
// everyOperation calls it once for each of its audiences.
func (s *suite) everyOperation(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			ID     string `json:"operationId"`
			Policy *struct {
				Audiences map[authz.Audience]string
			} `json:"x-policy"` // paths outside /api/v1 have none
		}
	}
	if err := json.Unmarshal(s.get(t, "", "/openapi.json").must(http.StatusOK).body, &doc); err != nil {
		t.Fatal(err)
	}
	people := map[authz.Audience]person{authz.Dashboard: operator, authz.Rider: rider, authz.Driver: driver}
	operations := 0
	for template, methods := range doc.Paths {
		for method, op := range methods {
			if op.Policy == nil {
				continue
			}
			operations++
			method = strings.ToUpper(method)
			if s.hasSucceeded(method, template) {
				continue
			}
			if method != http.MethodGet || strings.Contains(template, "{") {
				t.Errorf("%s (%s %s) never succeeds: call it in pkg/app/e2e/api.go", op.ID, method, template)
				continue
			}
			for audience, scope := range op.Policy.Audiences {
				if scope != "" || len(op.Policy.Audiences) == 1 {
					a := s.get(t, s.token(t, people[audience]), template).must(http.StatusOK)
					if _, isList := a.json()["items"]; isList {
						a.some()
					}
				}
			}
		}
	}
	if operations == 0 {
		t.Error("the OpenAPI document has no operations under /api/v1")
	}
}

// parameter is a path parameter in the document's notation.
var parameter = regexp.MustCompile(`\{[^}]+\}`)

func (s *suite) hasSucceeded(method, template string) bool {
	pattern := method + " " + parameter.ReplaceAllString(template, "*")
	for called := range s.succeeded {
		if ok, err := path.Match(pattern, called); ok && err == nil {
			return true
		}
	}
	return false
}

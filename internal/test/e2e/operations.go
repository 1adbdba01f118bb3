package e2e

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// everyOperation checks that each operation of the deployment's OpenAPI document has
// succeeded at least once. It calls an operation that no other part has called with
// success, once for each audience, if it can: a creation needs only the example of its
// body, and other calls at most the id of what was created. If an operation has several
// audiences, it omits those for which the operation has no scope.
func (s *suite) everyOperation(t *testing.T) {
	operations, made := s.operations(t), map[string]string{} // the last created identifier by path
	slices.SortStableFunc(operations, func(a, b operation) int { return cmp.Compare(a.turn(), b.turn()) })
	for _, op := range operations {
		template := strings.Join(op.path, "/")
		// Without files no job runs, so no privacy request becomes ready and no import ends.
		unready := s.NoFiles && (op.id == "svc_run_privacy_request" || op.id == "svc_undo_import")
		if unready || s.hasSucceeded(op.method, template) {
			continue
		}
		if op.id == "svc_stream_events" {
			s.follow(t, template)
			continue
		}
		collection, one := strings.CutSuffix(template, "/{id}")
		target := template
		if one && made[collection] != "" {
			target = collection + "/" + made[collection]
		}
		if op.turn() == never || strings.Contains(target, "{") {
			t.Errorf("%s (%s %s) never succeeds: call it in internal/test/e2e/api.go", op.id, op.method, template)
			continue
		}
		for audience, scope := range op.audiences {
			if scope == "" && len(op.audiences) > 1 {
				continue
			}
			c := call{method: op.method, path: target, token: s.token(t, people[audience])}
			if op.created {
				c.body, c.key = op.example, rand.Text()
				made[target] = s.do(t, c).must(http.StatusCreated).text("id")
				continue
			}
			a := s.do(t, c).must(http.StatusOK)
			if _, isList := a.json()["items"]; isList {
				a.some()
			}
		}
	}
	if len(operations) == 0 {
		t.Error("the OpenAPI document has no operations under /api/v1")
	}
}

// turn orders the calls: creations, reads, removals. For a change it returns never,
// because everyOperation has no body for it.
func (o operation) turn() int {
	switch {
	case o.method == http.MethodPost && o.created:
		return 0
	case o.method == http.MethodGet:
		return 1
	case o.method == http.MethodDelete:
		return 2
	}
	return never
}

// never is the turn of an operation that everyOperation does not call.
const never = 3

// follow begins a stream of events, checks its first bytes and ends it. A gateway that
// cannot stream ends the stream itself.
func (s *suite) follow(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL+path, nil)
	testkit.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token(t, operator))
	res, err := s.http.Do(req)
	testkit.Must(t, err)
	defer res.Body.Close()
	begin := make([]byte, len("retry: "))
	_, err = io.ReadFull(res.Body, begin)
	if err != nil || res.StatusCode != http.StatusOK || string(begin) != "retry: " {
		t.Errorf("GET %s: status %d, %q, %v", path, res.StatusCode, begin, err)
	}
}

// parameter is a path parameter in the document's notation.
var parameter = regexp.MustCompile(`\{[^}]+\}`)

// hasSucceeded reports whether a call to the path template has succeeded.
func (s *suite) hasSucceeded(method, template string) bool {
	pattern := method + " " + parameter.ReplaceAllString(template, "*")
	for called := range s.succeeded {
		if ok, err := path.Match(pattern, called); ok && err == nil {
			return true
		}
	}
	return false
}

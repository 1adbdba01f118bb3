package repository_test

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

//go:embed testdata/specification.txt
var specification string

// specified returns the lines of one kind, split into fields. "-" becomes "".
func specified(t *testing.T, kind string, fields int) [][]string {
	t.Helper()
	var out [][]string
	for line := range strings.Lines(specification) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != kind {
			continue
		}
		if len(words) != fields+1 {
			t.Fatalf("%d fields, want %d: %s", len(words)-1, fields, line)
		}
		for i, word := range words {
			if word == "-" {
				words[i] = ""
			}
		}
		out = append(out, words[1:])
	}
	if len(out) == 0 {
		t.Fatalf("testdata/specification.txt has no %s", kind)
	}
	return out
}

// TestEverySpecifiedOperationIsThere: each operation of the specification has a
// row with exactly its policy. Further rows are marked as extensions, and only those.
func TestEverySpecifiedOperationIsThere(t *testing.T) {
	rows := map[string]api.Row{}
	for _, r := range app.Rows(nil) {
		rows[r.Method+" "+r.Path] = r
	}
	for _, want := range specified(t, "operation", 5) {
		name, id, scopes, needs := want[0]+" "+want[1], want[2], want[3], want[4]
		r, ok := rows[name]
		if !ok {
			t.Errorf("%s has no row", name)
			continue
		}
		if delete(rows, name); r.Extension {
			t.Errorf("%s is specified: it needs no api.Extension", name)
		}
		if id != "" && r.ID != id {
			t.Errorf("%s is %s, the specification calls it %s", name, r.ID, id)
		}
		if got := listed(r.Policy.Permission, r.Policy.Feature); got != strings.ReplaceAll(needs, ",", ", ") {
			t.Errorf("%s needs %q, the specification says %q", name, got, needs)
		}
		policy := map[authz.Audience]string{}
		for pair := range strings.SplitSeq(scopes, ",") {
			audience, scope, _ := strings.Cut(pair, "=")
			policy[authz.Audience(audience)] = scope
		}
		if !maps.Equal(r.Policy.Scopes, policy) {
			t.Errorf("%s is for %v, the specification says %v", name, r.Policy.Scopes, policy)
		}
	}
	for name, r := range rows {
		if !r.Extension {
			t.Errorf("%s is not in the specification: it needs api.Extension", name)
		}
	}
}

// TestEverySpecifiedScopeIsThere: each scope of the specification is in the
// catalog with the specified requirements.
func TestEverySpecifiedScopeIsThere(t *testing.T) {
	for _, want := range specified(t, "scope", 3) {
		scope, audience, need := want[0], want[1], want[2]
		rule, ok := authz.FindRule(scope)
		if audience == "any" {
			audience = ""
		}
		if !ok || string(rule.Audience) != audience {
			t.Errorf("%s is for the audience %q, the specification says %q", scope, rule.Audience, audience)
		}
		permission := need
		if need == authz.Taxi || need == authz.Delivery || need == "" {
			permission = ""
			if rule.Feature != need || len(rule.Permissions) > 0 {
				t.Errorf("%s needs %q %v, the specification says %q", scope, rule.Feature, rule.Permissions, need)
			}
		}
		if permission != "" && (!slices.Contains(rule.Permissions, permission) || rule.Feature != "" ||
			!slices.Contains(authz.Permissions(), permission)) {
			t.Errorf("%s needs %q %v, the specification says %q", scope, rule.Feature, rule.Permissions, need)
		}
	}
}

// listed joins the texts that are not empty.
func listed(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), ", ")
}

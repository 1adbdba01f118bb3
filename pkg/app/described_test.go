package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
)

// published is the OpenAPI document as clients get it.
type published map[string]any

func readPublished(t *testing.T) published {
	t.Helper()
	out := published{}
	testkit.Must(t, json.Unmarshal(svc.OpenAPI, &out))
	return out
}

// at returns a node of the document, nil for none.
func (p published) at(path ...string) any {
	var node any = map[string]any(p)
	for _, name := range path {
		of, _ := node.(map[string]any)
		node = of[name]
	}
	return node
}

// resolve returns the schema to which a reference leads.
func (p published) resolve(schema any) map[string]any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return p.resolve(p.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	return s
}

// nullable reports whether null matches the schema.
func (p published) nullable(schema any) bool {
	s := p.resolve(schema)
	choices, _ := s["oneOf"].([]any)
	types, _ := s["type"].([]any)
	values, limited := s["enum"].([]any)
	return s["type"] == "null" || slices.ContainsFunc(choices, p.nullable) ||
		slices.Contains(types, any("null")) && (!limited || slices.Contains(values, nil))
}

// members calls f for each member of a body, and of the objects in it, with a body in
// which the member is null.
func (p published) members(schema any, path string, f func(path, body string, nullable bool)) {
	properties, _ := p.resolve(schema)["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		body := "null"
		names := strings.Split(path+"."+name, ".")[1:]
		for i := len(names) - 1; i >= 0; i-- {
			body = fmt.Sprintf(`{%q:%s}`, names[i], body)
		}
		f(path+"."+name, body, p.nullable(properties[name]))
		p.members(properties[name], path+"."+name, f)
	}
}

// TestPatchTakesNullAsDescribed sends null for each member of each PATCH, one member a
// request. The service accepts it if the document says that the member may be null.
func TestPatchTakesNullAsDescribed(t *testing.T) {
	s, doc := newSuite(t), readPublished(t)
	metro := s.newEstate(t, "metro")
	taken, refused := 0, 0
	for _, r := range app.Rows(s.DB) {
		if r.Method != http.MethodPatch {
			continue
		}
		body := doc.at("paths", r.Path, "patch", "requestBody", "content", "application/json", "schema")
		doc.members(body, "body", func(path, body string, nullable bool) {
			for audience := range r.Policy.Scopes {
				a := s.Do(t, apptest.Request{Method: r.Method, Path: pathOf(t, metro, r), Token: metro.tokens[audience],
					Body: body, Header: map[string]string{"If-Match": `"0123456789abcdef"`}}) // changes nothing
				faults := apptest.JSON[struct{ Details []fault.Detail }](t, a).Details
				blamed := slices.ContainsFunc(faults, func(d fault.Detail) bool { return d.Field == path })
				if blamed == nullable {
					t.Errorf("%s: %s may be null: %t, and the response is %d %s", r.ID, path, nullable, a.Status, a.Body)
				}
				if taken++; blamed {
					refused++
				}
			}
		})
	}
	if taken < 70 || refused < 10 {
		t.Errorf("%d members were sent as null, and %d refused", taken, refused)
	}
}

// odd are values that some member refuses.
var odd = []string{`9223372036854775808`, `""`, `" "`, `"\u202e"`, `"x"`, `-1`, `0`, `1e13`, `2099`,
	`true`, `[]`, `[{}]`, `{}`}

// TestFaultsNameMembers: each member of each body gets each odd value, and all members of
// one type get it together. Every fault that a 400 names is of a member that the request
// has; Do reports others.
func TestFaultsNameMembers(t *testing.T) {
	testkit.Long(t)
	s, doc := newSuite(t), readPublished(t)
	metro := s.newEstate(t, "metro")
	s.Still(t)
	refused := 0
	for _, r := range app.Rows(s.DB) {
		body := doc.at("paths", r.Path, strings.ToLower(r.Method), "requestBody", "content", "application/json", "schema")
		if body == nil || strings.HasPrefix(r.Path, "/api/v1/feedback/{") {
			continue
		}
		send := func(value string, paths ...string) {
			changed := metro.arguments(t, api.Row{ID: r.ID, Method: r.Method})
			for _, path := range paths {
				set(changed, strings.Split(path, ".")[1:], json.RawMessage(value))
			}
			text, err := json.Marshal(changed)
			testkit.Must(t, err)
			for audience := range r.Policy.Scopes {
				q := apptest.Request{Method: r.Method, Path: pathOf(t, metro, r), Token: metro.tokens[audience], Body: string(text)}
				switch a := s.Do(t, q); {
				case a.Status == http.StatusBadRequest:
					refused++
				case a.Status >= 500:
					t.Errorf("%s %s: %d %s", r.ID, text, a.Status, a.Body)
				}
			}
		}
		var all []string
		doc.members(body, "", func(path, _ string, _ bool) { all = append(all, path) })
		for _, value := range odd {
			alike := []string{}
			for _, path := range all {
				send(value, path)
				if doc.takes(body, strings.Split(path, ".")[1:], value) {
					alike = append(alike, path)
				}
			}
			send(value, alike...)
		}
	}
	if refused < 1000 {
		t.Errorf("only %d requests were refused", refused)
	}
}

// set sets a member of a body, in objects that it makes where there are none.
func set(body map[string]any, names []string, value any) {
	for ; len(names) > 1; names = names[1:] {
		within, _ := body[names[0]].(map[string]any)
		if within == nil {
			within = map[string]any{}
		}
		body[names[0]], body = within, within
	}
	body[names[0]] = value
}

// takes reports whether the member of a body is a number or any text, as the value is.
func (p published) takes(schema any, names []string, value string) bool {
	s := p.resolve(schema)
	for _, name := range names {
		properties, _ := s["properties"].(map[string]any)
		s = p.resolve(properties[name])
	}
	types, isText := fmt.Sprint(s["type"]), strings.HasPrefix(value, `"`)
	if isText {
		return strings.Contains(types, "string") && s["format"] == nil
	}
	isNumber := strings.Contains(types, "number") || strings.Contains(types, "integer")
	return isNumber && strings.Trim(value, "-0123456789e") == ""
}

// forbidding returns where a schema forbids members that it does not declare, and how many
// objects it has.
func forbidding(node any, at string) (closed []string, objects int) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			more, some := forbidding(child, at)
			closed, objects = append(closed, more...), objects+some
		}
	case map[string]any:
		if n["properties"] != nil {
			objects++
		}
		if n["additionalProperties"] == false {
			closed = append(closed, at)
		}
		for name, child := range n {
			if name != "example" && name != "examples" {
				more, some := forbidding(child, at+"/"+name)
				closed, objects = append(closed, more...), objects+some
			}
		}
	}
	return closed, objects
}

// reached returns the nodes of the document below a node, with those to which references
// lead.
func (p published) reached(node any, into map[string]any) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			p.reached(child, into)
		}
	case map[string]any:
		if ref, ok := n["$ref"].(string); ok && into[ref] == nil {
			into[ref] = p.resolve(n)
			p.reached(into[ref], into)
		}
		for _, child := range n {
			p.reached(child, into)
		}
	}
}

// TestResponsesMayGrow: the published schemas of responses, of webhooks and of the results
// of tools allow members that later versions add. Those of requests do not.
func TestResponsesMayGrow(t *testing.T) {
	doc := readPublished(t)
	answers, requests := map[string]any{}, map[string]any{}
	within := func(name string, each func(at string, operation map[string]any)) {
		paths, _ := doc.at(name).(map[string]any)
		for path, item := range paths {
			for method, operation := range item.(map[string]any) {
				each(method+" "+path, operation.(map[string]any))
			}
		}
	}
	within("paths", func(at string, operation map[string]any) {
		answers[at] = operation["responses"]
		if strings.Contains(at, "/api/v1/") && operation["requestBody"] != nil {
			requests[at] = operation["requestBody"]
		}
	})
	within("webhooks", func(at string, operation map[string]any) { answers[at] = operation })
	for _, node := range slices.Collect(maps.Values(answers)) {
		doc.reached(node, answers)
	}
	for at, node := range answers {
		if closed, _ := forbidding(node, at); len(closed) > 0 {
			t.Errorf("a response forbids members: %v", closed)
		}
	}
	objects := 0
	for at, node := range requests {
		all := map[string]any{at: node}
		doc.reached(node, all)
		for at, node := range all {
			closed, some := forbidding(node, at)
			if objects += some; len(closed) < some {
				t.Errorf("a request allows any member: %s: %d of %d", at, len(closed), some)
			}
		}
	}
	if objects < 50 {
		t.Errorf("%d objects of requests", objects)
	}
	s := newSuite(t)
	for _, actor := range s.actors {
		a := s.Do(t, modern(agentAddress(actor), s.agent(t, actor), "tools/list", "", "")).Must(t, 200)
		for _, tool := range apptest.JSON[struct {
			Result struct{ Tools []map[string]any }
		}](t, a).Result.Tools {
			if closed, _ := forbidding(tool["outputSchema"], "output"); len(closed) > 0 {
				t.Errorf("%v: %v", tool["name"], closed)
			}
			if in := tool["inputSchema"].(map[string]any); in["additionalProperties"] != false {
				t.Errorf("%v takes any argument", tool["name"])
			}
		}
	}
}

package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/domain/page"
	"svc/pkg/edge/api"
	"svc/pkg/edge/reference"
)

// valueOf has the values of members for which neither the document's example nor a text will do.
var valueOf = map[string]string{
	"svc_create_zone area":          `{"type": "Polygon", "coordinates": [[[1, 1], [2, 1], [2, 2], [1, 1]]]}`,
	"svc_update_zone area":          `{"type": "Polygon", "coordinates": [[[3, 3], [4, 3], [4, 4], [3, 3]]]}`,
	"svc_invite_customer email":     `"kept@rider.example"`,
	"svc_invite_driver email":       `"kept@driver.example"`,
	"svc_update_settings map.tiles": `"https://tiles.example/{z}/{x}/{y}.png"`,
	"svc_create_machine jwks": `{"keys": [{"kty": "EC", "crv": "P-256", "x": "SB3MHL_praSDlOnQNu5EUGKHN2yBkCiFblpIBBXnLqo", ` +
		`"y": "qjQkUelArMcUrHAZPfVlV9rY-nHDYTIqXM2YJaXZ_dc"}]}`,
	"svc_update_machine jwks": `{"keys": [{"kty": "EC", "crv": "P-256", "x": "98aUPA6Gwxte5TykbFHwEerHrRtuv7ZcLVD7wnivCy4", ` +
		`"y": "hTBNS2copX8L9YG71tuG619V1LXu7YE1u8DB46etKiU"}]}`,
	"svc_create_machine jwksUri": `"https://keys.kept.example/one.json"`,
	"svc_update_machine jwksUri": `"https://keys.kept.example/two.json"`,
	"svc_update_webhook types":   `["trip.cancelled"]`,
	"svc_update_webhook url":     `"https://hooks.kept.example/all"`,
}

// notShown has the members that no response has, and why.
var notShown = map[string]string{
	"svc_add_payment_method token": "a secret",
	"svc_update_webhook enabled":   "the response has what follows from it, status",
}

// notWhole has the changes that cannot have every member at once, and why.
var notWhole = map[string]string{
	"svc_update_order":      "its members are steps",
	"svc_update_member":     "who is invited must accept before a change (TestDisabledMember)",
	"svc_update_trip":       "a booking names its rider in one of two ways (TestExternalIDs)",
	"svc_set_driver_status": "online and status are two words for one thing",
}

// kept sends creations and changes with every member of their bodies.
type kept struct {
	*suite
	doc  *huma.OpenAPI
	rows map[string]api.Row // by method and path
	made map[string]string  // identifier by the path of the collection
}

// TestMembersAreKept: a creation and a change keep every member of the body, and the response
// shows each as it was sent. So nobody forgets a new member where a body is taken over.
func TestMembersAreKept(t *testing.T) {
	doc, err := reference.Document("https://api.svc.example", page.ScopePhrase, app.Rows(nil)...)
	testkit.Must(t, err)
	k := &kept{newSuite(t), doc, map[string]api.Row{}, map[string]string{}}
	for _, r := range app.Rows(nil) {
		k.rows[r.Method+" "+r.Path] = r
	}
	for _, at := range slices.Sorted(maps.Keys(k.rows)) {
		r := k.rows[at]
		if r.Method != http.MethodPatch || notWhole[r.ID] != "" {
			continue
		}
		for audience := range r.Policy.Scopes {
			t.Run(r.ID+"/"+string(audience), func(t *testing.T) {
				token := k.Token(t, k.actors[audience])
				k.send(t, token, k.fill(t, token, r.Path), r, doc.Paths[r.Path].Patch)
			})
		}
	}
}

// fill replaces each identifier in a path by one of something that it creates in the collection
// before.
func (k *kept) fill(t *testing.T, token, path string) string {
	t.Helper()
	out, rest := "", path
	for {
		before, after, more := strings.Cut(rest, "/{")
		out += before
		if !more {
			return out
		}
		_, rest, _ = strings.Cut(after, "}")
		collection := strings.TrimSuffix(path, rest)
		collection = collection[:strings.LastIndexByte(collection, '/')]
		if k.made[collection] == "" {
			r, ok := k.rows["POST "+collection]
			if !ok {
				t.Fatalf("nothing creates what %s changes", path)
			}
			k.made[collection] = k.send(t, token, out, r, k.doc.Paths[collection].Post)
		}
		out += "/" + k.made[collection]
	}
}

// send sends a request with every member, compares the response, and returns its identifier.
func (k *kept) send(t *testing.T, token, path string, r api.Row, op *huma.Operation) string {
	t.Helper()
	schema := k.resolved(op.RequestBody.Content["application/json"].Schema)
	sent := k.members(r, schema, "")
	body, err := json.Marshal(sent)
	testkit.Must(t, err)
	a := k.Do(t, apptest.Request{Method: r.Method, Path: path, Token: token, Body: string(body)})
	if a.Status/100 != 2 {
		t.Fatalf("%s: %d %s\n%s", r.ID, a.Status, a.Body, body)
	}
	var shown map[string]any
	testkit.Must(t, json.Unmarshal(a.Body, &shown))
	for name, value := range sent {
		if notShown[r.ID+" "+name] != "" {
			continue
		}
		has, ok := shown[name]
		for _, group := range shown { // the settings are a member of their response
			if g, isGroup := group.(map[string]any); isGroup && !ok {
				has, ok = g[name]
			}
		}
		k.same(t, r.ID+" "+name, value, has)
	}
	id, _ := shown["id"].(string)
	return id
}

// members returns a value for each member of a schema.
func (k *kept) members(r api.Row, s *huma.Schema, within string) map[string]any {
	out := map[string]any{}
	for name, member := range s.Properties {
		if text := valueOf[r.ID+" "+within+name]; text != "" {
			out[name] = json.RawMessage(text)
			continue
		}
		out[name] = k.value(r, k.resolved(member), within+name)
	}
	return out
}

// value returns a value of the schema. A change has another one than a creation, and none is the default.
func (k *kept) value(r api.Row, s *huma.Schema, name string) any {
	change := r.Method == http.MethodPatch
	for _, one := range s.OneOf {
		if one = k.resolved(one); one.Type != "null" {
			return k.value(r, one, name)
		}
	}
	switch {
	case len(s.Properties) > 0:
		return k.members(r, s, name+".")
	case len(s.Enum) > 1:
		if change {
			return s.Enum[1]
		}
		return s.Enum[0]
	case s.Type == "boolean":
		return s.Default != true
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Type == "integer", s.Type == "number":
		value := 3.0
		if change {
			value = 4
		}
		if s.Minimum != nil {
			value += max(*s.Minimum, 0)
		}
		if s.Maximum != nil && value > *s.Maximum {
			value = *s.Maximum / 2
		}
		return value
	}
	if s.Format == "uri" {
		return "https://kept.example/" + strings.ToLower(r.Method)
	}
	return "Kept by " + r.Method
}

// same compares what was sent with what is shown, member by member.
func (k *kept) same(t *testing.T, at string, sent, shown any) {
	t.Helper()
	if group, ok := sent.(map[string]any); ok {
		has, _ := shown.(map[string]any)
		for name, value := range group {
			k.same(t, at+"."+name, value, has[name])
		}
		return
	}
	text, err := json.Marshal(sent)
	testkit.Must(t, err)
	var want any
	testkit.Must(t, json.Unmarshal(text, &want))
	if fmt.Sprint(want) != fmt.Sprint(shown) {
		t.Errorf("%s: sent %v, shown %v", at, want, shown)
	}
}

func (k *kept) resolved(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return k.doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

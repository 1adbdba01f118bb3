package repository_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// visit calls f with every object of a decoded JSON document and its path.
func visit(at string, node any, f func(at string, n map[string]any)) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			visit(at, child, f)
		}
	case map[string]any:
		f(at, n)
		for name, child := range n {
			visit(at+"/"+name, child, f)
		}
	}
}

// TestDocumentSuitsGenerators: generators of clients name a type after the
// schema's name or, if it has none, after every place where it stands. So each
// enumeration has a name, and no name hides a type of a language.
func TestDocumentSuitsGenerators(t *testing.T) {
	text, err := os.ReadFile(documentFile)
	testkit.Must(t, err)
	var doc map[string]any
	testkit.Must(t, json.Unmarshal(text, &doc))
	named := regexp.MustCompile(`^/components/schemas/\w+$`)
	visit("", doc, func(at string, n map[string]any) {
		if strings.Contains(at, "/example") {
			return
		}
		if values, _ := n["enum"].([]any); len(values) > 1 && !named.MatchString(at) {
			t.Errorf("%s: an enumeration without a name", at)
		}
		if _, has := n["not"]; has && n["type"] != nil {
			t.Errorf("%s: the reference page prints the words of not", at)
		}
		switch n["format"] {
		case nil, "date-time", "double", "int64", "uri", "email":
		default:
			if _, isMember := n["format"].(map[string]any); !isMember {
				t.Errorf("%s: the format %v is not a standard one", at, n["format"])
			}
		}
	})
	for _, tag := range doc["tags"].([]any) {
		if tag := tag.(map[string]any); tag["description"] == nil {
			t.Errorf("the tag %s has no description", tag["name"])
		}
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range schemas {
		if strings.Contains(name, "InputBody") {
			t.Errorf("%s has the name of a Go type that has none", name)
		}
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		if name == "Data" { // of an event: the status of any resource
			continue
		}
		for member, p := range properties {
			of, _ := p.(map[string]any)
			// An event has the status of any kind of resource.
			isStatus := member == "status" && name != "EventData" ||
				name == "TripLogEntry" && (member == "from" || member == "to")
			if isStatus && of["$ref"] == nil && of["oneOf"] == nil && of["const"] == nil {
				t.Errorf("%s.%s is a status without its enumeration", name, member)
			}
		}
	}
	for _, taken := range []string{"Error", "Exception", "Object", "String", "Number", "Date", "Map", "List", "Type"} {
		if schemas[taken] != nil {
			t.Errorf("a schema is called %s, which is a type of common languages", taken)
		}
	}
	for _, name := range []string{"ErrorCode", "OAuthErrorCode", "TripStatus", "DriverStatus", "PaymentType", "Audience"} {
		if schemas[name] == nil {
			t.Errorf("no enumeration is called %s", name)
		}
	}
}

// TestCodesOfOAuthErrors: the document's codes are those of docs/errors.md.
// Codes of redirects alone are not in a JSON body.
func TestCodesOfOAuthErrors(t *testing.T) {
	text, err := os.ReadFile(documentFile)
	testkit.Must(t, err)
	var doc struct {
		Components struct {
			Schemas struct{ OAuthErrorCode struct{ Enum []string } }
		}
	}
	testkit.Must(t, json.Unmarshal(text, &doc))
	catalogue, err := os.ReadFile("../../../docs/errors.md")
	testkit.Must(t, err)
	_, rows, _ := strings.Cut(string(catalogue), "## Of the OAuth endpoints")
	rows, _, _ = strings.Cut(rows, "\n## ")
	var want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(rows, -1) {
		if m[1] != "error" && m[2] != "authorize" {
			want = append(want, m[1])
		}
	}
	slices.Sort(want)
	if got := doc.Components.Schemas.OAuthErrorCode.Enum; !slices.Equal(got, want) {
		t.Errorf("the document has %q, docs/errors.md %q", got, want)
	}
}

// TestExamplesKeepTheirOrder: an example has the members in the order in which
// the service sends them.
func TestExamplesKeepTheirOrder(t *testing.T) {
	text, err := os.ReadFile(documentFile)
	testkit.Must(t, err)
	at := regexp.MustCompile(`"example": \{\s+"id": "trp_\w+",\s+"tripCode"`)
	if !at.Match(text) {
		t.Error("the members of the example of a trip are sorted")
	}
}

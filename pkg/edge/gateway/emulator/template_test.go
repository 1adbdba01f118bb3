package emulator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/edge/gateway/emulator"
)

func TestNewRefuses(t *testing.T) {
	nothing := func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }
	both := map[string]emulator.Function{"Pets": nothing, "Rest": nothing}
	replace := func(old, with string) string { return strings.Replace(small, old, with, 1) }
	for name, c := range map[string]struct {
		template  string
		functions map[string]emulator.Function
		want      string
	}{
		"a route without a function": {small, map[string]emulator.Function{"Pets": nothing}, "needs the function Rest"},
		"an unknown function": {small, map[string]emulator.Function{"Pets": nothing, "Rest": nothing, "Nobody": nothing},
			"no function Nobody"},
		"a function left out by its condition": {small,
			map[string]emulator.Function{"Pets": nothing, "Rest": nothing, "Fleets": nothing}, "no function Fleets"},
		"no API":        {replace("AWS::Serverless::HttpApi", "AWS::Serverless::Api"), both, "0 resources"},
		"a route twice": {replace("Path: /head", "Path: /"), both, ""},
		"the same route twice": {replace("Path: /head, Method: !If [HasFleet, GET, HEAD]", "Path: /, Method: GET"), both,
			"already has the route GET"},
		"greedy in the middle":  {replace("/pets/{proxy+}", "/pets/{proxy+}/x"), both, "malformed parameter"},
		"a parameter left open": {replace("/pets/{proxy+}", "/pets/{proxy"), both, "malformed parameter"},
		"a path without slash":  {replace("/pets/{proxy+}", "pets"), both, "begin with a slash"},
		"a method that is none": {replace("Method: POST", "Method: FETCH"), both, "not a method"},
		"a key twice":           {small + "Resources: {}\n", both, "the key Resources is repeated"},
		"an alias":              {small + "Outputs: {a: &x 1, b: *x}\n", both, "aliases"},
		"nothing":               {"", both, "empty"},
		"a list":                {"[1, 2]", both, "not a mapping"},
		"not YAML":              {"a: [", both, "template:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := emulator.New([]byte(c.template), c.functions)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want …%s…", err, c.want)
			}
		})
	}
}

// The routes outside /api/v1. Those under it are the rows, which pkg/app/repository compares.
const besides = `
OAuthFunction ANY /oauth/{proxy+}
OAuthFunction ANY /.well-known/{proxy+}
OAuthFunction ANY /health/ready
DocsFunction GET /health/live
DocsFunction GET /
DocsFunction GET /openapi.json
DocsFunction GET /docs
DocsFunction GET /health
DocsFunction ANY $default
MCPFunction ANY /mcp
MCPFunction ANY /mcp/
MCPFunction ANY /mcp/{proxy+}
`

func TestRoutesOfTheTemplate(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range routes {
		if strings.HasPrefix(r.Path, "/api/") {
			continue
		}
		got[r.Function+" "+r.Method+" "+r.Path] = true
	}
	want := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(besides)) {
		want[strings.TrimSpace(line)] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-specification +template)\n%s", diff)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add([]byte(small))
	f.Add(svc.Template)
	f.Add([]byte("Resources: {A: {Type: AWS::Serverless::Function, Properties: {Events: {B: {Type: DynamoDB}}}}}"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = emulator.New(text, nil)
		_, _ = emulator.Streams(text)
	})
}

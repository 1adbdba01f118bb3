package repository_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// TestMetrics: the template's metric filters count what a request's line says. A
// failure counts 1 and another request 0. A failed check counts too.
func TestMetrics(t *testing.T) {
	const (
		served   = "Failures 0 [Function Me]"
		failed   = "Failures 1 [Function Me]"
		rejected = "ChecksFailed 1 []"
	)
	for _, c := range []struct {
		name string
		o    api.Observation
		want []string // metric, value and dimensions
	}{
		{"success", api.Observation{Operation: "svc_me", Status: 200}, []string{served}},
		{"failure", api.Observation{Operation: "svc_me", Status: 503}, []string{failed}},
		{"signature", api.Observation{Operation: "svc_me", Status: 401, Code: "unauthorized"}, []string{rejected, served}},
		{"revocation", api.Observation{Operation: "svc_me", Status: 401, Code: "unauthorized", Tenant: "t"},
			[]string{rejected, served}},
		{"scope", api.Observation{Operation: "svc_me", Status: 403, Code: "insufficient_scope"}, []string{rejected, served}},
		{"permission", api.Observation{Operation: "svc_me", Status: 403, Code: "forbidden"}, []string{rejected, served}},
		{"feature", api.Observation{Operation: "svc_me", Status: 403, Code: "feature_disabled"}, []string{rejected, served}},
		{"no row", api.Observation{Status: 404, Code: "not_found"}, []string{served}},
	} {
		if got := counted(t, requestLine(t.Context(), c.o)); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %s", c.name, cmp.Diff(c.want, got))
		}
	}
}

// TestSmokeCountsNothing: the call of a smoke test is logged, and turns no alarm
// red. Lines of another kind do not count as requests.
func TestSmokeCountsNothing(t *testing.T) {
	var direct []byte
	f := gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		direct = requestLine(r.Context(), api.Observation{Operation: "svc_me", Status: 503, Code: "forbidden"})
	}))
	_, err := f(t.Context(), []byte(`{"version":"2.0","rawPath":"/",
		"requestContext":{"http":{"method":"GET","path":"/"}}}`))
	testkit.Must(t, err)
	if got := counted(t, direct); got != nil || !bytes.Contains(direct, []byte(`"status":503`)) {
		t.Errorf("%s counts %q", direct, got)
	}
	if got := counted(t, []byte(`{"function":"Settlement","records":3}`)); got != nil {
		t.Errorf("a batch counts %q", got)
	}
}

// TestRequestLine: the line of a request has the members that
// docs/operations/monitoring.md lists, and few bytes.
func TestRequestLine(t *testing.T) {
	o := api.Observation{RequestID: "req_JKJaXmPLvHcESHA=", Operation: "svc_me", Status: 200,
		Elapsed: 12345 * time.Microsecond, Tenant: "ten_01JDFA2Q4T7Z8N5V3W6X9Y0B1C", Client: "cli_01JDFA2Q4T7Z8N5V3W6X9Y0B1C",
		Usage: table.Usage{Sequential: 2, ReadUnits: 5}}
	want := `{"request_id":"req_JKJaXmPLvHcESHA=","function":"Me","operation":"svc_me","status":200,` +
		`"tenant_id":"ten_01JDFA2Q4T7Z8N5V3W6X9Y0B1C","client_id":"cli_01JDFA2Q4T7Z8N5V3W6X9Y0B1C",` +
		`"ms":12,"round_trips":2,"read_units":5}` + "\n"
	if diff := cmp.Diff(want, string(requestLine(t.Context(), o))); diff != "" {
		t.Error(diff)
	}
	o = api.Observation{RequestID: `"`, Status: 503, Code: "temporarily_unavailable", Cause: fmt.Errorf("a\n\"b\" é"),
		Agent: true, Usage: table.Usage{WriteUnits: 1, IndexUnits: 0.5}}
	var got map[string]any
	testkit.Must(t, json.Unmarshal(requestLine(t.Context(), o), &got))
	if diff := cmp.Diff(map[string]any{"request_id": `"`, "function": "Me", "status": 503.0,
		"error": "temporarily_unavailable", "level": "ERROR", "cause": "a\n\"b\" é", "agent": true, "ms": 1.0,
		"write_units": 1.5}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRoundTrips: from each line one can tell how many round trips a request
// made, although a line has no round_trips if one round trip consumed units.
func TestRoundTrips(t *testing.T) {
	for _, used := range []table.Usage{{}, {Sequential: 1}, {Sequential: 1, ReadUnits: 5}, {Sequential: 1, IndexUnits: 1},
		{Sequential: 2}, {Sequential: 2, ReadUnits: 5, WriteUnits: 7}} {
		line := requestLine(t.Context(), api.Observation{Status: 200, Usage: used})
		var got struct {
			RoundTrips int     `json:"round_trips"`
			Reads      float64 `json:"read_units"`
			Writes     float64 `json:"write_units"`
		}
		testkit.Must(t, json.Unmarshal(line, &got))
		written := got.RoundTrips > 0
		if !written && got.Reads+got.Writes > 0 {
			got.RoundTrips = 1
		}
		usual := used.Sequential == 0 || used.Sequential == 1 && got.Reads+got.Writes > 0
		if got.RoundTrips != used.Sequential || written == usual {
			t.Errorf("%+v: %s", used, line)
		}
	}
}

func requestLine(ctx context.Context, o api.Observation) []byte {
	var out bytes.Buffer
	app.Requests(&out, app.Me)(ctx, o)
	return out.Bytes()
}

// counted returns the samples that the template's metric filters make of a line.
func counted(t *testing.T, line []byte) (samples []string) {
	t.Helper()
	var members map[string]any
	testkit.Must(t, json.Unmarshal(line, &members))
	for name, filter := range ofType(t, "AWS::Logs::MetricFilter") {
		p := field(filter, "Properties")
		if !matchesFilter(t, field(p, "FilterPattern").Value, members) {
			continue
		}
		m := field(p, "MetricTransformations").Content[0]
		var dimensions []string
		if d := field(m, "Dimensions"); d != nil {
			value := members[strings.TrimPrefix(field(d.Content[0], "Value").Value, "$.")]
			dimensions = append(dimensions, field(d.Content[0], "Key").Value, fmt.Sprint(value))
		}
		if namespace := field(m, "MetricNamespace").Value; namespace != "svc/${AWS::StackName}" {
			t.Errorf("%s counts in %s", name, namespace)
		}
		samples = append(samples,
			fmt.Sprint(field(m, "MetricName").Value, " ", field(m, "MetricValue").Value, " ", dimensions))
	}
	slices.Sort(samples)
	return samples
}

var filterTerm = regexp.MustCompile(`\$\.(\w+) (=|<|>=) ("[^"]*"|\d+)`)

// matchesFilter applies a filter pattern of CloudWatch Logs: comparisons of
// members with numbers, and with texts that may begin with *.
func matchesFilter(t *testing.T, pattern string, members map[string]any) bool {
	t.Helper()
	expression := filterTerm.ReplaceAllStringFunc(pattern, func(term string) string {
		m := filterTerm.FindStringSubmatch(term)
		if text, err := strconv.Unquote(m[3]); err == nil {
			have, ok := members[m[1]].(string)
			suffix, any := strings.CutPrefix(text, "*")
			return strconv.FormatBool(ok && m[2] == "=" && (have == text || any && strings.HasSuffix(have, suffix)))
		}
		have, ok := members[m[1]].(float64)
		bound, _ := strconv.ParseFloat(m[3], 64)
		return strconv.FormatBool(ok && map[string]bool{"<": have < bound, ">=": have >= bound, "=": have == bound}[m[2]])
	})
	expression = strings.Trim(expression, "{} ")
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	testkit.Must(t, err)
	return value.Value.String() == "true"
}

// TestFailedCheck: FailedCheck names the check that rejected a request.
func TestFailedCheck(t *testing.T) {
	for _, c := range []struct {
		want string
		o    api.Observation
	}{
		{"signature", api.Observation{Operation: "o", Code: "unauthorized"}},
		{"revocation", api.Observation{Operation: "o", Code: "unauthorized", Tenant: "t"}},
		{"scope", api.Observation{Operation: "o", Code: "insufficient_scope", Tenant: "t"}},
		{"permission", api.Observation{Operation: "o", Code: "forbidden", Tenant: "t"}},
		{"feature", api.Observation{Operation: "o", Code: "feature_disabled", Tenant: "t"}},
		{"", api.Observation{Operation: "o", Code: "invalid_state", Tenant: "t"}},
		{"", api.Observation{Code: "not_found"}},
	} {
		if got := app.FailedCheck(c.o); got != c.want {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}

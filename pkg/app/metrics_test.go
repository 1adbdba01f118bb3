package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/app"
	"svc/pkg/edge/api"
	"svc/pkg/local/testkit"
)

// TestMetrics: a line has the metrics that match the result of the request,
// each with its dimensions and value.
func TestMetrics(t *testing.T) {
	t.Setenv("METRICS_NAMESPACE", "svc/test")
	for _, c := range []struct {
		name string
		o    api.Observation
		want []string // metric and dimensions
	}{
		{"success", api.Observation{Operation: "svc_me", Status: 200, Elapsed: 1500 * time.Microsecond},
			[]string{"Failures [Function]"}},
		{"failure", api.Observation{Operation: "svc_me", Status: 503}, []string{"Failures [Function]"}},
		{"permission", api.Observation{Operation: "svc_me", Status: 403, Code: "forbidden", Tenant: "t"},
			[]string{"ChecksFailed []", "Failures [Function]"}},
		{"no row", api.Observation{Status: 404, Code: "not_found"}, []string{"Failures [Function]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			app.Metrics(&out, app.Me)(context.Background(), c.o)
			var line map[string]any
			testkit.Must(t, json.Unmarshal(out.Bytes(), &line))
			var directives struct {
				AWS struct {
					CloudWatchMetrics []struct {
						Namespace  string
						Dimensions [][]string
						Metrics    []struct{ Name, Unit string }
					}
				} `json:"_aws"`
			}
			testkit.Must(t, json.Unmarshal(out.Bytes(), &directives))
			var got []string
			for _, d := range directives.AWS.CloudWatchMetrics {
				if d.Namespace != "svc/test" || len(d.Dimensions) != 1 {
					t.Errorf("%+v", d)
				}
				for _, dimension := range d.Dimensions[0] {
					if text, ok := line[dimension].(string); !ok || text == "" {
						t.Errorf("the dimension %s has no value", dimension)
					}
				}
				for _, m := range d.Metrics {
					if _, ok := line[m.Name].(float64); !ok || m.Unit == "" {
						t.Errorf("the metric %s has no value", m.Name)
					}
					got = append(got, fmt.Sprint(m.Name, " ", d.Dimensions[0]))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
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

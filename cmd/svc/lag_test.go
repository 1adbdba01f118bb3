package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDeployedLag: the lag of a deployed stream function is CloudWatch's newest
// IteratorAge. A test server takes the place of CloudWatch and checks the
// signed request.
func TestDeployedLag(t *testing.T) {
	const result = `<GetMetricDataResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><GetMetricDataResult>` +
		`<MetricDataResults><member><Id>age</Id><Timestamps>TIMES</Timestamps><Values>VALUES</Values></member>` +
		`</MetricDataResults></GetMetricDataResult></GetMetricDataResponse>`
	answers := map[string]string{
		"svc-SettlementFunction-1A": strings.NewReplacer(
			"TIMES", "<member>2026-01-01T10:05:00Z</member><member>2026-01-01T10:04:00Z</member>",
			"VALUES", "<member>1234.5</member><member>9.0</member>").Replace(result),
		"svc-ProjectionFunction-2B": strings.NewReplacer("TIMES", "", "VALUES", "").Replace(result),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefix := "MetricDataQueries.member.1.MetricStat.Metric."
		if r.FormValue("Action") != "GetMetricData" || r.FormValue(prefix+"MetricName") != "IteratorAge" ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/monitoring/aws4_request") {
			t.Errorf("%v, %s", r.Form, r.Header.Get("Authorization"))
		}
		answer := answers[r.FormValue(prefix+"Dimensions.member.1.Value")]
		if answer == "" {
			w.WriteHeader(http.StatusForbidden)
			answer = `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not allowed</Message></Error></ErrorResponse>`
		}
		_, _ = w.Write([]byte(answer)) // the test fails if it is not read
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "test",
		"AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL_CLOUDWATCH": s.URL} {
		t.Setenv(name, value)
	}
	for _, tt := range []struct{ functions, word, function, want string }{
		{"svc-SettlementFunction-1A,svc-ProjectionFunction-2B", "settlement", "SettlementFunction", "1.235s at 10:05 UTC"},
		{"svc-SettlementFunction-1A,svc-ProjectionFunction-2B", "projection", "ProjectionFunction",
			"none measured in 15m0s: projection read no records"},
		{"other-SettlementFunction", "settlement", "SettlementFunction", "CloudWatch responds 403 AccessDenied not allowed"},
		{"", "settlement", "SettlementFunction", "unknown: set STREAM_FUNCTIONS to the stack's output StreamFunctions"},
	} {
		t.Setenv("STREAM_FUNCTIONS", tt.functions)
		if got := deployedLag(t.Context(), tt.word, tt.function); got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.word, tt.functions, got, tt.want)
		}
	}
}

package health

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"svc/pkg/base/config"
)

// epoch is a timestamp of the protocol: tag 1 and seconds since 1970.
func epoch(at time.Time) cbor.Value { return &cbor.Tag{ID: 1, Value: cbor.Float64(at.Unix())} }

// TestDeployedLag: the lag of a deployed stream function is CloudWatch's newest
// IteratorAge. A test server takes the place of CloudWatch and checks the
// signed request.
func TestDeployedLag(t *testing.T) {
	minute := time.Date(2026, 1, 1, 10, 5, 0, 0, time.UTC)
	answers := map[string]cbor.Map{
		"svc-SettlementFunction-1A": {
			"Timestamps": cbor.List{epoch(minute), epoch(minute.Add(-time.Minute))},
			"Values":     cbor.List{cbor.Float64(1234.5), cbor.Float64(9)}},
		"svc-ProjectionFunction-2B": {"Timestamps": cbor.List{}, "Values": cbor.List{}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/operation/GetMetricData") ||
			!bytes.Contains(body, []byte("IteratorAge")) ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/monitoring/aws4_request") {
			t.Errorf("%v %s %q, %s", err, r.URL.Path, body, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/cbor")
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		for function, result := range answers {
			if bytes.Contains(body, []byte(function)) {
				result["Id"] = cbor.String("age")
				_, _ = w.Write(cbor.Encode(cbor.Map{"MetricDataResults": cbor.List{result}}))
				return
			}
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(cbor.Encode(cbor.Map{"__type": cbor.String("AccessDenied"), "message": cbor.String("not allowed")}))
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
		{"other-SettlementFunction", "settlement", "SettlementFunction", "AccessDenied: not allowed"},
		{"", "settlement", "SettlementFunction", "unknown: set STREAM_FUNCTIONS to the stack's output StreamFunctions"},
	} {
		t.Setenv("STREAM_FUNCTIONS", tt.functions)
		functions := config.Read(os.Getenv).StreamFunctions
		if got := deployedLag(t.Context(), functions, tt.word, tt.function); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s of %q: %q, want %q", tt.word, tt.functions, got, tt.want)
		}
	}
}

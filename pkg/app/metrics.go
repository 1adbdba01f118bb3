package app

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/api"
	"svc/pkg/oauth"
	"svc/pkg/table"
)

// emitter writes lines in CloudWatch's embedded metric format. What dimensions
// there are is what the metrics cost: each combination of their values is one
// metric, and no value of a dimension comes from a request.
type emitter struct {
	w         io.Writer
	namespace string
	function  string

	mu sync.Mutex
}

// set is one group of metrics under the same dimensions.
type set struct {
	dimensions []string
	metrics    map[string]string // unit by name
}

const (
	count        = "Count"
	milliseconds = "Milliseconds"
)

func newEmitter(w io.Writer, function string) *emitter {
	namespace := os.Getenv("METRICS_NAMESPACE")
	if namespace == "" {
		namespace = "svc"
	}
	return &emitter{w: w, namespace: namespace, function: function}
}

// emit writes one line with the values, of which the sets make metrics.
func (e *emitter) emit(values map[string]any, sets ...set) {
	var directives []any
	for _, s := range sets {
		var metrics []map[string]string
		for name, unit := range s.metrics {
			metrics = append(metrics, map[string]string{"Name": name, "Unit": unit})
		}
		directives = append(directives, map[string]any{"Namespace": e.namespace, "Metrics": metrics,
			"Dimensions": [][]string{append([]string{"Function"}, s.dimensions...)}})
	}
	line := map[string]any{"Function": e.function,
		"_aws": map[string]any{"Timestamp": time.Now().UnixMilli(), "CloudWatchMetrics": directives}}
	maps.Copy(line, values)
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.w.Write(append(text, '\n')) // nothing can be done about a closed log
}

// ofRequests are what is measured of every request under its function alone.
var ofRequests = map[string]string{"Requests": count, "Failures": count, "Latency": milliseconds, "ReadUnits": count, "WriteUnits": count}

// Metrics writes what there is to measure of every request of a function:
// requests, failures (5xx), latency, consumed units; latency by operation;
// errors by word; failed checks by step.
func Metrics(w io.Writer, function string) func(context.Context, api.Observation) {
	e := newEmitter(w, function)
	return func(_ context.Context, o api.Observation) {
		failed := 0
		if o.Status >= http.StatusInternalServerError {
			failed = 1
		}
		values := map[string]any{"request_id": o.RequestID, "Requests": 1, "Failures": failed, "Latency": milli(o.Elapsed),
			"ReadUnits": o.Usage.ReadUnits, "WriteUnits": o.Usage.WriteUnits + o.Usage.IndexUnits}
		sets := []set{{metrics: ofRequests}}
		if o.Operation != "" {
			values["Operation"] = o.Operation
			sets = append(sets, set{[]string{"Operation"}, map[string]string{"Latency": milliseconds}})
		}
		sets = withError(sets, values, o.Word)
		if step := FailedCheck(o); step != "" {
			values["Check"], values["ChecksFailed"] = step, 1
			sets = append(sets, set{[]string{"Check"}, map[string]string{"ChecksFailed": count}})
		}
		e.emit(values, sets...)
	}
}

// withError counts an error by its code; "" is none.
func withError(sets []set, values map[string]any, code string) []set {
	if code == "" {
		return sets
	}
	values["Error"], values["Errors"] = code, 1
	return append(sets, set{[]string{"Error"}, map[string]string{"Errors": count}})
}

// FailedCheck names the check that refused a request, "" where all passed:
// signature, revocation, scope (which has the audience in it), permission,
// feature.
func FailedCheck(o api.Observation) string {
	switch {
	case o.Operation == "":
		return ""
	case o.Word == "unauthorized" && o.Tenant == "": // nobody was found in the token
		return "signature"
	case o.Word == "unauthorized":
		return "revocation"
	case o.Word == "insufficient_scope":
		return "scope"
	case o.Word == "forbidden":
		return "permission"
	case o.Word == "feature_disabled":
		return "feature"
	}
	return ""
}

// measured measures a handler that has no rows: the authorization server. The
// operation is the path's second part where the server knows it.
func measured(h http.Handler, w io.Writer, function string) http.Handler {
	e := newEmitter(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		ctx, code := oauth.Noted(r.Context())
		ctx, meter := table.Metered(ctx)
		h.ServeHTTP(seen, r.WithContext(ctx))
		used, failed := meter.Usage(), 0
		if seen.code >= http.StatusInternalServerError {
			failed = 1
		}
		values := map[string]any{"request_id": w.Header().Get("X-Request-Id"), "Requests": 1, "Failures": failed, "Latency": milli(time.Since(began)), "Status": seen.code,
			"ReadUnits": used.ReadUnits, "WriteUnits": used.WriteUnits + used.IndexUnits}
		sets := []set{{metrics: ofRequests}}
		if seen.code != http.StatusNotFound {
			_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			values["Operation"], _, _ = strings.Cut(rest, "/")
			sets = append(sets, set{[]string{"Operation"}, map[string]string{"Latency": milliseconds}})
		}
		sets = withError(sets, values, *code)
		e.emit(values, sets...)
	})
}

type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// lagged measures a function on the stream: records, records that failed, and
// the time from the batch's oldest write to the end of the work.
func lagged(h StreamHandler, w io.Writer, function string, now func() time.Time) StreamHandler {
	e := newEmitter(w, function)
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		ctx, meter := table.Metered(ctx)
		answer, err := h(ctx, event)
		used := meter.Usage()
		failed := len(answer.BatchItemFailures)
		if err != nil {
			failed = len(event.Records)
		}
		var oldest time.Time
		for _, r := range event.Records {
			if at := r.Change.ApproximateCreationDateTime.Time; oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
		values := map[string]any{"Records": len(event.Records), "RecordsFailed": failed, "ReadUnits": used.ReadUnits, "WriteUnits": used.WriteUnits + used.IndexUnits}
		metrics := map[string]string{"Records": count, "RecordsFailed": count, "ReadUnits": count, "WriteUnits": count}
		if !oldest.IsZero() {
			values["Lag"], metrics["Lag"] = max(0, milli(now().Sub(oldest))), milliseconds
		}
		e.emit(values, set{metrics: metrics})
		return answer, err
	}
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

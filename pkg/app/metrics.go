package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/data/table"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
	"svc/pkg/oauth/protocol"
)

// emitter writes one JSON line for each request or batch. CloudWatch bills each
// metric by the month. So only the values that an alarm reads are metrics
// (embedded metric format): Failures per function, and ChecksFailed. All other
// values are members of the line, for Logs Insights.
type emitter struct {
	w        io.Writer
	function string
	failures string // the metric directives of a line without a failed check
	checks   string // the metric directives of a line with a failed check

	mu   sync.Mutex
	line []byte
}

func newEmitter(w io.Writer, function string) *emitter {
	namespace := os.Getenv("METRICS_NAMESPACE")
	if namespace == "" {
		namespace = "svc"
	}
	directive := func(metric string, dimensions ...string) string {
		dimensions = append([]string{}, dimensions...)                 // a list, even without one
		text, _ := json.Marshal(map[string]any{"Namespace": namespace, // strings only
			"Metrics": []map[string]string{{"Name": metric, "Unit": "Count"}}, "Dimensions": [][]string{dimensions}})
		return string(text)
	}
	failures := directive("Failures", "Function")
	return &emitter{w: w, function: function, failures: failures,
		checks: failures + "," + directive("ChecksFailed")}
}

// request writes the line of a request: the metrics, and the members.
func (e *emitter) request(status int, check string, members ...member) {
	directives, failed := e.failures, 0
	if status >= http.StatusInternalServerError {
		failed = 1
	}
	if check != "" {
		directives = e.checks
		members = append(members, member{"Check", check}, member{"ChecksFailed", 1})
	}
	e.emit(directives, append(members, member{"Failures", failed})...)
}

// member is one member of a line: a name, and a string, an int or a float64.
type member struct {
	name  string
	value any
}

func (e *emitter) emit(directives string, members ...member) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := append(e.line[:0], `{"Function":"`...)
	b = append(append(b, e.function...), '"')
	for _, m := range members {
		b = append(append(append(b, `,"`...), m.name...), `":`...)
		switch v := m.value.(type) {
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case float64:
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		default:
			text, _ := json.Marshal(v) // a string
			b = append(b, text...)
		}
	}
	if directives != "" {
		b = strconv.AppendInt(append(b, `,"_aws":{"Timestamp":`...), time.Now().UnixMilli(), 10)
		b = append(append(append(b, `,"CloudWatchMetrics":[`...), directives...), "]}"...)
	}
	e.line = append(b, "}\n"...)
	_, _ = e.w.Write(e.line) // a closed log cannot be fixed here
}

// Metrics counts a function's failures (5xx) and failed checks. Its
// log line contains nothing else; everything else is in the request's own line.
// Calls of a smoke test do not count, so they turn no alarm red.
func Metrics(w io.Writer, function string) func(context.Context, api.Observation) {
	e := newEmitter(w, function)
	return func(ctx context.Context, o api.Observation) {
		if !gateway.Direct(ctx) {
			e.request(o.Status, FailedCheck(o))
		}
	}
}

// FailedCheck returns the check that rejected a request, "" if all passed:
// signature, revocation, scope (which includes the audience), permission,
// feature.
func FailedCheck(o api.Observation) string {
	switch {
	case o.Operation == "":
		return ""
	case o.Code == "unauthorized" && o.Tenant == "": // the token identified nobody
		return "signature"
	case o.Code == "unauthorized":
		return "revocation"
	case o.Code == "insufficient_scope":
		return "scope"
	case o.Code == "forbidden":
		return "permission"
	case o.Code == "feature_disabled":
		return "feature"
	}
	return ""
}

// measured counts the failures of a handler without rows: the authorization
// server. The server itself logs only rejected requests, so this line has the
// cost of each request. The operation is the second segment of the path, if the
// server knows it.
func measured(h http.Handler, w io.Writer, function string) http.Handler {
	e := newEmitter(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		ctx, code := protocol.Noted(r.Context())
		ctx, meter := table.Metered(ctx)
		h.ServeHTTP(seen, r.WithContext(ctx))
		if gateway.Direct(ctx) {
			return // as Metrics
		}
		used := meter.Usage()
		id := w.Header().Get(gateway.RequestHeader)
		members := []member{{"request_id", id}, {"Status", seen.code}, {"Latency", milli(time.Since(began))},
			{"ReadUnits", used.ReadUnits}, {"WriteUnits", used.WriteUnits + used.IndexUnits}}
		if seen.code != http.StatusNotFound {
			_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			operation, _, _ := strings.Cut(rest, "/")
			members = append(members, member{"Operation", operation})
		}
		if *code != "" {
			members = append(members, member{"Error", *code})
		}
		if given := gateway.Replaced(r.Context(), id); given != "" {
			members = append(members, member{"gateway_id", given})
		}
		e.request(seen.code, "", members...)
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

// lagged writes a line for each batch of a stream function: records, failed
// records, units, and milliseconds from the batch's oldest write to the end of
// the work. Lambda's own IteratorAge is the metric.
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
		members := []member{{"Records", len(event.Records)}, {"RecordsFailed", failed}, {"ReadUnits", used.ReadUnits},
			{"WriteUnits", used.WriteUnits + used.IndexUnits}}
		if !oldest.IsZero() {
			members = append(members, member{"Lag", max(0, milli(now().Sub(oldest)))})
		}
		e.emit("", members...)
		return answer, err
	}
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

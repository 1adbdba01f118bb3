package app

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
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

// lines writes one JSON line for each request or batch of a function. LOG_LEVEL
// does not suppress these lines, because the alarms need them: the metric
// filters in template.yaml count requests, failures and failed checks from
// them.
//
// CloudWatch bills each byte, so a line has no time (CloudWatch adds one), and
// no member that is empty or zero.
type lines struct {
	w        io.Writer
	function string // its name in template.yaml without the suffix, such as "Trips"

	mu  sync.Mutex
	buf line
}

// newLines returns lines that go to w. function is the function's name in template.yaml.
func newLines(w io.Writer, function string) *lines {
	return &lines{w: w, function: strings.TrimSuffix(function, "Function")}
}

// write writes one log line. fill adds the members of its JSON object.
func (l *lines) write(fill func(line) line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(fill(append(l.buf[:0], '{')), "}\n"...)
	_, _ = l.w.Write(l.buf) // a closed log cannot be fixed here
}

// line is the JSON object of a log line, while it is being written.
type line []byte

// addName begins a JSON member with the name. The caller appends the value.
func (b line) addName(name string) line {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), `":`...)
}

// addText adds a JSON member with a text, unless the text is empty.
func (b line) addText(name, value string) line {
	if value == "" {
		return b
	}
	b = b.addName(name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(value) // a string always has a JSON form
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), value...), '"')
}

// addNumber adds a JSON member with a number, unless the number is zero.
func (b line) addNumber(name string, value float64) line {
	if value == 0 {
		return b
	}
	return strconv.AppendFloat(b.addName(name), value, 'f', -1, 64)
}

// ids writes the request's id. If the caller chose that id, ids also writes the id that
// the gateway gave. It also writes the function, unless the request is a call of a smoke
// test: the metric filters count only lines that name a function, so such a call raises
// no alarm.
func (b line) ids(ctx context.Context, id, function string) line {
	b = b.addText("request_id", id).addText("gateway_id", gateway.Replaced(ctx, id))
	if gateway.Direct(ctx) {
		return b
	}
	return b.addText("function", function)
}

// cost writes the time (took), round trips and capacity units of a request. Each line of
// a request has the member ms, and no other line has it. Most requests make one round
// trip, so a line with units but without round_trips means one. If a single round trip
// consumed nothing, because it failed, cost writes round_trips too.
func (b line) cost(took time.Duration, used table.Usage) line {
	b = b.addNumber("ms", max(1, math.Round(took.Seconds()*1000)))
	if used.Sequential != 1 || used.ReadUnits+used.WriteUnits+used.IndexUnits == 0 {
		b = b.addNumber("round_trips", float64(used.Sequential))
	}
	return b.addNumber("read_units", used.ReadUnits).addNumber("write_units", used.WriteUnits+used.IndexUnits)
}

// Requests returns an observer that writes the log line of each request to w. function is
// the function's name in template.yaml.
func Requests(w io.Writer, function string) func(context.Context, api.Observation) {
	l := newLines(w, function)
	return func(ctx context.Context, o api.Observation) {
		l.write(func(b line) line {
			b = b.ids(ctx, o.RequestID, l.function).addText("operation", o.Operation).addNumber("status", float64(o.Status)).
				addText("error", o.Code).addText("check", FailedCheck(o))
			if o.Status >= http.StatusInternalServerError {
				b = b.addText("level", "ERROR")
				if o.Cause != nil {
					b = b.addText("cause", o.Cause.Error())
				}
			}
			b = b.addText("tenant_id", o.Tenant).addText("client_id", o.Client)
			if o.Agent {
				b = append(b.addName("agent"), "true"...)
			}
			return b.cost(o.Elapsed, o.Usage)
		})
	}
}

// FailedCheck returns the access check that rejected a request: signature,
// revocation, scope (which includes the audience), permission or feature. It
// returns "" if no access check did.
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

// measured wraps h, the handler of the authorization server, and writes the log line of
// each request to w. The API's handlers do so themselves (Requests). The operation is the
// second segment of the path, or "" for a response with status 404. The server itself
// logs the causes of failures.
func measured(h http.Handler, w io.Writer, function string) http.Handler {
	l := newLines(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		ctx, code := protocol.Noted(r.Context())
		ctx, meter := table.Metered(ctx)
		h.ServeHTTP(seen, r.WithContext(ctx))
		operation := ""
		if seen.code != http.StatusNotFound {
			_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			operation, _, _ = strings.Cut(rest, "/")
		}
		l.write(func(b line) line {
			return b.ids(ctx, w.Header().Get(gateway.RequestHeader), l.function).addText("operation", operation).
				addNumber("status", float64(seen.code)).addText("error", *code).cost(time.Since(began), meter.Usage())
		})
	})
}

// crashes wraps h. If h panics, crashes writes the log line of the request to w, because
// h writes none. The gateway package responds to such a request with 500 and logs the
// stack.
func crashes(h http.Handler, w io.Writer, function string) http.Handler {
	l := newLines(w, function)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, ended := time.Now(), false
		defer func() {
			if !ended {
				l.write(func(b line) line {
					return b.ids(r.Context(), gateway.RequestID(r, began), l.function).
						addNumber("status", http.StatusInternalServerError).addText("error", "server_error").
						addText("level", "ERROR").addText("cause", "panic").cost(time.Since(began), table.Usage{})
				})
			}
		}()
		h.ServeHTTP(w, r)
		ended = true
	})
}

// status is a ResponseWriter that remembers the response's status code.
type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// lagged wraps the handler h of a stream function. It writes a log line for each batch to
// w: records, failed records, units, and milliseconds from the batch's oldest write to
// the end of the work. No metric filter reads this lag. The alarm uses Lambda's metric
// IteratorAge.
func lagged(h StreamHandler, w io.Writer, function string, now func() time.Time) StreamHandler {
	l := newLines(w, function)
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		ctx, meter := table.Metered(ctx)
		answer, err := h(ctx, event)
		used := meter.Usage()
		failed := len(answer.BatchItemFailures)
		if err != nil {
			failed = len(event.Records)
		}
		lag := 0.0
		for _, r := range event.Records {
			if at := r.Change.ApproximateCreationDateTime.Time; !at.IsZero() {
				lag = max(lag, float64(now().Sub(at).Milliseconds()))
			}
		}
		l.write(func(b line) line {
			return b.addText("function", l.function).addNumber("records", float64(len(event.Records))).
				addNumber("records_failed", float64(failed)).addNumber("read_units", used.ReadUnits).
				addNumber("write_units", used.WriteUnits+used.IndexUnits).addNumber("lag_ms", lag)
		})
		return answer, err
	}
}

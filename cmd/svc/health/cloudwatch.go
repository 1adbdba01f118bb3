package health

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"svc/cmd/svc/cli"
	"svc/pkg/base/ids"
)

// Bounds of a search in CloudWatch Logs. filterLogs reads at most logPages pages of a log
// group, and stops after logLines lines. A search is for at most logIDs ids.
const (
	logPages = 100
	logLines = 100
	logIDs   = 20
)

// logLine is one line of the functions' or the gateway's log.
type logLine struct {
	Time time.Time       `json:"time"`
	Line json.RawMessage `json:"line"`
	// Nearby marks a line that Lambda or Go's runtime wrote, and that the search
	// found by time, not by id. The line may be about another request.
	Nearby bool `json:"nearby,omitempty"`
}

// deployedLogs finds the log lines of the functions and the gateway that contain the id
// of a request. A line may also name the gateway's own id of the request; then it finds
// the lines with that id too. The oldest line is first. If the gateway answered 5xx and
// no function logged the request, the result also has the lines about failures that
// Lambda or Go's runtime wrote at that time.
func deployedLogs(ctx context.Context, groups []string, id string, since time.Duration) ([]logLine, error) {
	if len(groups) == 0 {
		return nil, errors.New("the log groups are not known; set LOG_GROUP to the stack's output LogGroups")
	}
	cfg, err := cli.AWSConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	begin := time.Now().Add(-since)
	found, asked := []logLine{}, []string{}
	for next := []string{id}; len(next) > 0; next = otherIDs(found, asked) {
		asked = append(asked, next...)
		named := func(line []byte) bool { return mentions(line, next) }
		for _, group := range groups {
			lines, err := filterLogs(ctx, cfg, logFilter{group, anyOf(next), begin, time.Time{}}, named)
			if err != nil {
				return nil, err
			}
			found = append(found, lines...)
		}
	}
	if from, to, died := failedAt(found); died {
		for _, group := range groups {
			lines, err := filterLogs(ctx, cfg, logFilter{group, lambdaFailures(), from, to}, isLambdaFailure)
			if err != nil {
				return nil, err
			}
			found = append(found, nearby(lines, found)...)
		}
	}
	slices.SortStableFunc(found, func(a, b logLine) int {
		return cmp.Or(a.Time.Compare(b.Time), bytes.Compare(a.Line, b.Line))
	})
	return slices.CompactFunc(found, func(a, b logLine) bool {
		return a.Time.Equal(b.Time) && bytes.Equal(a.Line, b.Line)
	}), nil
}

// nearby returns those of lines that are not in known, with Nearby set.
func nearby(lines, known []logLine) (out []logLine) {
	for _, l := range lines {
		if !slices.ContainsFunc(known, func(k logLine) bool { return k.Time.Equal(l.Time) && bytes.Equal(k.Line, l.Line) }) {
			l.Nearby = true
			out = append(out, l)
		}
	}
	return out
}

// requestLine has the members that the search needs of a line about a request. A
// line with a route is the gateway's; a line without one is a function's.
type requestLine struct {
	ID      string   `json:"request_id"`
	Gateway string   `json:"gateway_id"`
	Status  int      `json:"status"`
	MS      *float64 `json:"ms"` // duration in milliseconds; only the line about a finished request has it
	Route   string   `json:"route"`
}

// requestLineOf decodes a line. It returns zero values for a line that is not a JSON
// object.
func requestLineOf(l logLine) (out requestLine) {
	_ = json.Unmarshal(l.Line, &out) // after an error, the members are empty
	return out
}

// otherIDs returns the gateway's ids that are in the lines but not in asked. asked
// and the result together have at most logIDs ids.
func otherIDs(lines []logLine, asked []string) (others []string) {
	for _, l := range lines {
		id := requestLineOf(l).Gateway
		known := slices.Contains(asked, id) || slices.Contains(others, id)
		if id != "" && !known && len(asked)+len(others) < logIDs {
			others = append(others, id)
		}
	}
	return others
}

// failedAt reports whether the gateway answered 5xx and no function wrote the
// line of the request. A timeout or a crash of the function is the usual cause.
// The returned time range begins one second before the request and ends two
// seconds after it.
func failedAt(lines []logLine) (from, to time.Time, died bool) {
	for _, l := range lines {
		switch r := requestLineOf(l); {
		case r.MS == nil: // not the line of a request
		case r.Route == "":
			return from, to, false
		case r.Status >= http.StatusInternalServerError:
			took := time.Duration(*r.MS) * time.Millisecond
			from, to, died = l.Time.Add(-took-time.Second), l.Time.Add(2*time.Second), true
		}
	}
	return from, to, died
}

// accessLine matches a line of the access log, whose format template.yaml sets: request
// id, status, milliseconds, the error of the gateway itself, and the route.
var accessLine = regexp.MustCompile(`^(` + ids.Request + `_\S+) (\d{3}) (\d+|-) (\S+) (.+)$`)

// parsedLine returns a log line as JSON. A line that is JSON stays as it is. A line of
// the gateway's access log becomes an object, and any other text a string.
func parsedLine(message string) json.RawMessage {
	text := strings.TrimSpace(message)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	var value any = message
	if m := accessLine.FindStringSubmatch(text); m != nil {
		status, _ := strconv.Atoi(m[2]) // three digits
		ms, _ := strconv.Atoi(m[3])     // digits, or no number: 0
		value = struct {
			RequestID string `json:"request_id"`
			Status    int    `json:"status"`
			MS        int    `json:"ms"`
			Error     string `json:"error"`
			Route     string `json:"route"`
		}{m[1], status, ms, m[4], m[5]}
	}
	line, _ := json.Marshal(value) // a string always has a JSON form
	return line
}

// lambdaTerms are texts in the lines that Lambda and Go's runtime write when an
// invocation fails. The template sets SystemLogLevel to WARN. Lambda then writes
// its own lines for failures only.
var lambdaTerms = []string{"platform.initReport", "platform.initRuntimeDone", "platform.report", "platform.runtimeDone",
	"platform.fault", "Task timed out", "Runtime.ExitError", "Runtime.OutOfMemory", "Runtime exited", "fatal error:",
	"panic:"}

// lambdaFailures returns the CloudWatch filter pattern for lines with one of lambdaTerms.
func lambdaFailures() string { return `?"` + strings.Join(lambdaTerms, `" ?"`) + `"` }

// isLambdaFailure reports whether a line has one of lambdaTerms and no member
// request_id. Only lines of the service and of the gateway have this member.
func isLambdaFailure(line []byte) bool {
	return requestLineOf(logLine{Line: line}).ID == "" && mentions(line, lambdaTerms)
}

// anyOf returns the CloudWatch filter pattern for lines with one of the ids in named. It
// also matches each id with the prefix req_, because the header Apigw-Requestid lacks the
// prefix that the logged id has.
func anyOf(named []string) string {
	var terms []string
	for _, id := range named {
		terms = append(terms, `?"`+printableID(id)+`"`)
		if !strings.HasPrefix(id, ids.Request+"_") {
			terms = append(terms, `?"`+ids.Request+"_"+printableID(id)+`"`)
		}
	}
	return strings.Join(terms, " ")
}

// mentions reports whether a line contains one of the terms.
func mentions(line []byte, terms []string) bool {
	return slices.ContainsFunc(terms, func(term string) bool { return bytes.Contains(line, []byte(term)) })
}

// logFilter selects the lines of a log group that FilterLogEvents returns. If to
// is zero, the time range has no end.
type logFilter struct {
	group, pattern string
	from, to       time.Time
}

// filterLogs reads the pages of FilterLogEvents and returns the lines for which
// matches returns true. It checks each line, because LocalStack also sends lines
// that the pattern does not match.
func filterLogs(ctx context.Context, cfg aws.Config, f logFilter, matches func([]byte) bool) ([]logLine, error) {
	request := cloudwatchlogs.FilterLogEventsInput{LogGroupName: &f.group, FilterPattern: &f.pattern,
		StartTime: aws.Int64(f.from.UnixMilli())}
	if !f.to.IsZero() {
		request.EndTime = aws.Int64(f.to.UnixMilli())
	}
	found := []logLine{}
	pages := cloudwatchlogs.NewFilterLogEventsPaginator(cloudwatchlogs.NewFromConfig(cfg), &request)
	for n := 0; n < logPages && len(found) < logLines && pages.HasMorePages(); n++ {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("CloudWatch Logs: %w", err)
		}
		for _, e := range page.Events {
			if line := parsedLine(aws.ToString(e.Message)); matches(line) {
				found = append(found, logLine{Time: time.UnixMilli(aws.ToInt64(e.Timestamp)).UTC(), Line: line})
			}
		}
	}
	return found, nil
}

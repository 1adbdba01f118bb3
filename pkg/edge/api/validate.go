package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
)

// invalid returns the faults of the request as one error, nil if there are none.
func (x *exchange) invalid() *fault.Error {
	if len(x.faults) == 0 {
		return nil
	}
	return fault.Invalid(x.faults...)
}

// blame adds a fault of the request, at most one per field. It bounds the
// number of faults and the length of a field's path.
func (x *exchange) blame(field, format string, args ...any) {
	field = shortened(field)
	known := slices.ContainsFunc(x.faults, func(d fault.Detail) bool { return d.Field == field })
	if len(x.faults) < mostFaults && !known {
		x.faults = append(x.faults, fault.Detail{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// inspect checks, once, what huma does not check: unknown, repeated, empty and
// malformed query parameters, a body that the operation does not take, and what
// walk finds in the body.
func (x *exchange) inspect() {
	if x.inspected {
		return
	}
	x.inspected = true
	if x.r.URL.RawQuery != "" {
		x.inspectQuery()
	}
	body := x.trimmed()
	if x.row.body == nil {
		if len(body) > 0 && string(body) != "{}" {
			x.blame("body", "expected no body, or {}")
		}
		return
	}
	if len(body) > 0 {
		found, short := walk(x.body, x.row.body, x.server.huma.OpenAPI().Components.Schemas,
			x.row.Method != http.MethodPatch)
		for _, d := range found {
			x.blame(d.Field, "%s", d.Message)
		}
		x.body = short
	}
}

// dateTime is the format of a time in a query. It accepts more than the format
// "date-time", which is RFC 3339.
const dateTime = "iso8601"

// inspectQuery adds the faults of the query that huma does not find.
func (x *exchange) inspectQuery() {
	values, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		x.blame("query", "malformed")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		p, known := x.row.query[name]
		switch {
		case !known:
			x.blame("query."+name, "unknown parameter")
		case len(given) > 1:
			x.blame("query."+name, "given more than once")
		case !utf8.ValidString(given[0]):
			x.blame("query."+name, "not UTF-8")
		case given[0] == "" && needsValue(p.Schema):
			x.blame("query."+name, "expected a value")
		case p.Schema.Format == dateTime:
			if _, err := timestamp.ParseInput(given[0]); err != nil {
				x.blame("query."+name, "%s", err)
			}
		case p.Schema.Type == huma.TypeInteger && given[0][0] == '+': // huma accepts a plus sign
			x.blame("query."+name, "invalid integer")
		}
	}
}

// needsValue reports whether "" is an invalid value of a parameter.
func needsValue(s *huma.Schema) bool {
	return s.Type != huma.TypeString || len(s.Enum) > 0 || s.Format != "" || s.MinLength != nil
}

// trimmed returns the body without surrounding white space. A body of only
// white space counts as absent.
func (x *exchange) trimmed() []byte { return bytes.Trim(x.body, " \t\r\n") }

// missing matches huma's message for a required member that is absent.
var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// complaint is the error type that huma requires. It has no details, because collect
// adds the faults to the exchange.
type complaint struct{ status int }

func (c complaint) Error() string  { return "the request is not valid" }
func (c complaint) GetStatus() int { return c.status }

// describe formats an error message of huma. It omits the text of a Go error, because
// that names Go's packages.
func describe(format string, args ...any) string {
	last := len(args) - 1
	if last < 0 {
		return format
	}
	if _, raw := args[last].(error); raw {
		args[last] = ""
		return strings.TrimSuffix(fmt.Sprintf(format, args...), ": ")
	}
	return fmt.Sprintf(format, args...)
}

func init() { //nolint:gochecknoinits // huma is configured by package variables only
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.ErrorFormatter = describe
	huma.NewError = func(status int, _ string, _ ...error) huma.StatusError { return complaint{status} }
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if ctx != nil {
			collect(ctx.Context(), msg, errs)
		}
		return complaint{status}
	}
}

// collect adds huma's errors to the faults of the exchange in ctx.
func collect(ctx context.Context, msg string, errs []error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return
	}
	if len(errs) == 0 {
		errs = []error{&huma.ErrorDetail{Location: "body", Message: msg}}
	}
	for _, err := range errs {
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			x.blame("body", "malformed")
			continue
		}
		if m := missing.FindStringSubmatch(d.Message); m != nil {
			x.blame(strings.TrimSuffix(d.Location, ".")+"."+m[1], "is required")
			continue
		}
		field := d.Location
		if field == "" {
			field = "body"
		}
		if field == "body" && strings.ContainsAny(d.Message, ":'") {
			d.Message = "malformed" // replaces the decoder's own text
			if slices.ContainsFunc(x.faults, func(known fault.Detail) bool { return strings.HasPrefix(known.Field, "body.") }) {
				continue // the fault that stopped the decoder is already reported
			}
		}
		x.blame(field, "%s", d.Message)
	}
}

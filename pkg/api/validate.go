package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/fault"
)

// invalid gives all faults of the request as one, nil when there are none.
func (x *exchange) invalid() *fault.Error {
	if len(x.faults) == 0 {
		return nil
	}
	return fault.Invalid(x.faults...)
}

// blame adds a fault of the request, one per field. Of very many the first are
// told, each by so much of its path: the answer must be one that can be kept for
// its Idempotency-Key.
func (x *exchange) blame(field, format string, args ...any) {
	field = shortened(field)
	if len(x.faults) < mostFaults && !slices.ContainsFunc(x.faults, func(d fault.Detail) bool { return d.Field == field }) {
		x.faults = append(x.faults, fault.Detail{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// inspect finds what huma would let pass: unknown, repeated and empty query
// parameters, and in the body what JSON leaves open.
func (x *exchange) inspect() {
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
		for _, d := range walk(x.body, x.row.body, x.server.huma.OpenAPI().Components.Schemas) {
			x.blame(d.Field, "%s", d.Message)
		}
	}
}

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
		case given[0] == "" && (p.Schema.Type != huma.TypeString || len(p.Schema.Enum) > 0 || p.Schema.Format != "" || p.Schema.MinLength != nil):
			x.blame("query."+name, "expected a value")
		case p.Schema.Type == huma.TypeInteger && given[0][0] == '+': // huma would take it
			x.blame("query."+name, "invalid integer")
		}
	}
}

// trimmed is the body without the blanks that JSON allows around a value: of
// nothing but blanks there is none.
func (x *exchange) trimmed() []byte { return bytes.Trim(x.body, " \t\r\n") }

var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// complaint is huma's report of what it found; the exchange has it already.
type complaint struct{ status int }

func (c complaint) Error() string  { return "the request is not valid" }
func (c complaint) GetStatus() int { return c.status }

func init() { //nolint:gochecknoinits // huma is configured by package variables only
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, _ string, _ ...error) huma.StatusError { return complaint{status} }
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if ctx != nil {
			collect(ctx.Context(), msg, errs)
		}
		return complaint{status}
	}
}

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
			d.Message = "malformed" // a decoder's own words
			if slices.ContainsFunc(x.faults, func(known fault.Detail) bool { return strings.HasPrefix(known.Field, "body.") }) {
				continue // what it stumbled over has been told
			}
		}
		x.blame(field, "%s", d.Message)
	}
}

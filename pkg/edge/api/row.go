package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Row is one endpoint: method, path, operation id, policy and handler.
type Row struct {
	Method  string
	Path    string // "/api/v1/trips/{id}"
	ID      string // operation id
	Policy  authz.Policy
	Status  int // of a successful response
	Tag     string
	Summary string
	Text    string         // description, Markdown
	NoEvent string         // why a change appends no event; "" if it does
	Confirm string         // what a person must confirm before an agent's call; "" if no confirmation is needed
	NoTool  authz.Audience // audience whose agents do not have the operation as a tool; "" for none

	// Idempotent means that a repeated POST changes nothing more.
	Idempotent bool

	// Extension marks what the specification does not have.
	Extension bool

	// Internal leaves the row out of the document and the tools: the MCP server calls
	// it for its own methods.
	Internal bool

	Versioned bool // the resource has an ETag
	Conflicts bool // a GET may get a 409
	Expires   bool // a cursor may get a 410

	Webhooks []Webhook // what is sent to endpoints of the tenants

	deprecated, sunset time.Time // zero for a row that stays

	idKind string // of the identifiers that the path may have; "" for any

	forms []Form // of the response, beside JSON

	maxAge   time.Duration // of the sign-in; 0 for any
	needs    func(table.Tenant, Peek) []table.Key
	streams  bool // the answer is Streamed
	maxBody  int  // in bytes
	recent   bool // the items of needs may be as old as recentTTL
	early    func(context.Context, table.Tenant, Peek) (any, error)
	register func(huma.API, huma.Operation)
}

// IDKind returns the kind of the identifier that the path's id is (One), or "" if the row
// does not say.
func (r Row) IDKind() string { return r.idKind }

// Streams reports whether the row responds with server-sent events.
func (r Row) Streams() bool { return r.streams }

// Handler does an endpoint's work for an authorized caller. In is a struct with
// huma's tags. Out is the JSON body of the response.
type Handler[In, Out any] func(ctx context.Context, c *Caller, in *In) (*Out, error)

// Option sets an optional property of a row.
type Option func(*Row)

// Created makes the row respond with 201.
func Created() Option { return func(r *Row) { r.Status = http.StatusCreated } }

// Tag names the row's group in the document.
func Tag(name string) Option { return func(r *Row) { r.Tag = name } }

// Summary sets the row's title in the document.
func Summary(text string) Option { return func(r *Row) { r.Summary = text } }

// Text sets the row's description in the document.
func Text(markdown string) Option { return func(r *Row) { r.Text = markdown } }

// NoEvent gives the reason why a change appends no event. docs/events.md shows the reason.
func NoEvent(why string) Option { return func(r *Row) { r.NoEvent = why } }

// Confirm makes an agent ask a person first, unless the tenant's agentActions
// is "all". The text says what the operation does to people or money. The text
// follows the row's title in the question to the person, and is a part of the
// tool's description.
func Confirm(text string) Option { return func(r *Row) { r.Confirm = text } }

// Conflicts says that a GET may get a 409, because the resource does not exist in
// the present state of another one.
func Conflicts() Option { return func(r *Row) { r.Conflicts = true } }

// Expires says that a request may get a 410, because what its cursor names has been
// deleted.
func Expires() Option { return func(r *Row) { r.Expires = true } }

// NoTool leaves the row out of the tools of an audience to which it is of no use.
func NoTool(a authz.Audience) Option { return func(r *Row) { r.NoTool = a } }

// Internal marks an operation that only the MCP server calls, for its own methods.
func Internal() Option { return func(r *Row) { r.Internal = true } }

// Idempotent says that a repeated POST changes nothing more, like a PUT. The
// MCP server then adds no Idempotency-Key to a call, unless a person confirmed
// the call.
func Idempotent() Option { return func(r *Row) { r.Idempotent = true } }

// Needs names items to read in the same batch as the checks' items. The handler
// reads them with Caller.Item. keys is called before the request is validated.
func Needs(keys func(t table.Tenant, p Peek) []table.Key) Option {
	return func(r *Row) { r.needs = keys }
}

// One is Needs for the item that the path's id names. A path without an identifier
// of the kind gets a 404.
func One(kind string, key func(table.Tenant, string) table.Key) Option {
	return func(r *Row) {
		r.idKind = kind
		r.needs = func(t table.Tenant, p Peek) []table.Key {
			if id := p.Path("id"); ids.Valid(kind, id) {
				return []table.Key{key(t, id)}
			}
			return nil
		}
	}
}

// NeedsRecent is Needs for items that may be a second old. A process reads an
// item that exists about once a second, however many requests it serves. This
// avoids a hot key. What a caller may do must never depend on such an item.
func NeedsRecent(keys func(t table.Tenant, p Peek) []table.Key) Option {
	return func(r *Row) { r.needs, r.recent = keys, true }
}

// Deprecated announces the end of an operation: since when it is deprecated (RFC
// 9745), and the earliest time at which it may end (RFC 8594).
func Deprecated(since, sunset time.Time) Option {
	return func(r *Row) { r.deprecated, r.sunset = since, sunset }
}

// Extension marks an operation that the specification does not have.
func Extension() Option { return func(r *Row) { r.Extension = true } }

// Webhook is a message that is sent to endpoints of the tenants.
type Webhook struct {
	Name, Text string
	Body       any // an example of the message, whose type is the schema
	Answer     any // an example of the response; nil if any 2xx will do
}

// Sends lists messages in the document's webhooks.
func Sends(webhooks ...Webhook) Option { return func(r *Row) { r.Webhooks = webhooks } }

// Early reads what the handler of a change needs while the checks are under way.
// The handler gets the result from EarlyOf. read must not change anything, and
// its result is discarded if a check fails. What the request names is not validated
// yet. Use it for what no key names, because Needs costs no request of its own.
func Early[T any](read func(ctx context.Context, t table.Tenant, p Peek) (T, error)) Option {
	return func(r *Row) {
		r.early = func(ctx context.Context, t table.Tenant, p Peek) (any, error) { return read(ctx, t, p) }
	}
}

// Fresh requires that the person has signed in within the seconds. Else the response is a
// 401 that names max_age (RFC 9470).
func Fresh(seconds int) Option {
	return func(r *Row) { r.maxAge = time.Duration(seconds) * time.Second }
}

// MaxAge returns how old the sign-in may be, 0 if it may have any age.
func (r Row) MaxAge() time.Duration { return r.maxAge }

// LongBody lets the request have a body of LongestBody.
func LongBody() Option { return func(r *Row) { r.maxBody = LongestBody } }

// Get returns a row that reads. Its handler may start before the checks have
// passed, so it must not change anything.
func Get[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodGet, path, id, p, h, options)
}

// Post returns a row that changes something. It accepts an Idempotency-Key.
func Post[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodPost, path, id, p, h, options)
}

// Put returns a row that replaces a resource. A repeated request changes nothing
// more.
func Put[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodPut, path, id, p, h, options)
}

// Patch returns a row that changes part of a resource.
func Patch[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodPatch, path, id, p, h, options)
}

// Delete returns a row that removes something.
func Delete[In, Out any](path, id string, p authz.Policy, h Handler[In, Out], options ...Option) Row {
	return row(http.MethodDelete, path, id, p, h, options)
}

func row[In, Out any](method, path, id string, p authz.Policy, h Handler[In, Out], options []Option) Row {
	r := Row{Method: method, Path: path, ID: id, Policy: p, Status: http.StatusOK, maxBody: MaxBody}
	_, r.streams = any((*Out)(nil)).(Streamed)
	for _, set := range options {
		set(&r)
	}
	type output struct{ Body Out }
	r.register = func(a huma.API, op huma.Operation) {
		huma.Register(a, op, func(ctx context.Context, in *In) (*output, error) {
			x := exchangeOf(ctx)
			if x.invalid() != nil {
				return nil, nil
			}
			x.handled = true
			if r.idKind != "" && !ids.Valid(r.idKind, x.r.PathValue("id")) {
				x.err = fault.NotFound()
				return nil, nil
			}
			if x.asks {
				x.err = errUnconfirmed
				return nil, nil
			}
			out, err := h(ctx, x.caller, in)
			x.err = err
			if out != nil {
				x.answer = out
			}
			return nil, nil
		})
	}
	return r
}

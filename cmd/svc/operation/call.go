package operation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/app"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// calls sends requests to operations of the API, within this process, as the platform's
// operator in one tenant.
type calls struct {
	p      cli.Platform
	t      table.Tenant
	server *api.Server
	cause  error // why the last request failed
}

// openCalls returns calls to the API for the tenant t.
func openCalls(p cli.Platform, t table.Tenant) (*calls, error) {
	c := &calls{p: p, t: t}
	var err error
	c.server, err = api.New(api.Config{DB: p.DB, BaseURL: p.BaseURL, Local: p.Data != "", Phones: plans.Read,
		Sealer: p.Sealer(app.WebhookSealer), Answers: p.Sealer(app.AnswerSealer),
		Logger: slog.New(slog.DiscardHandler), Observe: func(_ context.Context, o api.Observation) { c.cause = o.Cause }},
		app.OperatorRows(p.DB)...)
	return c, err
}

// callsFor is openCalls for the tenant with the slug, in the service that the command operates.
func callsFor(ctx context.Context, c *cli.CLI, slug string) (*calls, error) {
	p, t, err := c.At(ctx, slug)
	if err != nil {
		return nil, err
	}
	return openCalls(p, t)
}

// apiRequest is a request to an operation of the API.
type apiRequest struct {
	path  []string // values of the path's parameters, in order
	query url.Values
	body  any
	key   string // Idempotency-Key, "" for none
}

// call sends the request and returns the body of the response.
func (c *calls) call(ctx context.Context, r api.Row, in apiRequest) (json.RawMessage, error) {
	path := r.Path
	for _, value := range in.path {
		begin, end := strings.Index(path, "{"), strings.Index(path, "}")
		path = path[:begin] + url.PathEscape(value) + path[end+1:]
	}
	var body io.Reader = http.NoBody
	if in.body != nil {
		text, err := json.Marshal(in.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	out, err := http.NewRequestWithContext(ctx, r.Method, "http://svc.invalid"+path+"?"+in.query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if in.key != "" {
		out.Header.Set("Idempotency-Key", in.key)
	}
	answer := &recorder{header: http.Header{}}
	c.server.Operate(answer, out, c.t.ID(), cli.By().Who)
	if answer.status >= http.StatusBadRequest {
		return nil, c.fault(answer)
	}
	return answer.body.Bytes(), nil
}

// recorder is an http.ResponseWriter that keeps the response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// fault returns the error that a response with a status of 400 or more stands for. For an internal
// error it returns the cause, which clients of the API do not see.
func (c *calls) fault(answer *recorder) error {
	if answer.status >= http.StatusInternalServerError && c.cause != nil {
		return c.cause
	}
	var said api.ErrorBody
	if err := json.Unmarshal(answer.body.Bytes(), &said); err != nil {
		return fmt.Errorf("the operation ended with the status %d", answer.status)
	}
	kinds := map[int]fault.Kind{http.StatusBadRequest: fault.KindInvalid, http.StatusNotFound: fault.KindNotFound}
	f := &fault.Error{Kind: cmp.Or(kinds[answer.status], fault.KindState), Message: said.Description}
	for _, d := range said.Details {
		d.Field, _, _ = strings.Cut(strings.TrimPrefix(d.Field, "query."), "[")
		f.Details = append(f.Details, d)
	}
	return f
}

// operate runs the generated command of an operation: it checks the command line, calls the
// operation and shows the response. in has the values of the flags by field.
func operate(ctx context.Context, c *cli.CLI, cmd *cobra.Command, op *Operation, in map[string]*cli.FlagValue,
	args []string) error {
	if err := op.check(in, args); err != nil {
		return err
	}
	from, err := callsFor(ctx, c, args[0])
	if err != nil {
		return err
	}
	r, err := op.request(ctx, cmd, in, args, from.t)
	if err != nil {
		return err
	}
	if op.Lists {
		return showList(ctx, c, from, op, r, in["limit"])
	}
	answer, err := from.answer(ctx, op, r)
	if err != nil {
		return err
	}
	return showAnswer(ctx, c, from, op, args, answer)
}

// answer calls the operation and returns the response. If op.then names an operation that reads the
// resource, answer adds that resource's members to the response (see after).
func (c *calls) answer(ctx context.Context, op *Operation, r apiRequest) (json.RawMessage, error) {
	answer, err := c.call(ctx, op.Row, r)
	if len(r.path) > 0 {
		err = cli.Missing(err, op.noun(), r.path[len(r.path)-1])
	}
	if err == nil && op.then != "" {
		answer, err = c.after(ctx, op, r, answer)
	}
	return answer, err
}

// Ask calls the operation with the id, whose path has no parameter, and returns the response. body
// becomes the JSON body.
func Ask(ctx context.Context, p cli.Platform, t table.Tenant, id string, body any) (json.RawMessage, error) {
	op, err := Of(id)
	if err != nil {
		return nil, err
	}
	from, err := openCalls(p, t)
	if err != nil {
		return nil, err
	}
	return from.call(ctx, op.Row, apiRequest{body: body})
}

// Perform calls the operation with the id for a command that is written by hand, and
// shows the response. The first argument is the tenant's slug. The second identifies the
// resource in the path.
func Perform(ctx context.Context, c *cli.CLI, id string, args []string, body map[string]any) error {
	op, err := Of(id)
	if err != nil {
		return err
	}
	from, err := callsFor(ctx, c, args[0])
	if err != nil {
		return err
	}
	r := apiRequest{path: []string{""}}
	if op.Described.RequestBody != nil {
		r.body = body
	}
	if r.path[0], err = Identified(ctx, from.t, op.kind(), args[1]); err != nil {
		return err
	}
	answer, err := from.answer(ctx, op, r)
	if err != nil {
		return err
	}
	return showAnswer(ctx, c, from, op, args, answer)
}

// check returns the faults of a command line. It needs no service. in has the values of the flags
// by field; check also sets those that arguments give.
func (op *Operation) check(in map[string]*cli.FlagValue, args []string) error {
	for i, name := range op.extra {
		if at := 1 + len(op.Parameters) + i; at < len(args) {
			g := in[name]
			if words := g.Words(); words != nil {
				if err := cli.Known(name, args[at], words); err != nil {
					return err
				}
			}
			if err := g.Set(args[at]); err != nil {
				return cli.Usagef("%s: %v", name, err)
			}
		}
	}
	var missing []error
	something := false
	for _, f := range op.Fields {
		g := in[f.Name]
		something = something || g.Given
		if op.Needs(f) && !g.Given {
			text, _, _ := strings.Cut(strings.ReplaceAll(g.Text, "`", ""), ". ")
			missing = append(missing, cli.Usagef("--%s is missing: %s", f.Flag(), strings.TrimSuffix(text, ".")))
		}
	}
	if op.Method == http.MethodPatch && !something {
		return cli.Usagef("nothing to change: give a flag")
	}
	return errors.Join(missing...)
}

// request returns the API request that a command line stands for.
func (op *Operation) request(ctx context.Context, cmd *cobra.Command, in map[string]*cli.FlagValue, args []string,
	t table.Tenant) (r apiRequest, err error) {
	r.query = url.Values{}
	for i, value := range args[1 : 1+len(op.Parameters)] {
		if i == 0 {
			if value, err = Identified(ctx, t, op.kind(), value); err != nil {
				return r, err
			}
		}
		r.path = append(r.path, value)
	}
	body := map[string]any{}
	if op.Described.RequestBody != nil {
		r.body = body
	}
	for name, old := range op.old {
		if cmd.Flags().Changed(name) {
			cmd.Annotations[old.member] = name // errors name the flag that was given
		}
	}
	for _, f := range op.Fields {
		g := in[f.Name]
		if !g.Given {
			continue
		}
		if kind := personal[f.Name]; kind != "" && len(g.Texts) == 1 && g.Texts[0] != "" {
			if g.Texts[0], err = Identified(ctx, t, kind, g.Texts[0]); err != nil {
				return r, err
			}
		}
		value, err := g.Value()
		switch {
		case err != nil:
			return r, err
		case f.Name == cli.IdempotencyKey:
			r.key = g.Texts[0]
		case f.Query:
			r.query.Set(f.Name, g.Texts[0])
		default:
			nest(body, strings.Split(f.Name, "."), value)
		}
	}
	return r, nil
}

// nest sets a member of a request body. It creates the objects on the path to the member.
func nest(body map[string]any, path []string, value json.RawMessage) {
	for _, name := range path[:len(path)-1] {
		inner, ok := body[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			body[name] = inner
		}
		body = inner
	}
	body[path[len(path)-1]] = value
}

// personal maps the members that identify a rider, a driver or a trip to the kind of the
// identifier. A command line may give a mail address or a code in place of the identifier (see
// Identified).
var personal = map[string]string{"customerId": ids.Customer, "driverId": ids.Driver, "tripId": ids.Trip}

// Identified returns the identifier of the rider or driver with a mail address, or of the trip or
// order with a code. kind is the kind of the identifier (package ids). Any other name is returned
// unchanged.
func Identified(ctx context.Context, t table.Tenant, kind, name string) (string, error) {
	switch {
	case kind == ids.Customer && strings.Contains(name, "@"):
		one, err := cli.FindRider(ctx, t, name)
		return one.ID, err
	case kind == ids.Driver && strings.Contains(name, "@"):
		one, err := cli.FindDriver(ctx, t, name)
		return one.ID, err
	case kind == ids.Trip && len(name) == cli.CodeLength:
		_, one, err := cli.ReadTrip(ctx, t, name)
		return one.ID, err
	case kind == ids.Order && len(name) == cli.CodeLength:
		return cli.OrderByCode(ctx, t, name)
	}
	return name, nil
}

// after reads the resource with the operation op.then. It returns the resource's members, with
// those of answer in place of the members of the same names.
func (c *calls) after(ctx context.Context, op *Operation, r apiRequest, answer json.RawMessage) (json.RawMessage,
	error) {
	read, err := Of(op.then)
	if err != nil {
		return nil, err
	}
	whole, err := c.call(ctx, read.Row, apiRequest{path: r.path[:1]})
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(whole, &members), json.Unmarshal(answer, &members)); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// items reads a list page by page, up to limit items.
func (c *calls) items(ctx context.Context, op *Operation, r apiRequest, limit int) ([]json.RawMessage, error) {
	paged := op.pages && op.field("limit") != nil
	return cli.All(limit, func(after string, some int) ([]json.RawMessage, string, error) {
		if paged {
			r.query.Set("limit", strconv.Itoa(some))
		}
		if after != "" {
			r.query.Set("cursor", after)
		}
		answer, err := c.call(ctx, op.Row, r)
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next_cursor"`
		}
		if err == nil {
			err = json.Unmarshal(answer, &page)
		}
		if !paged && len(page.Items) > some {
			page.Items = page.Items[:some]
		}
		return page.Items, page.Next, err
	})
}

// SettingsBody returns the request body that changes a tenant's settings. values has the new values
// by dotted name, such as payments.cash.
func SettingsBody(values map[string]string) (map[string]any, error) {
	op, err := Of("svc_update_settings")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range op.Fields {
		if strings.Contains(f.Name, ".") {
			names = append(names, f.Name)
		}
	}
	body, errs := map[string]any{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := cli.Known("setting", name, names); err != nil {
			return nil, err
		}
		g := &cli.FlagValue{Field: *op.field(name)}
		value, err := g.Parse(values[name], g.Schema)
		if err != nil {
			errs = append(errs, cli.Usagef("%s=%s: %v", name, values[name], err))
			continue
		}
		nest(body, strings.Split(name, "."), value)
	}
	return body, errors.Join(errs...)
}

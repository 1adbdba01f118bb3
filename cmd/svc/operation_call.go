package main

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

	"svc/pkg/app"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// calls is where a command calls operations of the API for the platform's operator, within
// this process.
type calls struct {
	p      platform
	t      table.Tenant
	server *api.Server
	cause  error // of the last request, if it failed
}

// openCalls opens the API for the tenant.
func (p platform) openCalls(t table.Tenant) (*calls, error) {
	c := &calls{p: p, t: t}
	var err error
	c.server, err = api.New(api.Config{DB: p.db, BaseURL: p.baseURL, Local: p.data != "", Phones: plans.Read,
		Sealer: p.sealer(app.WebhookSealer), Answers: p.sealer(app.AnswerSealer),
		Logger: slog.New(slog.DiscardHandler), Observe: func(_ context.Context, o api.Observation) { c.cause = o.Cause }},
		app.OperatorRows(p.db)...)
	return c, err
}

// callsFor opens the API for the tenant with the slug, at the target of the command.
func (c *cli) callsFor(ctx context.Context, slug string) (*calls, error) {
	p, t, err := c.at(ctx, slug)
	if err != nil {
		return nil, err
	}
	return p.openCalls(t)
}

// apiRequest is a call of an operation.
type apiRequest struct {
	path  []string
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
	c.server.Operate(answer, out, c.t.ID(), by().Who)
	if answer.status >= http.StatusBadRequest {
		return nil, c.fault(answer)
	}
	return answer.body.Bytes(), nil
}

// recorder keeps a response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// fault returns the error of a response. For an internal error it is the cause, which a
// client of the API does not see.
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

// operate runs the command of an operation.
func (c *cli) operate(ctx context.Context, cmd *cobra.Command, op *operation, in map[string]*flagValue,
	args []string) error {
	if err := op.check(in, args); err != nil {
		return err
	}
	from, err := c.callsFor(ctx, args[0])
	if err != nil {
		return err
	}
	r, err := op.request(ctx, cmd, in, args, from.t)
	if err != nil {
		return err
	}
	if op.lists {
		return c.showList(ctx, from, op, r, in["limit"])
	}
	answer, err := from.answer(ctx, op, r)
	if err != nil {
		return err
	}
	return c.showAnswer(ctx, from, op, args, answer)
}

// answer calls the operation, and returns the response with what the resource has after it.
func (c *calls) answer(ctx context.Context, op *operation, r apiRequest) (json.RawMessage, error) {
	answer, err := c.call(ctx, op.Row, r)
	if len(r.path) > 0 {
		err = missing(err, op.noun(), r.path[len(r.path)-1])
	}
	if err == nil && op.then != "" {
		answer, err = c.after(ctx, op, r, answer)
	}
	return answer, err
}

// ask calls an operation whose path has no parameter, and returns the response.
func (p platform) ask(ctx context.Context, t table.Tenant, id string, body any) (json.RawMessage, error) {
	op, err := operationOf(id)
	if err != nil {
		return nil, err
	}
	from, err := p.openCalls(t)
	if err != nil {
		return nil, err
	}
	return from.call(ctx, op.Row, apiRequest{body: body})
}

// perform calls an operation for a command that is written by hand, and shows the response.
// The first argument is the tenant, the second what the path names.
func (c *cli) perform(ctx context.Context, id string, args []string, body map[string]any) error {
	op, err := operationOf(id)
	if err != nil {
		return err
	}
	from, err := c.callsFor(ctx, args[0])
	if err != nil {
		return err
	}
	r := apiRequest{path: []string{""}}
	if op.Described.RequestBody != nil {
		r.body = body
	}
	if r.path[0], err = identified(ctx, from.t, op.kind(), args[1]); err != nil {
		return err
	}
	answer, err := from.answer(ctx, op, r)
	if err != nil {
		return err
	}
	return c.showAnswer(ctx, from, op, args, answer)
}

// check returns what is wrong with a command line, all at once, before the service is found.
func (op *operation) check(in map[string]*flagValue, args []string) error {
	for i, name := range op.extra {
		if at := 1 + len(op.parameters) + i; at < len(args) {
			g := in[name]
			if words := g.words(); words != nil {
				if err := known(name, args[at], words); err != nil {
					return err
				}
			}
			if err := g.Set(args[at]); err != nil {
				return usagef("%s: %v", name, err)
			}
		}
	}
	var missing []error
	something := false
	for _, f := range op.fields {
		g := in[f.name]
		something = something || g.given
		if op.needs(f) && !g.given {
			text, _, _ := strings.Cut(strings.ReplaceAll(g.text, "`", ""), ". ")
			missing = append(missing, usagef("--%s is missing: %s", f.flag(), strings.TrimSuffix(text, ".")))
		}
	}
	if op.Method == http.MethodPatch && !something {
		return usagef("nothing to change: give a flag")
	}
	return errors.Join(missing...)
}

// request makes the request of a command line.
func (op *operation) request(ctx context.Context, cmd *cobra.Command, in map[string]*flagValue, args []string,
	t table.Tenant) (r apiRequest, err error) {
	r.query = url.Values{}
	for i, value := range args[1 : 1+len(op.parameters)] {
		if i == 0 {
			if value, err = identified(ctx, t, op.kind(), value); err != nil {
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
	for _, f := range op.fields {
		g := in[f.name]
		if !g.given {
			continue
		}
		if kind := personal[f.name]; kind != "" && len(g.texts) == 1 && g.texts[0] != "" {
			if g.texts[0], err = identified(ctx, t, kind, g.texts[0]); err != nil {
				return r, err
			}
		}
		value, err := g.value()
		switch {
		case err != nil:
			return r, err
		case f.name == idempotencyKey:
			r.key = g.texts[0]
		case f.query:
			r.query.Set(f.name, g.texts[0])
		default:
			nest(body, strings.Split(f.name, "."), value)
		}
	}
	return r, nil
}

// nest sets a member of a body. An object within it is there if one of its members is.
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

// personal are the members that name somebody, or a trip, and the kind of the identifier.
var personal = map[string]string{"customerId": ids.Customer, "driverId": ids.Driver, "tripId": ids.Trip}

// identified returns the identifier of what people name otherwise: a rider or a driver by the
// mail address, a trip or an order by its code.
func identified(ctx context.Context, t table.Tenant, kind, name string) (string, error) {
	switch {
	case kind == ids.Customer && strings.Contains(name, "@"):
		one, err := findRider(ctx, t, name)
		return one.ID, err
	case kind == ids.Driver && strings.Contains(name, "@"):
		one, err := findDriver(ctx, t, name)
		return one.ID, err
	case kind == ids.Trip && len(name) == codeLength:
		_, one, err := readTrip(ctx, t, name)
		return one.ID, err
	case kind == ids.Order && len(name) == codeLength:
		return orderByCode(ctx, t, name)
	}
	return name, nil
}

// after adds what the resource has after the change to a response that shows a part of it.
func (c *calls) after(ctx context.Context, op *operation, r apiRequest, answer json.RawMessage) (json.RawMessage,
	error) {
	read, err := operationOf(op.then)
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
func (c *calls) items(ctx context.Context, op *operation, r apiRequest, limit int) ([]json.RawMessage, error) {
	paged := op.pages && op.field("limit") != nil
	return all(limit, func(after string, some int) ([]json.RawMessage, string, error) {
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

// settingsBody returns the body that sets the settings with dotted names.
func settingsBody(values map[string]string) (map[string]any, error) {
	op, err := operationOf("svc_update_settings")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range op.fields {
		if strings.Contains(f.name, ".") {
			names = append(names, f.name)
		}
	}
	body, errs := map[string]any{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := known("setting", name, names); err != nil {
			return nil, err
		}
		g := &flagValue{field: *op.field(name)}
		value, err := g.parse(values[name], g.schema)
		if err != nil {
			errs = append(errs, usagef("%s=%s: %v", name, values[name], err))
			continue
		}
		nest(body, strings.Split(name, "."), value)
	}
	return body, errors.Join(errs...)
}

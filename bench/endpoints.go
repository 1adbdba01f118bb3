package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"svc/internal/test/replay"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

// endpoint is one request to measure.
type endpoint struct {
	Audience authz.Audience
	Name     string // method and path, as in "GET /trips"
	Before   string // names of the steps to take before each request, separated by spaces (see step)
	Body     string // "" for none
}

// endpointOf returns the endpoint of a request from the list requests.yaml
// (replay.Listed).
func endpointOf(r replay.Request) endpoint {
	return endpoint{r.As, strings.Replace(r.Send, "/api/v1", "", 1), r.Before, cmp.Or(r.Instead, r.Body)}
}

// title is the endpoint's title in progress and documents.
func (e endpoint) title() string { return e.Name + " (" + string(e.Audience) + ")" }

// endpoints returns an endpoint for each route of /api/v1 that can be measured: those
// that requests.yaml lists, and every other GET without path parameters. without has the
// names of the routes that nobody has listed yet, and that therefore cannot be measured.
func endpoints() (all []endpoint, without []string) {
	for _, r := range replay.Listed().Requests {
		if r.As != "" {
			all = append(all, endpointOf(r))
		}
	}
	listed := all
	for _, r := range app.Rows(nil) {
		if slices.ContainsFunc(listed, func(e endpoint) bool { return e.is(r) }) {
			continue
		}
		name := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
		if r.Method != http.MethodGet || strings.Contains(r.Path, "{") {
			without = append(without, name)
			continue
		}
		as := slices.IndexFunc(authz.Audiences, func(a authz.Audience) bool { return r.Policy.Scopes[a] != "" })
		all = append(all, endpoint{Audience: authz.Audiences[as], Name: name})
	}
	return all, without
}

// is reports whether the endpoint sends a request to the API row (route) r.
func (e endpoint) is(r api.Row) bool {
	name, _, _ := strings.Cut(e.Name, "?")
	want := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
	return parameter.ReplaceAllString(name, "{}") == parameter.ReplaceAllString(want, "{}")
}

// parameter matches a path parameter, or a name for fill to replace, such as {trip}.
var parameter = regexp.MustCompile(`\{[A-Za-z]+\}`)

// next takes the steps that the endpoint needs before its next request. It returns the
// API Gateway event of the request, and the name of the Lambda function that handles it.
func (e endpoint) next(ctx context.Context, w *world) (function string, raw json.RawMessage, err error) {
	for name := range strings.FieldsSeq(e.Before) {
		if err := w.step(ctx, name); err != nil {
			return "", nil, fmt.Errorf("preparing, %s: %w", name, err)
		}
	}
	return w.event(e.Audience, e.Name, e.Body)
}

// event returns the API Gateway event of a request, and the name of the Lambda function
// that handles it. name is the method and the path.
func (w *world) event(audience authz.Audience, name, body string) (function string, raw json.RawMessage, err error) {
	method, target, _ := strings.Cut(name, " ")
	if strings.HasPrefix(target, "/oauth/") {
		target, _, _ = strings.Cut(target, " ") // the name of this endpoint ends with the grant type
		raw, err = replay.Event("", "application/x-www-form-urlencoded", method, target, w.fill(body))
		return app.OAuth, raw, err
	}
	target = "/api/v1" + w.fill(target)
	path, _, _ := strings.Cut(target, "?")
	raw, err = replay.Event(w.tokens[audience], "application/json", method, target, w.fill(body))
	return app.FunctionOf(path), raw, err
}

// call sends one request to a function in this process and returns the response body.
// name is the method and the path.
func (w *world) call(ctx context.Context, audience authz.Audience, name, body string) ([]byte, error) {
	function, raw, err := w.event(audience, name, body)
	if err != nil {
		return nil, err
	}
	return w.send(ctx, function, raw)
}

// send calls a function of this process with an API Gateway event and returns the
// response body.
func (w *world) send(ctx context.Context, function string, event json.RawMessage) ([]byte, error) {
	out, err := w.functions[function](ctx, event)
	if err != nil {
		return nil, err
	}
	return bodyOf(out)
}

// statusError is the error of a status other than 2xx.
type statusError struct {
	status int
	body   string
}

// Error returns the status and the response body.
func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

// older reports whether the status can mean that an older build lacks the endpoint: that
// build does not know the path, the method, or a member of the request.
func (e *statusError) older() bool {
	return e.status == http.StatusNotFound || e.status == http.StatusMethodNotAllowed || e.status == http.StatusBadRequest
}

// bodyOf returns the body of a function's response. For a status other than 2xx it
// returns an error.
func bodyOf(out json.RawMessage) ([]byte, error) {
	var answer struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, &statusError{answer.StatusCode, answer.Body}
	}
	return []byte(answer.Body), nil
}

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/app/replay"
	"svc/pkg/edge/api"
)

// endpoint is one request to measure. requests.yaml explains the members.
type endpoint struct {
	Audience authz.Audience `yaml:"as"`
	Name     string         `yaml:"send"` // method and path, as the table shows it
	Before   string         `yaml:"before"`
	Body     string         `yaml:"body"` // "" for none
	Keep     string         `yaml:"keep"` // of a step
}

//go:embed requests.yaml
var requestsFile []byte

// listed is the content of requests.yaml.
var listed = sync.OnceValue(func() (all struct {
	Steps            map[string]endpoint
	Requests, Grants []endpoint
}) {
	decoder := yaml.NewDecoder(bytes.NewReader(requestsFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil {
		panic("requests.yaml: " + err.Error())
	}
	return all
})

// title is the endpoint's title in progress and documents.
func (e endpoint) title() string { return e.Name + " (" + string(e.Audience) + ")" }

// marked returns an endpoint's title with the request formatted as code.
func marked(title string) string {
	request, audience, _ := strings.Cut(title, " (")
	return "`" + request + "` (" + audience
}

// endpoints returns an endpoint for each row of /api/v1 that can be measured: all
// requests, and each other GET without path parameters. Other rows have no endpoint
// until somebody adds one to requests.yaml; endpoints names them.
func endpoints() (all []endpoint, without []string) {
	all = slices.Clone(listed().Requests)
	for _, r := range app.Rows(nil) {
		if slices.ContainsFunc(listed().Requests, func(e endpoint) bool { return e.is(r) }) {
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
	return append(all, listed().Grants...), without
}

// is reports whether the endpoint is a request to the row.
func (e endpoint) is(r api.Row) bool {
	name, _, _ := strings.Cut(e.Name, "?")
	want := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
	return parameter.ReplaceAllString(name, "{}") == parameter.ReplaceAllString(want, "{}")
}

var parameter = regexp.MustCompile(`\{[A-Za-z]+\}`)

// next prepares the endpoint's next request. It returns the gateway's event, and the
// function that handles it.
func (e endpoint) next(ctx context.Context, w *world) (function string, raw json.RawMessage, err error) {
	for name := range strings.FieldsSeq(e.Before) {
		if err := w.step(ctx, name); err != nil {
			return "", nil, fmt.Errorf("preparing, %s: %w", name, err)
		}
	}
	return w.event(e.Audience, e.Name, e.Body)
}

// event returns the gateway's event of a request, and the function that handles it.
func (w *world) event(audience authz.Audience, name, body string) (function string, raw json.RawMessage, err error) {
	method, target, _ := strings.Cut(name, " ")
	if strings.HasPrefix(target, "/oauth/") {
		target, _, _ = strings.Cut(target, " ") // the name goes on with the grant
		raw, err = replay.Event("", "application/x-www-form-urlencoded", method, target, w.fill(body))
		return app.OAuth, raw, err
	}
	target = "/api/v1" + w.fill(target)
	path, _, _ := strings.Cut(target, "?")
	raw, err = replay.Event(w.tokens[audience], "application/json", method, target, w.fill(body))
	return app.FunctionOf(path), raw, err
}

// call sends one request and returns the response body.
func (w *world) call(ctx context.Context, audience authz.Audience, name, body string) ([]byte, error) {
	function, raw, err := w.event(audience, name, body)
	if err != nil {
		return nil, err
	}
	return w.send(ctx, function, raw)
}

func (w *world) send(ctx context.Context, function string, event json.RawMessage) ([]byte, error) {
	out, err := w.functions[function](ctx, event)
	if err != nil {
		return nil, err
	}
	return bodyOf(out)
}

// errNotFound is the error of a 404, which a build without the endpoint returns.
var errNotFound = errors.New("not found")

// bodyOf returns the body of a function's response. For a status other than 2xx it
// returns an error.
func bodyOf(out json.RawMessage) ([]byte, error) {
	var answer struct {
		StatusCode int
		Body       string
	}
	err := json.Unmarshal(out, &answer)
	if answer.StatusCode == http.StatusNotFound {
		err = errNotFound
	}
	if err != nil || answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, errors.Join(err, fmt.Errorf("status %d: %s", answer.StatusCode, answer.Body))
	}
	return []byte(answer.Body), nil
}

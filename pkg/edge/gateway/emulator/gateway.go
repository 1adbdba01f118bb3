package emulator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"svc/pkg/base/ids"
)

// Limits of API Gateway, in bytes.
const (
	MaxBody   = 10 << 20 // limit of a request's body; a larger body gets a 413
	MaxHeader = 10240    // limit of the request line and all headers together; else a 431
)

// Function is a Lambda function: it takes an event and returns a response.
type Function = func(ctx context.Context, event json.RawMessage) (json.RawMessage, error)

// Gateway is the HTTP API of a SAM template. Its fields may be set only before the
// first request.
type Gateway struct {
	Now   func() time.Time // gives the time of a request; default time.Now
	NewID func() string    // makes the id of a request; default random
	Log   *slog.Logger     // logs failures of functions; default slog.Default
	// Streams handle the paths that CloudFront sends to function URLs with response
	// streaming.
	Streams map[string]http.Handler

	table     table
	cors      *cors
	functions map[string]Function
	timeouts  map[string]time.Duration
}

// New returns the Gateway of a SAM template. It reads the routes and the CORS
// configuration from text. functions maps logical ids to functions. New returns an error
// for a route whose function is not in functions, for a function that is not in the
// template, and for a template without exactly one HttpApi.
func New(text []byte, functions map[string]Function) (*Gateway, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	apis := t.of(kindAPI)
	if len(apis) != 1 {
		return nil, fmt.Errorf("template: %d resources are of type %s, expected one", len(apis), kindAPI)
	}
	routes, err := t.routes()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		Now: time.Now, NewID: func() string { return rand.Text()[:15] + "=" }, Log: slog.Default(),
		table: newTable(routes), cors: newCORS(t.resources[apis[0]].properties["CorsConfiguration"]),
		functions: functions, timeouts: map[string]time.Duration{},
	}
	for _, r := range routes {
		if functions[r.Function] == nil {
			return nil, fmt.Errorf("template: the route %s needs the function %s, which was not passed", r.key(), r.Function)
		}
		g.timeouts[r.Function] = t.timeout(r.Function)
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if t.resources[name].kind != kindFunction {
			return nil, fmt.Errorf("template: it has no function %s", name)
		}
	}
	return g, nil
}

// ServeHTTP responds as the deployed gateway does: to a preflight with 204,
// else with the function's response. It responds with {"message": …} if it
// rejects the request, if no route matches, or if the function failed.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.cors != nil && isPreflight(r) {
		g.cors.preflight(w, r)
		return
	}
	id := g.NewID()
	w.Header().Set("Apigw-Requestid", id)
	g.cors.answer(w.Header(), r)
	if headerSize(r) > MaxHeader {
		refuse(w, http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
		return
	}
	if h := g.Streams[r.URL.Path]; h != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		h.ServeHTTP(w, r)
		return
	}
	route, parameters, ok := g.table.find(r.Method, r.URL.EscapedPath())
	if !ok {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	body, err := readBody(r)
	switch {
	case errors.Is(err, errTooLarge):
		w.Header().Set("Connection", "close") // the rest of the body is not read
		refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "Bad Request")
		return
	}
	event, err := json.Marshal(Event(r, body, route, parameters, id, g.Now()))
	if err == nil {
		var a *response
		if a, err = g.invoke(r.Context(), route.Function, id, event); err == nil {
			g.cors.answer(a.header, r)
			a.write(w)
			return
		}
	}
	g.Log.ErrorContext(r.Context(), "a function failed", "function", route.Function, "request_id", ids.Request+"_"+id,
		"error", err)
	refuse(w, http.StatusInternalServerError, "Internal Server Error")
}

// invoke calls a function as Lambda does: the function runs until it ends or
// times out, even if the client has disconnected. Unlike Lambda, invoke does
// not stop a function at the timeout. It only ends the function's context.
func (g *Gateway) invoke(ctx context.Context, name, id string, event json.RawMessage) (*response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.timeouts[name])
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       id,
		InvokedFunctionArn: "arn:aws:lambda:local:" + accountID + ":function:" + name,
	})
	type result struct {
		raw json.RawMessage
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer cancel()
		defer func() {
			if v := recover(); v != nil {
				done <- result{err: fmt.Errorf("panic of type %T", v)}
			}
		}()
		raw, err := g.functions[name](ctx, event)
		done <- result{raw, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done: // the function ended: cancel runs after the result is sent
		default:
			r.err = fmt.Errorf("timed out after %s", g.timeouts[name])
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return newResponse(r.raw)
}

var errTooLarge = errors.New("the body is too large")

// readBody returns the body, or errTooLarge if it is longer than MaxBody.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err == nil && len(body) > MaxBody {
		return nil, errTooLarge
	}
	return body, err
}

// headerSize returns the bytes of the request line and all headers, without separators.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.URL.RequestURI()) + len(r.Host)
	for name, values := range r.Header {
		n += len(values)*len(name) + len(strings.Join(values, ""))
	}
	return n
}

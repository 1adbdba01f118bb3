package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
)

// Handler gives h the form that lambda.Start takes: proxy events of either
// payload in, answers of the same payload out. It never panics and its error is
// always nil: an event that is not one is answered 400 invalid_request, a
// handler that panics 500 server_error.
//
// A CORS preflight (OPTIONS with Origin and Access-Control-Request-Method) is
// answered 204 without h: HTTP APIs send it on where a route takes ANY, and put
// their CORS headers on the answer.
func Handler(h http.Handler) func(ctx context.Context, event json.RawMessage) (any, error) {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		e, r, refusal := open(ctx, raw)
		if refusal != nil {
			return refusal, nil
		}
		return serve(h, e, r), nil
	}
}

// Lazy is Handler for an http.Handler that needs to know the service's address
// when none is configured: build gets the one that the API has of itself, known
// with the first event by whatever domain that came, and its handler serves all.
// While build fails, events are answered 500.
func Lazy(build func(ctx context.Context, baseURL string) (http.Handler, error)) func(ctx context.Context, event json.RawMessage) (any, error) {
	var (
		mu sync.Mutex
		h  http.Handler
	)
	get := func(ctx context.Context) (http.Handler, error) {
		mu.Lock()
		defer mu.Unlock()
		if h != nil {
			return h, nil
		}
		built, err := build(ctx, ownURL(ctx))
		if err != nil {
			return nil, err
		}
		h = built
		return h, nil
	}
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		e, r, refusal := open(ctx, raw)
		if refusal != nil {
			return refusal, nil
		}
		h, err := get(r.Context())
		if err != nil {
			slog.ErrorContext(ctx, "the handler cannot be built", "error", err)
			return fault(e, http.StatusInternalServerError, "server_error", "The server met an unexpected condition."), nil
		}
		return serve(h, e, r), nil
	}
}

// open gives the event and its request, or the answer that refuses it.
func open(ctx context.Context, raw json.RawMessage) (e *event, r *http.Request, refusal any) {
	e, err := decode(raw)
	if err == nil {
		r, err = e.request(ctx)
	}
	if err != nil {
		slog.WarnContext(ctx, "malformed event", "request_id", e.RequestContext.RequestID, "error", err)
		return e, nil, fault(e, http.StatusBadRequest, "invalid_request", "The request is malformed.")
	}
	return e, r, nil
}

// serve runs the handler.
func serve(h http.Handler, e *event, r *http.Request) (response any) {
	defer func() {
		if v := recover(); v != nil {
			// The value itself may quote the request.
			slog.ErrorContext(r.Context(), "panic in a handler", "request_id", e.RequestContext.RequestID,
				"kind", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			response = fault(e, http.StatusInternalServerError, "server_error", "The server met an unexpected condition.")
		}
	}()
	a := newAnswer(e)
	if preflight(r) {
		a.WriteHeader(http.StatusNoContent)
	} else {
		h.ServeHTTP(a, r)
	}
	response, err := a.response()
	if err != nil {
		panic(err)
	}
	return response
}

func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// fault is an answer of this package's own, in the error shape of the specification.
func fault(e *event, status int, word, description string) any {
	body, _ := json.Marshal(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{word, description})
	a := newAnswer(e)
	a.Header().Set("Content-Type", "application/json")
	if id := e.RequestContext.RequestID; id != "" {
		a.Header().Set("X-Request-Id", id)
	}
	a.WriteHeader(status)
	_, _ = a.Write(body)
	response, _ := a.response()
	return response
}

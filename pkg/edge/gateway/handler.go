package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// Function takes a proxy event and returns a response of the same payload.
type Function func(ctx context.Context, event json.RawMessage) (json.RawMessage, error)

// Invoke implements lambda.Handler. lambda.Start passes the events and responses
// of a lambda.Handler on unchanged.
func (f Function) Invoke(ctx context.Context, event []byte) ([]byte, error) { return f(ctx, event) }

// Handler converts h to a Function. The Function never panics and its error is
// always nil. A malformed event gets a 400 invalid_request, a panic a 500
// server_error.
//
// A CORS preflight (OPTIONS with Origin and Access-Control-Request-Method) gets
// a 204 without calling h. HTTP APIs pass a preflight on if a route accepts
// ANY, and they add their CORS headers to the response.
func Handler(h http.Handler) Function {
	return func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		e, r, refusal := open(ctx, raw)
		if refusal != nil {
			return refusal, nil
		}
		return serve(h, e, r), nil
	}
}

// Lazy is Handler for a service whose address is not configured. The first
// event from a gateway tells the API's own address, whatever domain that event
// used. build receives that address and builds the handler for all events from
// gateways. If build fails, the event gets a 500, and the next event calls
// build again. Each event without apiId, which no gateway sent, gets a handler
// of its own: the address in it must not become the issuer of tokens.
func Lazy(region string, build func(ctx context.Context, baseURL string) (http.Handler, error)) Function {
	var (
		mu sync.Mutex
		h  http.Handler
	)
	get := func(ctx context.Context) (http.Handler, error) {
		mu.Lock()
		defer mu.Unlock()
		if h != nil && fromGateway(ctx) {
			return h, nil
		}
		built, err := build(ctx, ownURL(ctx, region))
		if err == nil && fromGateway(ctx) {
			h = built
		}
		return built, err
	}
	return func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
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

// answerTime limits the request to three tenths of the function's remaining
// time: 4.5 s of 15 s. With this limit, the function sends our response before
// the gateway times out, and a slow start may use the rest of the time. Without
// a deadline there is no limit.
func answerTime(r *http.Request) (*http.Request, context.CancelFunc) {
	deadline, ok := r.Context().Deadline()
	if !ok {
		return r, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Until(deadline)*3/10)
	return r.WithContext(ctx), cancel
}

// open decodes an event and returns it with its request. If the event is malformed, open
// returns the error response as refusal.
func open(ctx context.Context, raw json.RawMessage) (e *event, r *http.Request, refusal []byte) {
	e, err := decode(raw)
	if err == nil {
		r, err = e.request(ctx)
	}
	if err != nil {
		slog.WarnContext(ctx, "malformed event", "request_id", e.id(), "error", err)
		a := newResponse(e)
		malformed(a, e)
		refusal, _ = a.response()
		return e, nil, refusal
	}
	return e, r, nil
}

// serve runs the handler and returns its response. A panic becomes a 500.
func serve(h http.Handler, e *event, r *http.Request) (response []byte) {
	defer func() {
		if v := recover(); v != nil {
			// Log only the type of the value: the value may quote the request.
			slog.ErrorContext(r.Context(), "panic in a handler", "request_id", e.id(),
				"kind", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			response = fault(e, http.StatusInternalServerError, "server_error", "The server met an unexpected condition.")
		}
	}()
	r, cancel := answerTime(r)
	defer cancel()
	a := newResponse(e)
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

// preflight reports whether the request is a CORS preflight.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// malformed writes the response to a malformed event.
func malformed(w http.ResponseWriter, e *event) {
	writeFault(w, e, http.StatusBadRequest, "invalid_request", "The request is malformed.")
}

// fault returns an error response of this package. word is the error code.
func fault(e *event, status int, word, description string) []byte {
	a := newResponse(e)
	writeFault(a, e, status, word, description)
	response, _ := a.response()
	return response
}

// writeFault writes an error response of this package, in the specification's
// format. word is the error code.
func writeFault(w http.ResponseWriter, e *event, status int, word, description string) {
	body, _ := json.Marshal(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{word, description})
	w.Header().Set("Content-Type", "application/json")
	if id := e.id(); id != "" {
		w.Header().Set(RequestHeader, id)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

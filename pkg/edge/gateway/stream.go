package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Streamed converts h to a function for a function URL whose InvokeMode is
// RESPONSE_STREAM. The URL's events have payload 2.0, and name the URL in apiId.
// The response of a direct call has one piece, as from Handler.
//
// Package lambdaurl of aws-lambda-go is not used, for these reasons. A panic of its
// handler ends the process before the response. Its writer cannot flush, so a stream
// would end after its first page. The package parses the path as a URL, drops cookies
// and the method's rules, and shares the headers with a handler that may still change
// them.
func Streamed(h http.Handler) func(ctx context.Context, raw json.RawMessage) (any, error) {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		e, r, refusal := open(ctx, raw)
		switch {
		case refusal != nil && e.direct():
			return json.RawMessage(refusal), nil
		case refusal != nil:
			return stream(ctx, e, func(w http.ResponseWriter, _ context.Context) { malformed(w, e) }), nil
		case e.direct():
			return json.RawMessage(serve(h, e, r)), nil
		}
		return stream(r.Context(), e, func(w http.ResponseWriter, ctx context.Context) {
			h.ServeHTTP(w, r.WithContext(ctx))
		}), nil
	}
}

// stream runs the handler, and returns the response as soon as the handler has set a
// status. The body follows while the handler writes it.
func stream(ctx context.Context, e *event, handle func(http.ResponseWriter, context.Context),
) *events.LambdaFunctionURLStreamingResponse {
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	w := &streamed{response: newResponse(e), out: out, ready: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		_ = out.CloseWithError(w.run(ctx, e, handle))
	}()
	<-w.ready
	res := &events.LambdaFunctionURLStreamingResponse{StatusCode: w.status, Headers: map[string]string{},
		Body: &piped{in, cancel, done}}
	for name, values := range w.core.Header() {
		if name == "Set-Cookie" {
			res.Cookies = values
		} else {
			res.Headers[name] = strings.Join(values, ",")
		}
	}
	return res
}

// piped is the body of a streamed response. Lambda may stop the process after
// Close, so Close waits for the end of the handler.
type piped struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close implements io.Closer.
func (p *piped) Close() error {
	err := p.PipeReader.Close()
	p.cancel()
	<-p.done
	return err
}

// streamed is a response whose body is passed on as it is written.
type streamed struct {
	*response
	out      *io.PipeWriter
	ready    chan struct{} // closed when status and headers are final
	deadline time.Time
}

var errPanic = errors.New("the handler failed")

// run calls the handler. A panic before the status becomes a 500. A later panic breaks
// the response off, which Lambda counts as an error of the function.
func (s *streamed) run(ctx context.Context, e *event, handle func(http.ResponseWriter, context.Context)) (err error) {
	defer func() {
		v := recover()
		if v != nil {
			slog.ErrorContext(ctx, "panic in a handler", "request_id", e.id(), "kind", fmt.Sprintf("%T", v),
				"stack", string(debug.Stack())) // the value may quote the request
			err = errPanic
		}
		if v != nil && s.status == 0 {
			clear(s.header)
			writeFault(s, e, http.StatusInternalServerError, "server_error", "The server met an unexpected condition.")
			err = nil
		}
		s.WriteHeader(http.StatusOK) // without effect if the handler has set a status
	}()
	handle(s, ctx)
	return nil
}

// WriteHeader implements http.ResponseWriter.
func (s *streamed) WriteHeader(status int) {
	was := s.status
	if s.response.WriteHeader(status); was == 0 && s.status != 0 {
		close(s.ready)
	}
}

// Write implements http.ResponseWriter.
func (s *streamed) Write(p []byte) (int, error) {
	if s.status == 0 {
		if s.header.Get("Content-Type") == "" {
			s.header.Set("Content-Type", http.DetectContentType(p))
		}
		s.WriteHeader(http.StatusOK)
	}
	if s.noBody || len(p) == 0 {
		return s.response.Write(p)
	}
	if !s.deadline.IsZero() { // ends a write to a client that does not read
		late := time.AfterFunc(time.Until(s.deadline), func() { _ = s.out.CloseWithError(os.ErrDeadlineExceeded) })
		defer late.Stop()
	}
	return s.out.Write(p)
}

// FlushError does nothing: Write passes everything to the reader of the pipe.
func (s *streamed) FlushError() error { return nil }

// SetWriteDeadline sets the end of a write. http.ResponseController calls it.
func (s *streamed) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

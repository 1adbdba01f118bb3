package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// response is the http.ResponseWriter of a request. It adds the rules of net/http
// to the response writers of package core. The first call of WriteHeader sets the
// status and freezes the headers. Responses to HEAD, and those with status 204 or
// 304, have no body.
type response struct {
	core   http.ResponseWriter // holds status, headers, and a body that is not UTF-8
	finish func() ([]byte, error)
	header http.Header
	body   []byte
	status int // 0 until WriteHeader sets it
	noBody bool
	isHEAD bool
}

// newResponse returns an empty response to the event, in its payload version.
func newResponse(e *event) *response {
	a := &response{header: make(http.Header), isHEAD: strings.EqualFold(e.method(), http.MethodHead)}
	if e.v2 {
		w := core.NewProxyResponseWriterV2()
		a.core, a.finish = w, func() ([]byte, error) {
			res, err := w.GetProxyResponse()
			return a.encode(struct {
				events.APIGatewayV2HTTPResponse
				Body *string `json:"body,omitempty"`
			}{res, nil}, res.Body, err)
		}
	} else {
		w := core.NewProxyResponseWriter()
		a.core, a.finish = w, func() ([]byte, error) {
			res, err := w.GetProxyResponse()
			return a.encode(struct {
				events.APIGatewayProxyResponse
				Body *string `json:"body,omitempty"`
			}{res, nil}, res.Body, err)
		}
	}
	return a
}

// Header returns the response's headers. Changes have an effect until the status is
// written.
func (a *response) Header() http.Header { return a.header }

// Flush does nothing: a function returns its response in one piece, because each chunk
// would need a system call.
func (a *response) Flush() {}

// FlushError tells http.ResponseController that this response cannot flush.
func (a *response) FlushError() error { return http.ErrNotSupported }

// oneLine replaces the line breaks of a header's value by blanks.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// WriteHeader sets the status and freezes the headers. It ignores an informational status
// (1xx). A status outside 100 to 599 becomes 500.
func (a *response) WriteHeader(status int) {
	if a.status != 0 || status >= 100 && status < 200 {
		return
	}
	if status < 200 || status > 599 {
		status = http.StatusInternalServerError
	}
	a.status = status
	a.noBody = a.isHEAD || status == http.StatusNoContent || status == http.StatusNotModified
	sent := a.core.Header()
	for name, values := range a.header {
		switch name {
		case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Upgrade":
			continue // the gateway sets these headers
		}
		for i, value := range values {
			if strings.ContainsAny(value, "\r\n") {
				values[i] = oneLine.Replace(value)
			}
		}
		sent[name] = values
	}
	a.core.WriteHeader(status)
}

// Write appends to the body. If no status was written, it first writes 200.
func (a *response) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.isHEAD:
		return len(p), nil
	case a.noBody:
		return 0, http.ErrBodyNotAllowed
	case len(p) == 0:
		return 0, nil
	}
	if h := a.core.Header(); len(a.body) == 0 && h.Get("Content-Type") == "" {
		h.Set("Content-Type", http.DetectContentType(p))
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

// response returns the response in the event's payload version. It encodes a
// body that is not UTF-8 in base64.
func (a *response) response() ([]byte, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !utf8.Valid(a.body) {
		if _, err := a.core.Write(a.body); err != nil {
			return nil, err
		}
		a.body = nil
	}
	return a.finish()
}

// encode returns the JSON of a response. The parameter response has no body:
// encode adds the body itself, because an encoder would copy a long body several
// times. encoded is the base64 text of a body that is not text, else "".
func (a *response) encode(response any, encoded string, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	head, err := codec.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	if encoded != "" {
		a.body = []byte(encoded)
	}
	out := slices.Grow(append(head[:len(head)-1], `,"body":`...), len(a.body)*5/4+20)
	if out, err = jsontext.AppendQuote(out, a.body); err != nil {
		return nil, fmt.Errorf("body of a response: %w", err)
	}
	return append(out, '}'), nil
}

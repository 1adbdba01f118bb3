package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"svc/pkg/base/jsonscan"
)

// answer is the http.ResponseWriter of a request. It adds the rules of net/http
// to the response writers of package core. The first call of WriteHeader sets the
// status and freezes the headers. Responses to HEAD, and those with status 204 or
// 304, have no body.
type answer struct {
	core   http.ResponseWriter // holds status, headers, and a body that is not UTF-8
	finish func(escaped []byte) ([]byte, error)
	header http.Header
	body   []byte
	built  []byte // the response, if WriteEscaped wrote its body
	status int    // 0 until written
	noBody bool
	isHEAD bool
}

func newAnswer(e *event) *answer {
	a := &answer{header: make(http.Header), isHEAD: strings.EqualFold(e.method(), http.MethodHead)}
	if e.v2 {
		w := core.NewProxyResponseWriterV2()
		a.core, a.finish = w, func(escaped []byte) ([]byte, error) {
			res, err := w.GetProxyResponse()
			return a.encode(struct {
				events.APIGatewayV2HTTPResponse
				Body *string `json:"body,omitempty"`
			}{res, nil}, res.Body, escaped, err)
		}
	} else {
		w := core.NewProxyResponseWriter()
		a.core, a.finish = w, func(escaped []byte) ([]byte, error) {
			res, err := w.GetProxyResponse()
			return a.encode(struct {
				events.APIGatewayProxyResponse
				Body *string `json:"body,omitempty"`
			}{res, nil}, res.Body, escaped, err)
		}
	}
	return a
}

// Header returns the headers. Changes have an effect until the status is
// written.
func (a *answer) Header() http.Header { return a.header }

// Flush does nothing: a function returns its response in one piece.
func (a *answer) Flush() {}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// WriteHeader freezes status and headers. It ignores an informational status
// (1xx). A status outside 100 to 599 becomes 500.
func (a *answer) WriteHeader(status int) {
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
			continue // the gateway sets these
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

// EscapedWriter is a response writer that accepts a body in which quotes,
// backslashes and control characters are escaped (RFC 8259, section 7). The
// response to an event is JSON, and contains the body as a JSON string.
type EscapedWriter interface {
	http.ResponseWriter
	// WriteEscaped writes the complete body. Call it after WriteHeader, once, and
	// never with Write. It does not keep p. For HEAD it drops the body. For a
	// status without a body, it returns http.ErrBodyNotAllowed.
	WriteEscaped(p []byte) error
}

var _ EscapedWriter = (*answer)(nil)

// Write appends to the body. If no status was written, it first writes 200.
func (a *answer) Write(p []byte) (int, error) {
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
	case a.built != nil:
		return 0, errors.New("a call of Write after WriteEscaped")
	}
	if h := a.core.Header(); len(a.body) == 0 && h.Get("Content-Type") == "" {
		h.Set("Content-Type", http.DetectContentType(p))
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

// WriteEscaped implements EscapedWriter.
func (a *answer) WriteEscaped(p []byte) (err error) {
	switch {
	case a.status == 0 || a.body != nil || a.built != nil:
		return errors.New("a call of WriteEscaped before WriteHeader, or after another write")
	case a.isHEAD:
		return nil
	case a.noBody:
		return http.ErrBodyNotAllowed
	}
	a.built, err = a.finish(p)
	return err
}

// response returns the response in the event's payload version. It encodes a
// body that is not UTF-8 in base64.
func (a *answer) response() ([]byte, error) {
	if a.built != nil {
		return a.built, nil
	}
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !utf8.Valid(a.body) {
		if _, err := a.core.Write(a.body); err != nil {
			return nil, err
		}
		a.body = nil
	}
	return a.finish(nil)
}

// encode returns the JSON of a response. The parameter response has no body:
// encode adds the body itself, because encoding/json would copy a long body three
// times. encoded is the base64 text of a body that is not text, else "". If
// escaped is not nil, it is the body.
func (a *answer) encode(response any, encoded string, escaped []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	head, err := json.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	head = append(head[:len(head)-1], `,"body":`...)
	if escaped != nil {
		// bytes.Join does not clear the memory first.
		return bytes.Join([][]byte{head, []byte(`"`), escaped, []byte(`"}`)}, nil), nil
	}
	escapes := bytes.Count(a.body, []byte{'"'}) + bytes.Count(a.body, []byte{'\\'})
	out := append(make([]byte, 0, len(head)+len(a.body)+escapes+len(encoded)+20), head...)
	if encoded != "" {
		return append(jsonscan.AppendString(out, encoded), '}'), nil
	}
	return append(jsonscan.AppendString(out, a.body), '}'), nil
}

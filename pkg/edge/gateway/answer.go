package gateway

import (
	"net/http"
	"strings"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// answer is the http.ResponseWriter of a request. It adds the rules of net/http
// to the response writers of package core: the first status wins and freezes the
// headers; HEAD, 204 and 304 have no body.
type answer struct {
	core   http.ResponseWriter // holds the response
	finish func() (any, error)
	header http.Header
	status int // 0 until written
	noBody bool
	isHEAD bool
}

func newAnswer(e *event) *answer {
	a := &answer{header: make(http.Header), isHEAD: strings.EqualFold(e.method(), http.MethodHead)}
	if e.v2 {
		w := core.NewProxyResponseWriterV2()
		a.core, a.finish = w, func() (any, error) { return w.GetProxyResponse() }
	} else {
		w := core.NewProxyResponseWriter()
		a.core, a.finish = w, func() (any, error) { return w.GetProxyResponse() }
	}
	return a
}

// Header returns the headers. Changes have an effect until the status is
// written.
func (a *answer) Header() http.Header { return a.header }

// Flush does nothing: a function returns its response in one piece.
func (a *answer) Flush() {}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// WriteHeader freezes status and headers. Informational responses are not sent.
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

// Write appends to the body. It writes status 200 if there was none.
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
	}
	return a.core.Write(p)
}

// response returns the response in the event's payload version. A body that is
// not UTF-8 is base64.
func (a *answer) response() (any, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return a.finish()
}

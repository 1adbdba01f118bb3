package gateway

import (
	"net/http"
	"strings"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// answer is the http.ResponseWriter of a request. It keeps net/http's rules,
// which the writers of core leave out: the first status holds, headers are
// fixed with it, and HEAD, 204 and 304 have no body.
type answer struct {
	core   http.ResponseWriter // holds what is sent
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

// Header gives the headers; changes count until the status is written.
func (a *answer) Header() http.Header { return a.header }

// Flush does nothing: an answer leaves the function whole.
func (a *answer) Flush() {}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// WriteHeader fixes status and headers. Informational answers are not sent.
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
			continue // the gateway's own
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

// Write adds to the body, after 200 where no status was written.
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

// response gives the answer in the event's payload; a body that is not UTF-8 is
// base64.
func (a *answer) response() (any, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return a.finish()
}

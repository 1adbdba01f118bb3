package gateway_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/base/jsonscan"
	"svc/pkg/edge/gateway"
)

const plainBody = `{"name":"A \"quoted\" ä\\","empty":""}`

// escapedBody returns plainBody, escaped for use in a JSON string.
func escapedBody() []byte { return jsonscan.Escape(nil, plainBody) }

// responseTo returns the response to an event with the method. The handler sends
// the status and then calls write.
func responseTo(t *testing.T, event, method string, status int, write func(w http.ResponseWriter)) string {
	t.Helper()
	h := gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if status != 0 {
			w.WriteHeader(status)
		}
		write(w)
	}))
	out, err := h.Invoke(context.Background(), []byte(strings.ReplaceAll(event, `"M"`, `"`+method+`"`)))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestWriteEscaped: WriteEscaped and Write give the same response, in both
// payload versions and for responses without a body. Afterwards the handler may
// change the bytes that it wrote.
func TestWriteEscaped(t *testing.T) {
	events := []string{`{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"M","path":"/"}}}`,
		`{"httpMethod":"M","path":"/","requestContext":{"httpMethod":"M","path":"/"}}`}
	for _, event := range events {
		for _, method := range []string{"GET", "HEAD"} {
			for _, status := range []int{200, 404, 204} {
				want := responseTo(t, event, method, status, func(w http.ResponseWriter) { _, _ = io.WriteString(w, plainBody) })
				have := responseTo(t, event, method, status, func(w http.ResponseWriter) {
					memory := slices.Clone(escapedBody())
					err := w.(gateway.EscapedWriter).WriteEscaped(memory)
					if refused := method == "GET" && status == 204; (err != nil) != refused {
						t.Errorf("%s %d: %v", method, status, err)
					}
					clear(memory)
				})
				if diff := cmp.Diff(want, have); diff != "" {
					t.Errorf("%s %d: %s", method, status, diff)
				}
			}
		}
	}
}

// TestWriteEscapedOnce: WriteEscaped must be the only write, after WriteHeader.
func TestWriteEscapedOnce(t *testing.T) {
	const event = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"M","path":"/"}}}`
	responseTo(t, event, "GET", 0, func(w http.ResponseWriter) {
		if w.(gateway.EscapedWriter).WriteEscaped(escapedBody()) == nil {
			t.Error("a body without a status")
		}
		_, _ = io.WriteString(w, "text")
		if w.(gateway.EscapedWriter).WriteEscaped(escapedBody()) == nil {
			t.Error("a body beside another")
		}
	})
	responseTo(t, event, "GET", 200, func(w http.ResponseWriter) {
		if err := w.(gateway.EscapedWriter).WriteEscaped(escapedBody()); err != nil {
			t.Error(err)
		}
		if n, err := io.WriteString(w, "text"); n != 0 || err == nil {
			t.Errorf("%d bytes after the only write: %v", n, err)
		}
		if w.(gateway.EscapedWriter).WriteEscaped(escapedBody()) == nil {
			t.Error("two bodies")
		}
	})
}

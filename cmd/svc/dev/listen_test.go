package dev

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/pkg/domain/event"
)

// TestForwardToNobody: svc listen says in its own words why a receiver did not answer.
func TestForwardToNobody(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(func() { plain.Close(); secure.Close(); mute.Close() })
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for to, want := range map[string]string{
		plain.URL:  "404 Not Found",
		closed.URL: "nothing listens at " + strings.TrimPrefix(closed.URL, "http://"),
		secure.URL: "the certificate of " + strings.TrimPrefix(secure.URL, "https://") + " is not valid",
		strings.Replace(plain.URL, "http:", "https:", 1): strings.TrimPrefix(plain.URL,
			"http://") + " does not speak TLS; expected an address with http://",
		mute.URL: "the connection to " + strings.TrimPrefix(mute.URL, "http://") + " failed before an answer",
	} {
		if got := forward(t.Context(), to, event.Event{ID: "evt_1"}, make([]byte, 32)); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"svc/internal/test/testkit"
)

// recorder replaces the table. It first forwards requests to the engine and keeps
// the responses. Then it replays these responses.
type recorder struct {
	testkit.Tape
	server *httptest.Server
}

func newRecorder(engine string) (*recorder, error) {
	to, err := url.Parse(engine)
	r := &recorder{}
	r.server = httptest.NewServer(&httputil.ReverseProxy{Transport: r,
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) },
		// A failed request is not yet a failed event: a function may abandon a read, and it
		// repeats a request whose response is lost. If it does not get what it needs, the
		// event itself fails.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}})
	return r, err
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	return r.Send(q, http.DefaultTransport)
}

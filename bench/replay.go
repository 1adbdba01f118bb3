package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// recorder replaces the table. It first forwards requests to the engine and keeps
// the responses. Then it replays these responses. A read without a kept response
// still goes to the engine; a write without one fails.
type recorder struct {
	server *httptest.Server

	mu     sync.Mutex
	live   bool
	reads  map[string]reply   // by the result of question
	writes map[string][]reply // by target, in the order of the event
	given  map[string]int     // writes of the current event, by target
	err    error              // of the last write whose response was not kept
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func newRecorder(engine string) (*recorder, error) {
	to, err := url.Parse(engine)
	r := &recorder{live: true}
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

// record makes the recorder keep the responses to the following requests.
func (r *recorder) record() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.reads, r.writes = true, map[string]reply{}, map[string][]reply{}
}

// replay makes the recorder send the kept responses.
func (r *recorder) replay() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = false
}

// event tells the recorder that the next event begins. It returns an error if an
// earlier event had a write without a kept response.
func (r *recorder) event() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given = map[string]int{}
	return r.err
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	target := q.Header.Get("X-Amz-Target")
	answer, found := r.kept(target, body)
	if !found {
		q.Body = io.NopCloser(bytes.NewReader(body))
		got, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			return nil, err
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil {
			return nil, err
		}
		answer = reply{got.StatusCode, got.Header, text}
		r.keep(target, body, answer)
	}
	return &http.Response{StatusCode: answer.status, Header: answer.header.Clone(), Request: q,
		Body: io.NopCloser(bytes.NewReader(answer.body)), ContentLength: int64(len(answer.body))}, nil
}

// changes reports whether a request of the target writes.
func changes(target string) bool {
	return strings.HasSuffix(target, "Write") || strings.HasSuffix(target, "WriteItems") ||
		strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".UpdateItem") ||
		strings.HasSuffix(target, ".DeleteItem")
}

// question identifies a read. A client may write the members of a JSON object in
// any order, so question sorts the bytes.
func question(target string, body []byte) string {
	return target + " " + string(slices.Sorted(slices.Values(body)))
}

// kept returns the recorded response. A write has new ids and times in every event.
// So the nth write of a target gets the response to the nth recorded write of that
// target.
func (r *recorder) kept(target string, body []byte) (reply, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live {
		return reply{}, false
	}
	if !changes(target) {
		answer, found := r.reads[question(target, body)]
		return answer, found
	}
	n := r.given[target]
	r.given[target]++
	if n < len(r.writes[target]) {
		return r.writes[target][n], true
	}
	r.err = fmt.Errorf("write %d (%s) of the event is not in the recording", n+1, target)
	return reply{status: http.StatusInternalServerError}, true
}

func (r *recorder) keep(target string, body []byte, answer reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live && r.reads != nil {
		r.reads[question(target, body)] = answer
		r.writes[target] = append(r.writes[target], answer)
	}
}

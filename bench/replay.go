package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// recorder replaces the table. It first forwards requests to the engine and keeps
// the responses. Then it replays these responses. A read without a kept response
// still goes to the engine; a write without one fails.
type recorder struct {
	engine string
	server *httptest.Server

	mu     sync.Mutex
	live   bool
	reads  map[string]reply   // by the result of question
	writes map[string][]reply // by target, in the order of the event
	given  map[string]int     // writes of the current event, by target
	err    error              // the last write without a kept response
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func newRecorder(engine string) *recorder {
	r := &recorder{engine: engine, live: true}
	r.server = httptest.NewServer(r)
	return r
}

func (r *recorder) close() { r.server.Close() }

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

// ServeHTTP implements http.Handler. A failed request is not yet a failed event: a
// function may abandon a read, and it repeats a request whose response is lost. If it
// does not get what it needs, the event itself fails.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the function has abandoned it
	}
	target := q.Header.Get("X-Amz-Target")
	answer, found := r.kept(target, body)
	if !found {
		if answer, err = r.forward(q, target, body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
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
	sorted := slices.Sorted(slices.Values(body))
	return target + " " + string(sorted)
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
	if changes(target) {
		n := r.given[target]
		r.given[target]++
		if n < len(r.writes[target]) {
			return r.writes[target][n], true
		}
		r.err = fmt.Errorf("write %d (%s) of the event is not in the recording", n+1, target)
		return reply{status: http.StatusInternalServerError}, true
	}
	answer, found := r.reads[question(target, body)]
	return answer, found
}

// forward sends the request to the engine and keeps the response while recording.
func (r *recorder) forward(q *http.Request, target string, body []byte) (reply, error) {
	//nolint:gosec // the engine's address
	out, err := http.NewRequestWithContext(q.Context(), q.Method, r.engine+q.URL.Path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	out.Header = q.Header.Clone()
	got, err := http.DefaultClient.Do(out) //nolint:gosec // to the engine
	if err != nil {
		return reply{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return reply{}, err
	}
	answer := reply{got.StatusCode, got.Header, text}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live && r.reads != nil {
		r.reads[question(target, body)] = answer
		r.writes[target] = append(r.writes[target], answer)
	}
	return answer, nil
}

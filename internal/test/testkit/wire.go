package testkit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// ErrWire is the error of a broken wire.
var ErrWire = errors.New("the wire is broken")

// Wire is the connection between the service and its table. The zero Wire
// works normally, but removes the deadline of each request (see patient).
type Wire struct {
	mu        sync.Mutex
	next      http.RoundTripper
	rounds    *rounds // nil unless requests go in rounds
	broken    bool
	left      int // with limit: number of requests that still pass
	lose      int // number of responses to lose after the request is executed
	sent      int
	limit     bool
	last      bool               // with limit: executes one more request and loses its response
	crash     context.CancelFunc // with limit: ends the process that sends the first request too many
	until     int                // number of requests before do
	do        func()             // nil without Meanwhile
	refuse    int                // status of every response, 0 for the engine's own
	reason    string
	conflicts *conflicts
	panics    func(operation string, body []byte) bool // nil without Panics
	older     *Older                                   // nil without Older
	proxy     *url.URL                                 // set during a silence
}

// Over puts the wire in front of the next transport.
func (w *Wire) Over(next http.RoundTripper) http.RoundTripper {
	w.next = next
	return w
}

// CloseIdle closes the connections that no request uses, whose number depends on how many
// requests overlapped.
func (w *Wire) CloseIdle() {
	w.next.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

// Rounds switches rounds on or off. In a round, requests that do not wait for one
// another are sent together, and all their responses arrive before the next
// round. A test that asserts table.Usage.Sequential needs rounds, because
// otherwise the goroutines' schedule decides which requests overlap.
func (w *Wire) Rounds(on bool) {
	w.set(func() {
		w.rounds = nil
		if on {
			w.rounds = &rounds{}
		}
	})
}

// Break makes every request from now on fail. Restore undoes it.
func (w *Wire) Break() { w.set(func() { w.broken = true }) }

// Restore undoes Break, BreakAfter, Lose, Refuse, Silence, Conflicts and Panics.
func (w *Wire) Restore() {
	w.set(func() {
		w.broken, w.limit, w.lose, w.refuse, w.proxy, w.conflicts, w.panics = false, false, 0, 0, nil, nil, nil
	})
}

// BreakAfter lets n more requests pass and then breaks the wire.
func (w *Wire) BreakAfter(n int) { w.set(func() { w.limit, w.left = true, n }) }

// Lose executes the next n requests and loses their responses.
func (w *Wire) Lose(n int) { w.set(func() { w.lose = n }) }

// Refuse makes every request from now on fail with the status and a DynamoDB
// error code. No request reaches the engine.
func (w *Wire) Refuse(status int, code string) { w.set(func() { w.refuse, w.reason = status, code }) }

// Panics makes the wire panic at the requests that chosen selects, in the goroutine that
// sends them. The value of the panic quotes the request, as that of a library may.
func (w *Wire) Panics(chosen func(operation string, body []byte) bool) {
	w.set(func() { w.panics = chosen })
}

// panic panics if Panics selects the request.
func (w *Wire) panic(r *http.Request) error {
	var chosen func(string, []byte) bool
	w.set(func() { chosen = w.panics })
	if chosen == nil {
		return nil
	}
	body, err := Body(&r.Body)
	if err != nil {
		return err
	}
	if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); chosen(operation, body) {
		panic("a request: " + string(body))
	}
	return nil
}

// Sent returns the number of requests that the wire did not break. It includes
// those that Refuse or Silence kept from the engine.
func (w *Wire) Sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// patient returns the request without its deadline, because on a busy machine
// the engine may need longer than the deadline of one attempt allows. If the
// caller disconnects, the request is still cancelled.
func patient(r *http.Request) *http.Request {
	caller := r.Context()
	if caller.Err() != nil {
		return r
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	context.AfterFunc(caller, func() {
		if errors.Is(caller.Err(), context.Canceled) {
			cancel()
		}
	})
	return r.WithContext(ctx)
}

// refusal returns the response of Refuse.
func refusal(r *http.Request, status int, code string) *http.Response {
	return failure(r, status, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"for the service only"}`)
}

// failure returns a response with a DynamoDB error as its body.
func failure(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		ContentLength: int64(len(body)),
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(strings.NewReader(body))}
}

// set changes the wire under its lock.
func (w *Wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.interrupt()
	w.mu.Lock()
	rounds, broken, lose := w.rounds, w.broken, false
	if w.limit {
		lose = w.last && w.left == 0
		broken = broken || w.left <= 0 && !lose
		if w.left <= 0 && w.crash != nil {
			defer w.crash()
		}
		w.left--
	}
	if !broken {
		w.sent++
		if w.lose > 0 {
			w.lose, lose = w.lose-1, true
		}
	}
	refuse, reason, proxy, older := w.refuse, w.reason, w.proxy, w.older
	w.mu.Unlock()
	if broken {
		return nil, ErrWire
	}
	if refuse != 0 {
		return refusal(r, refuse, reason), nil
	}
	if err := w.panic(r); err != nil {
		return nil, err
	}
	if res, err := w.conflict(r); res != nil || err != nil {
		return res, err
	}
	if lose {
		r = r.WithContext(context.WithoutCancel(r.Context())) // another request may end the process
	} else if proxy == nil {
		r = patient(r)
	}
	if rounds != nil {
		if err := rounds.join(r.Context()); err != nil {
			return nil, err
		}
		defer rounds.leave()
	}
	if proxy != nil {
		r = through(proxy, r)
	}
	res, err := older.roundTrip(r, w.next)
	if err == nil && rounds != nil {
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err == nil && lose {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, ErrWire
	}
	return res, err
}

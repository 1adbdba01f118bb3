package testkit

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrWire is what a broken wire answers.
var ErrWire = errors.New("the wire is broken")

// Wire is the connection between the service and its table. The zero Wire
// works as any other.
type Wire struct {
	mu     sync.Mutex
	next   http.RoundTripper
	delay  time.Duration
	broken bool
	left   int // requests that still pass; −1 for all
	lose   int // answers to lose after the request was carried out
	sent   int
	limit  bool
	refuse int // status of every answer, 0 for the engine's own
	reason string
	canned *canned
}

// Over puts the wire before the next transport.
func (w *Wire) Over(next http.RoundTripper) http.RoundTripper {
	w.next = next
	return w
}

// Delay makes every request wait before it is sent, as long as that and until
// nothing else runs: requests that wait for nothing are all on their way then.
func (w *Wire) Delay(d time.Duration) { w.set(func() { w.delay = d }) }

// Break makes every request from now on fail, Mend lets them pass again.
func (w *Wire) Break() { w.set(func() { w.broken = true }) }

// Mend undoes Break, BreakAfter, Lose, Refuse, Record and Replay.
func (w *Wire) Mend() {
	w.set(func() { w.broken, w.limit, w.lose, w.refuse, w.canned = false, false, 0, 0, nil })
}

// BreakAfter lets n more requests pass and then breaks.
func (w *Wire) BreakAfter(n int) { w.set(func() { w.limit, w.left = true, n }) }

// Lose carries out the next n requests and loses their answers.
func (w *Wire) Lose(n int) { w.set(func() { w.lose = n }) }

// Refuse answers every request from now on with the status and an error code
// of DynamoDB, and sends none.
func (w *Wire) Refuse(status int, code string) { w.set(func() { w.refuse, w.reason = status, code }) }

// Sent counts the requests that reached the engine.
func (w *Wire) Sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

func (w *Wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// RoundTrip implements http.RoundTripper.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	delay, broken, lose := w.delay, w.broken, false
	if w.limit {
		if w.left <= 0 {
			broken = true
		}
		w.left--
	}
	if !broken {
		w.sent++
		if w.lose > 0 {
			w.lose, lose = w.lose-1, true
		}
	}
	tape, refuse, reason := w.canned, w.refuse, w.reason
	w.mu.Unlock()
	if broken {
		return nil, ErrWire
	}
	if refuse != 0 {
		body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + reason + `","message":"told to the service alone"}`
		return &http.Response{StatusCode: refuse, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(body)),
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
			rest()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if tape != nil {
		return tape.roundTrip(r, w.next)
	}
	res, err := w.next.RoundTrip(r)
	if err == nil && lose {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, ErrWire
	}
	return res, err
}

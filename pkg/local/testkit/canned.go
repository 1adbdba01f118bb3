package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// canned contains recorded responses of the table, byte for byte.
type canned struct {
	mu        sync.Mutex
	replay    bool
	responses map[question]response
}

// question identifies a request; the order of its JSON members is irrelevant.
type question struct {
	operation string
	bytes     [256]uint16 // number of occurrences of each byte value in the body
}

type response struct {
	status int
	header http.Header
	body   []byte
}

// Record records the table's responses from now on. Each is keyed by its request.
// A transaction is keyed only by its operation, because its writes differ from
// call to call.
func (w *Wire) Record() { w.set(func() { w.canned = &canned{responses: map[question]response{}} }) }

// Replay returns recorded responses instead of sending requests to the table. A
// request that was not recorded fails with ErrWire. Restore ends the replay.
func (w *Wire) Replay() {
	w.set(func() {
		w.canned.mu.Lock()
		defer w.canned.mu.Unlock()
		w.canned.replay = true
	})
}

func (c *canned) roundTrip(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	name := question{operation: strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")}
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(request))
	if name.operation != "TransactWriteItems" {
		for _, b := range request {
			name.bytes[b]++
		}
	}
	c.mu.Lock()
	stored, known := c.responses[name]
	replay := c.replay
	c.mu.Unlock()
	if replay {
		if !known {
			return nil, fmt.Errorf("%w: %s was not recorded", ErrWire, name.operation)
		}
		return &http.Response{StatusCode: stored.status, Header: stored.header,
			Body: io.NopCloser(bytes.NewReader(stored.body)), ContentLength: int64(len(stored.body)), Request: r}, nil
	}
	res, err := next.RoundTrip(patient(r))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.responses[name] = response{res.StatusCode, res.Header, body}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

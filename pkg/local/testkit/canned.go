package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// canned are answers of the table, remembered byte for byte.
type canned struct {
	mu      sync.Mutex
	replay  bool
	answers map[question]answer
	sent    []Exchange
}

// question is a request, whatever the order of the members in its JSON.
type question struct {
	operation string
	bytes     [256]uint16 // how often each occurs
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// Exchange is a request to the table and its answer.
type Exchange struct {
	Operation       string // "Query"
	Request, Answer []byte
}

// Recorded gives what was recorded, in its order.
func (w *Wire) Recorded() []Exchange {
	w.mu.Lock()
	tape := w.canned
	w.mu.Unlock()
	if tape == nil {
		return nil
	}
	tape.mu.Lock()
	defer tape.mu.Unlock()
	return slices.Clone(tape.sent)
}

// Record remembers the table's answers from now on: of reads by the request, of
// writes, which differ from call to call, by the operation alone.
func (w *Wire) Record() { w.set(func() { w.canned = &canned{answers: map[question]answer{}} }) }

// Replay gives what was remembered in place of asking the table; what was not
// is ErrWire. Mend ends it.
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
	kept, known := c.answers[name]
	replay := c.replay
	c.mu.Unlock()
	if replay {
		if !known {
			return nil, fmt.Errorf("%w: %s was not recorded", ErrWire, name.operation)
		}
		return &http.Response{StatusCode: kept.status, Header: kept.header, Body: io.NopCloser(bytes.NewReader(kept.body)), ContentLength: int64(len(kept.body)), Request: r}, nil
	}
	res, err := next.RoundTrip(r)
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
	c.answers[name] = answer{res.StatusCode, res.Header, body}
	c.sent = append(c.sent, Exchange{name.operation, request, body})
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

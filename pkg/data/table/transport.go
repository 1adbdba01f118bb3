package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Limits of one attempt. With a deadline, each attempt gets a quarter of the
// remaining time, so that a silent connection leaves time for retries. Of an
// API request's 4.5 s, the first attempt gets 1.1 s.
const (
	shortestAttempt = time.Second
	longestAttempt  = 5 * time.Second
)

// attemptTime returns how long one attempt under the context may take.
func attemptTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return longestAttempt
	}
	return min(max(time.Until(deadline)/4, shortestAttempt), longestAttempt)
}

// attempts limits the time of each SDK attempt, including reading the complete
// response. An attempt without a response is a send failure, which the SDK
// retries.
type attempts struct{ next http.RoundTripper }

// Do implements aws.HTTPClient.
func (a attempts) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), attemptTime(req.Context()))
	defer cancel()
	res, err := a.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		var body []byte
		if body, err = readBody(res.Body, res.ContentLength); err == nil {
			res.Body = bodyOf(body)
		}
	}
	if err != nil {
		res = nil
	}
	if o, ok := req.Context().Value(outcomeKey{}).(*outcome); ok && mayHaveWritten(res, err) {
		o.unknown.Store(true)
	}
	return res, err
}

// outcome records what we know about a write after its attempts.
type outcome struct{ unknown atomic.Bool }

type outcomeKey struct{}

// mayHaveWritten reports whether an unsuccessful attempt may have been
// executed. An attempt without a connection was not.
func mayHaveWritten(res *http.Response, err error) bool {
	if err == nil {
		return res.StatusCode >= http.StatusInternalServerError
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}

// memoryBody is a body in memory.
type memoryBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*memoryBody) Close() error { return nil }

func bodyOf(b []byte) io.ReadCloser {
	var body memoryBody
	body.Reset(b)
	return &body
}

// readBody reads and closes a body.
func readBody(body io.ReadCloser, length int64) ([]byte, error) {
	var buf bytes.Buffer
	if length > 0 && length < 32<<20 { // a response has at most 16 MB
		buf.Grow(int(length) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(body)
	return buf.Bytes(), errors.Join(err, body.Close())
}

// bufferBody gives net/http the request's body from memory. Otherwise the SDK
// sometimes closes its reader while net/http still reads it, which breaks the
// connection.
type bufferBody struct{ next aws.HTTPClient }

// RoundTrip implements http.RoundTripper.
func (b bufferBody) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return b.next.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("body of a request to the table: %w", err)
	}
	again := req.WithContext(req.Context()) // a shallow copy; only its body is replaced
	again.Body, again.ContentLength = bodyOf(body), int64(len(body))
	return b.next.Do(again)
}

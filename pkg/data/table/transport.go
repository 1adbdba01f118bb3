package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

// Limits of the time of one attempt to send a request to the table. If the context has
// a deadline, each attempt gets a quarter of the remaining time, within these limits.
// So there is time for retries if a connection does not respond. Without a deadline, an
// attempt gets longestAttempt. Of an API request's 4.5 s, the first attempt gets 1.1 s.
const (
	shortestAttempt = time.Second
	longestAttempt  = 5 * time.Second
)

// largestResponse limits the body of a response, in bytes. DynamoDB returns at
// most 16 MB of items in a response; their JSON is larger.
const largestResponse = 32 << 20

// attemptTime returns how long one attempt under the context may take.
func attemptTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return longestAttempt
	}
	return min(max(time.Until(deadline)/4, shortestAttempt), longestAttempt)
}

// attempts is the SDK's HTTP client. It limits the time of each attempt,
// including reading the complete response. The SDK retries an attempt without a
// response, because it sees a send failure.
type attempts struct{ next http.RoundTripper }

// Do implements dynamodb.HTTPClient. It records whether a write may have been
// executed.
func (a attempts) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), attemptTime(req.Context()))
	defer cancel()
	o, writes := ctx.Value(outcomeKey{}).(*outcome)
	var asked, connected atomic.Int32
	if writes {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) { asked.Add(1) },
			GotConn: func(httptrace.GotConnInfo) { connected.Add(1) }})
	}
	res, err := a.exchange(ctx, req)
	if writes && mayHaveWritten(res, err, asked.Load(), connected.Load()) {
		o.unknown.Store(true)
	}
	return res, err
}

// exchange sends the request and reads the complete response.
//
// If the table closed an idle connection, net/http sends the request at once over
// another one. It does so only for a request with GetBody that has the header
// X-Idempotency-Key. The header is not sent, because it has no value here. Every
// request to the table may be repeated: a transaction has a client request
// token.
//
// Fault of smithy-go: it closes the body of a request as soon as Do returns a
// response, although net/http may still be writing the body. This breaks the
// connection, and the rest of the response is lost. Therefore exchange reads the
// response first, and gives net/http a body that smithy-go cannot close.
func (a attempts) exchange(ctx context.Context, req *http.Request) (*http.Response, error) {
	body, err := contents(req.Body, req.ContentLength)
	if err != nil {
		return nil, fmt.Errorf("body of a request to the table: %w", err)
	}
	req = req.WithContext(ctx)
	req.Header["X-Idempotency-Key"] = nil
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	res, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if body, err = contents(res.Body, res.ContentLength); err != nil {
		return nil, err
	}
	if want := res.Header.Get("X-Amz-Crc32"); want != "" { // LocalStack sends none
		sum, err := strconv.ParseUint(want, 10, 32)
		if err != nil || uint32(sum) != crc32.ChecksumIEEE(body) {
			return nil, errDamaged
		}
	}
	res.Body = complete{bytes.NewBuffer(body)}
	return res, nil
}

// complete is a body that has been read completely.
type complete struct{ *bytes.Buffer }

// Close implements io.Closer.
func (complete) Close() error { return nil }

// contents reads and closes a body. length is its length in bytes, −1 if it is
// not known.
func contents(body io.ReadCloser, length int64) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var all bytes.Buffer
	if length > 0 && length <= largestResponse {
		all.Grow(int(length) + bytes.MinRead)
	}
	n, err := all.ReadFrom(io.LimitReader(body, largestResponse+1))
	if n > largestResponse {
		err = errTooLarge
	}
	return all.Bytes(), errors.Join(err, body.Close())
}

// The SDK treats these errors as a lost response: it sends the request again.
var (
	errDamaged  = errors.New("the response of the table does not match its checksum")
	errTooLarge = errors.New("the response of the table is larger than 32 MiB")
)

// outcome records whether an attempt of a write may have been executed. If one may, and
// the write fails, the result of the write is unknown.
type outcome struct{ unknown atomic.Bool }

// outcomeKey is the context key of the outcome of a write.
type outcomeKey struct{}

// mayHaveWritten reports whether the table may have executed an attempt that
// asked for connections and got some. An attempt without a connection was not
// executed. An attempt with status 200 was, even if we cannot read its response.
// After a 5xx, or without a response, it may have been. So may the first of two
// requests that net/http sent for the attempt.
func mayHaveWritten(res *http.Response, err error, asked, connected int32) bool {
	switch {
	case connected > 1:
		return true
	case err == nil:
		return res.StatusCode == http.StatusOK || res.StatusCode >= http.StatusInternalServerError
	}
	return asked == 0 || connected > 0 // a test reports no connections: assume that the write was sent
}

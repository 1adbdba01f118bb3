package table

import (
	"context"
	"errors"
	"hash/crc32"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"svc/pkg/data/wire"
)

// Limits of the time of one attempt. With a deadline, each attempt gets a
// quarter of the remaining time, within these limits, so that there is time for
// retries if a connection does not respond. Without a deadline, it gets
// longestAttempt. Of an API request's 4.5 s, the first attempt gets 1.1 s.
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

// attempts limits the time of each attempt, including reading the complete
// response. The SDK retries an attempt without a response, because it sees a
// send failure. If client.send sent the first attempt, the SDK gets the result
// of that attempt.
type attempts struct {
	next    http.RoundTripper
	learned func(*http.Request) // gets each request that the SDK sends
}

// Do implements aws.HTTPClient.
func (a attempts) Do(req *http.Request) (*http.Response, error) {
	if sent := sentBefore(req.Context()); sent != nil {
		return sent.result()
	}
	a.learned(req)
	return a.once(req)
}

// once sends one attempt and reads its response. It records whether a write may
// have been executed.
func (a attempts) once(req *http.Request) (*http.Response, error) {
	res, err := a.exchange(req)
	if o, ok := req.Context().Value(outcomeKey{}).(*outcome); ok && mayHaveWritten(res, err) {
		o.unknown.Store(true)
	}
	return res, err
}

func (a attempts) exchange(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), attemptTime(req.Context()))
	defer cancel()
	res, err := a.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, err := wire.ReadBody(res.Body, res.ContentLength)
	if err != nil {
		return nil, err
	}
	if want := res.Header.Get("X-Amz-Crc32"); want != "" { // LocalStack sends none
		sum, err := strconv.ParseUint(want, 10, 32)
		if err != nil || uint32(sum) != crc32.ChecksumIEEE(body) {
			return nil, errDamaged
		}
	}
	res.Body = wire.Body(body)
	return res, nil
}

// errDamaged is the error of an attempt with a damaged response. The SDK sends
// the request again, as it does without a response.
var errDamaged = errors.New("the response of the table does not match its checksum")

// outcome records what we know about a write after its attempts.
type outcome struct{ unknown atomic.Bool }

type outcomeKey struct{}

// mayHaveWritten reports whether the table may have executed an attempt. An
// attempt without a connection was not executed. An attempt with status 200
// was, even if we cannot read its response. After a 5xx, or without a response,
// it may have been.
func mayHaveWritten(res *http.Response, err error) bool {
	if err == nil {
		return res.StatusCode == http.StatusOK || res.StatusCode >= http.StatusInternalServerError
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}

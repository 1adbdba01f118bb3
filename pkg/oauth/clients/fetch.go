package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits of one fetch of a client's document or keys.
const (
	documentTime = 5 * time.Second // time limit for DNS, connection, TLS, headers and body in total
	documentSize = 64 << 10        // maximum size of the body in bytes
)

// fetchError reports that a document or a key set could not be fetched. The
// caller of the endpoint must not learn the cause, because the causes would let
// an attacker map internal networks.
type fetchError struct{ cause error }

func (e *fetchError) Error() string { return "fetching from a client's address: " + e.cause.Error() }
func (e *fetchError) Unwrap() error { return e.cause }

// fetchDocument makes one request for a document or key set and follows no
// redirect. life is how long the response may be cached, or 0 (see freshness).
// The error is a *fetchError.
func fetchDocument(ctx context.Context, transport http.RoundTripper, address string) (body []byte, life time.Duration,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	//nolint:gosec // the transport reaches public addresses only
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, &fetchError{err}
	}
	req.Header.Set("Accept", "application/json")
	res, err := transport.RoundTrip(req) // RoundTrip follows no redirects and sends no cookies
	if err != nil {
		return nil, 0, &fetchError{err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, 0, &fetchError{fmt.Errorf("status %d", res.StatusCode)}
	}
	if !isJSON(res.Header.Get("Content-Type")) {
		return nil, 0, &fetchError{errors.New("the Content-Type is not JSON")}
	}
	if body, err = io.ReadAll(io.LimitReader(res.Body, documentSize+1)); err != nil {
		return nil, 0, &fetchError{err}
	}
	if len(body) > documentSize {
		return nil, 0, &fetchError{errors.New("the body is larger than 64 KiB")}
	}
	return body, freshness(res.Header), nil
}

// isJSON reports whether a media type is application/json or
// application/…+json.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || (strings.HasPrefix(kind, "application/") &&
		strings.HasSuffix(kind, "+json")))
}

// freshness returns max-age (RFC 9111 section 5.2.2.1). It returns 0 if the
// response has no valid max-age, or has no-store or no-cache.
func freshness(h http.Header) time.Duration {
	var life time.Duration
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				life = time.Duration(seconds) * time.Second
			}
		}
	}
	return life
}

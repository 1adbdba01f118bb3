package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"svc/pkg/ids"
	"svc/pkg/table"
)

// Limits are the throttles, each a number of requests, from one address where
// nothing else is said.
type Limits struct {
	SignInsAnAccount int // failed sign-ins to one account, a quarter of an hour
	SignIns          int // failed sign-ins, a quarter of an hour
	Registrations    int // an hour
	Documents        int // client metadata documents fetched, an hour
	TokenFailures    int // refused requests of the token, revocation and introspection endpoints, a minute
}

func (l Limits) orDefault() Limits {
	if l.SignInsAnAccount == 0 {
		l.SignInsAnAccount = signInsAnAccount
	}
	if l.SignIns == 0 {
		l.SignIns = signInsAnAddress
	}
	if l.Registrations == 0 {
		l.Registrations = 200
	}
	if l.Documents == 0 {
		l.Documents = 60
	}
	if l.TokenFailures == 0 {
		l.TokenFailures = 300
	}
	return l
}

// throttle counts one use of key, a name or address that is stored only as a
// hash, and refuses with 429 once limit uses fell into the present window. A
// limit below 0 or an empty key is no throttle. One write.
func (s *Server) throttle(ctx context.Context, kind, key string, limit int, window time.Duration) error {
	if limit < 0 || key == "" {
		return nil
	}
	at, end := s.throttleKey(kind, key, window)
	step := func(ctx context.Context) error {
		tx := s.p.Write()
		tx.Update(at, table.Change{Set: map[string]any{"type": "throttle"}, Add: map[string]any{"n": 1}, Expires: end.Add(afterlife).Unix()}).
			If("attribute_not_exists('n') OR 'n' < ?", limit).Else(errThrottled)
		return tx.Commit(ctx)
	}
	err := table.Retry(ctx, step)
	if errors.Is(err, errThrottled) {
		return s.throttled(end)
	}
	if err != nil {
		return fmt.Errorf("throttle %s: %w", kind, err)
	}
	return nil
}

var errThrottled = errors.New("throttled")

func (s *Server) throttled(end time.Time) *Error {
	return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Description: "Too many requests. Try again later.",
		RetryAfter: max(time.Second, end.Sub(s.now()))}
}

// throttleKey gives the counter of the present window and the window's end.
func (s *Server) throttleKey(kind, key string, window time.Duration) (table.Key, time.Time) {
	start := s.now().Truncate(window)
	return s.p.Key("THROTTLE", "THROTTLE", kind, ids.Hash(key+"@"+strconv.FormatInt(start.Unix(), 10))), start.Add(window)
}

// address is the caller's, "" where it is not known.
func (s *Server) address(ctx context.Context) string {
	if s.config.Address == nil {
		return ""
	}
	return s.config.Address(ctx)
}

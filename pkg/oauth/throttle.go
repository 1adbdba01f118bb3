package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"svc/pkg/ids"
	"svc/pkg/table"
)

// Limits are the throttles, each a number of requests, from one address where
// nothing else is said. An address is an IPv4 address or an IPv6 network.
type Limits struct {
	SignInsAnAccount int // failed sign-ins to one account from one address, or from one browser that it knows, a quarter of an hour
	SignInsOfAnybody int // failed sign-ins to one account, browsers that it knows apart, a day
	SignIns          int // failed sign-ins, a quarter of an hour
	Registrations    int // an hour
	Links            int // one-time links asked for, an hour
	Documents        int // client metadata documents fetched, an hour
	TokenFailures    int // refused requests of the token, revocation and introspection endpoints, a minute
}

func (l Limits) orDefault() Limits {
	for _, one := range []struct {
		limit    *int
		standard int
	}{
		{&l.SignInsAnAccount, signInsAnAccount}, {&l.SignInsOfAnybody, signInsOfAnybody}, {&l.SignIns, signInsAnAddress},
		{&l.Registrations, 200}, {&l.Links, 20}, {&l.Documents, 60}, {&l.TokenFailures, 300},
	} {
		if *one.limit == 0 {
			*one.limit = one.standard
		}
	}
	return l
}

// counter counts the uses of a key, a name or address that is stored only as a
// hash, in windows of the clock. A limit below 0 or an empty key counts nothing.
type counter struct {
	kind, key string
	limit     int
	window    time.Duration
}

func (c counter) counts() bool { return c.limit >= 0 && c.key != "" }

// at gives where the present window is counted, and its end.
func (c counter) at(s *Server) (table.Key, time.Time) {
	start := s.now().Truncate(c.window)
	return s.p.Key("THROTTLE", "THROTTLE", c.kind, ids.Hash(c.key+"@"+strconv.FormatInt(start.Unix(), 10))), start.Add(c.window)
}

// throttle counts one use in each of the counters, or in none and refuses with
// 429 when one of them is full. One write.
func (s *Server) throttle(ctx context.Context, counters ...counter) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.p.Write()
		for _, c := range counters {
			if !c.counts() {
				continue
			}
			at, end := c.at(s)
			tx.Update(at, table.Change{Set: map[string]any{"type": "throttle"}, Add: map[string]any{"n": 1}, Expires: end.Add(afterlife).Unix()}).
				If("attribute_not_exists('n') OR 'n' < ?", c.limit).Else(&full{end})
		}
		return tx.Commit(ctx)
	})
	var f *full
	if errors.As(err, &f) {
		return s.throttled(f.end)
	}
	if err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	return nil
}

// full is a counter that takes no more until the end of its window.
type full struct{ end time.Time }

func (f *full) Error() string { return "throttled" }

func (s *Server) throttled(end time.Time) *Error {
	return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Description: "Too many requests. Try again later.",
		RetryAfter: max(time.Second, end.Sub(s.now()))}
}

// forgive takes back one use that throttle counted. It is best effort.
func (s *Server) forgive(ctx context.Context, counters ...counter) {
	tx := s.p.Write()
	for _, c := range counters {
		if c.counts() {
			at, _ := c.at(s)
			tx.Update(at, table.Change{Add: map[string]any{"n": -1}}).If("attribute_exists(pk)")
		}
	}
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) {
		s.log.WarnContext(ctx, "a successful sign-in still counts as an attempt", "error", err)
	}
}

// address is what the caller's address is counted by, "" where it is not known.
func (s *Server) address(ctx context.Context) string {
	if s.config.Address == nil {
		return ""
	}
	return network(s.config.Address(ctx))
}

// network is an IPv4 address itself, and of an IPv6 address the /64 that one
// subscriber has whole. What is neither stays as it is.
func network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	at = at.Unmap().WithZone("")
	if at.Is4() {
		return at.String()
	}
	return netip.PrefixFrom(at, 64).Masked().String()
}

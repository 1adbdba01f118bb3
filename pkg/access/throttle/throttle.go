// Package throttle counts requests in the table, for example by address,
// account or client. So a limit applies to all instances of the service
// together.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Limits configure the throttles. Each is a number of requests per address
// unless the field says otherwise. An address is an IPv4 address or an IPv6 /64
// network. 0 means the default, and a negative number means no limit.
type Limits struct {
	// SignInsAnAccount bounds the failed sign-ins to one account in a quarter of
	// an hour, from one address or from one browser that the account knows.
	SignInsAnAccount int
	// SignInsOfAnybody is how many sign-ins to one account may fail in a day, from
	// all browsers that the account does not know, before further sign-ins from
	// such browsers have to wait.
	SignInsOfAnybody int
	SignIns          int // failed sign-ins in a quarter of an hour, from browsers that the account does not know
	Registrations    int // registrations of clients in an hour
	Links            int // requests for links of forgotten passwords in an hour
	SignUps          int // requests for links of a sign-up in an hour
	Documents        int // client metadata documents, and keys of new clients, fetched in an hour
	Devices          int // requests of devices for access in an hour
	UserCodes        int // wrong codes of such requests, typed in an hour
	// TokenFailures is how many requests to the token, revocation and
	// introspection endpoints may fail with invalid_client or invalid_grant in a
	// minute. Failures of a confidential client that authenticated count for the
	// client, not for the address.
	TokenFailures int
}

// WithDefaults replaces zeros with the defaults.
func (l Limits) WithDefaults() Limits {
	for _, one := range []struct {
		limit    *int
		standard int
	}{
		{&l.SignInsAnAccount, 10}, {&l.SignInsOfAnybody, 20}, {&l.SignIns, 100}, {&l.Registrations, 200},
		{&l.Links, config.MailDefaults[config.MailForgot]}, {&l.SignUps, config.MailDefaults[config.MailSignUp]},
		{&l.Documents, 60}, {&l.Devices, 200}, {&l.UserCodes, 50}, {&l.TokenFailures, 300},
	} {
		if *one.limit == 0 {
			*one.limit = one.standard
		}
	}
	return l
}

// Counter counts the uses of a key in fixed time windows. Key is a name or an
// address, and is stored as a hash. A negative limit or an empty key disables
// the counter.
type Counter struct {
	Kind, Key string
	Limit     int
	Window    time.Duration
	// Sliding makes the limit hold for each period as long as the window, wherever it
	// begins. See sliding.go.
	Sliding bool
	// Delays makes the limit soft: beyond the limit, a use is allowed one minute
	// after the last use. The delay doubles with each use, up to longestDelay.
	Delays bool

	extra int // how far beyond Limit the counter may go, because this use has waited
	was   int // uses of a sliding counter before this window that still count
}

// longestDelay is the longest delay of a counter with Delays. With it, and with
// the default limit, fewer than a hundred guesses are possible in a window of
// one day (NIST SP 800-63B section 3.2.2).
const longestDelay = 20 * time.Minute

// delay returns how long the next use must wait after the last one, if there
// were n uses so far and n is at least Limit.
func (c Counter) delay(n int) time.Duration {
	wait := time.Minute
	for over := n - c.Limit; over > 0 && wait < longestDelay; over-- {
		wait *= 2
	}
	return min(wait, longestDelay)
}

// clocksApart is how far the clocks of processes may differ. A last use that lies
// further ahead was counted before the clock was set back. It delays nobody, else
// an account would be locked for as long as the clock was wrong.
const clocksApart = 5 * time.Minute

// Mail returns the counter of a kind of mail that one tenant causes.
func Mail(limits config.MailLimits, kind, tenant string) Counter {
	return Counter{Kind: "mail-" + kind, Key: tenant, Limit: limits.Of(kind), Window: time.Hour, Sliding: true}
}

// Enabled reports whether the counter is active.
func (c Counter) Enabled() bool { return c.Limit >= 0 && c.Key != "" }

// Throttle stores the counters in the table.
type Throttle struct {
	p       table.Platform
	now     func() time.Time
	address func(context.Context) string
	log     *slog.Logger
}

// retention is how long a counter is kept after its window.
const retention = 10 * time.Minute

// New returns a throttle. address returns the caller's address, or "" if it is
// unknown. A nil address means that no address is known.
func New(db *table.DB, now func() time.Time, address func(context.Context) string, log *slog.Logger) *Throttle {
	return &Throttle{p: db.Platform("THROTTLE"), now: now, address: address, log: log}
}

// Handle returns the handle for the keys that Window returns.
func (t *Throttle) Handle() table.Handle { return t.p.Handle }

// Window returns the key of the counter's current window, and the window's end.
func (t *Throttle) Window(c Counter) (table.Key, time.Time) {
	start := t.now().UTC().Truncate(c.Window)
	return t.key(c, start), start.Add(c.Window)
}

func (t *Throttle) key(c Counter, start time.Time) table.Key {
	name := ids.Hash(c.Key + "@" + strconv.FormatInt(start.Unix(), 10))
	return t.p.Key("THROTTLE", c.Kind, name, "THROTTLE")
}

// Count adds one use to each of the counters in one write. If a counter has
// reached its limit, Count changes none of them and returns a 429. The exception
// is a counter with Delays: Count then reads it, and allows the use if the delay
// has passed.
func (t *Throttle) Count(ctx context.Context, counters ...Counter) error {
	counters = slices.Clone(counters)
	for range 3 {
		if err := t.look(ctx, counters); err != nil {
			return err
		}
		err := t.count(ctx, counters)
		var reached *limitReached
		if !errors.As(err, &reached) {
			return err
		}
		c := counters[reached.counter]
		if c.Sliding {
			continue // others used it meanwhile: look again
		}
		if !c.Delays {
			return t.Refusal(reached.end)
		}
		key, _ := t.Window(c)
		it, err := t.p.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("throttle: %w", err)
		}
		used := int(it.Int("n"))
		next := time.Unix(it.Int("at"), 0).Add(c.delay(used))
		if wait := next.Sub(t.now()); wait > 0 && wait <= c.delay(used)+clocksApart {
			return t.Refusal(next)
		}
		counters[reached.counter].extra = used + 1 - c.Limit
	}
	return t.Refusal(t.now().Add(time.Minute)) // other requests used the allowance each time
}

func (t *Throttle) count(ctx context.Context, counters []Counter) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.p.Write()
		for n, c := range counters {
			if c.Enabled() {
				op, end := t.use(tx, c)
				op.Else(&limitReached{n, end})
			}
		}
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	return nil
}

// use adds one use of the counter to the transaction. The operation's condition fails
// once the counter has reached its limit, which holds until end.
func (t *Throttle) use(tx *table.Tx, c Counter) (op *table.Op, end time.Time) {
	key, end := t.Window(c)
	kept := end.Add(retention)
	if c.Sliding {
		kept = kept.Add(c.Window)
	}
	return tx.Update(key, table.Change{Set: map[string]any{"type": "throttle", "at": t.now().Unix()},
		Add: t.added(c, 1), Expires: kept.Unix()}).
		If("attribute_not_exists('n') OR 'n' < ?", c.Limit+c.extra-c.was), end
}

// added returns what n uses add to the item of the counter's window.
func (t *Throttle) added(c Counter, n int) map[string]any {
	out := map[string]any{"n": n}
	if c.Sliding {
		out[partName(partAt(c, t.now()))] = n
	}
	return out
}

// Add adds one use of a counter without Delays to the transaction of what it bounds.
// The transaction fails with a 429 once the counter has reached its limit. If it has
// already, that is Add's error.
func (t *Throttle) Add(ctx context.Context, tx *table.Tx, c Counter) error {
	counters := []Counter{c}
	if err := t.look(ctx, counters); err != nil || !c.Enabled() {
		return err
	}
	op, end := t.use(tx.Covers(t.p.Handle), counters[0])
	op.Else(t.Refusal(end))
	return nil
}

// limitReached reports that a counter has reached its limit until the end of
// its window.
type limitReached struct {
	counter int
	end     time.Time
}

func (e *limitReached) Error() string { return "the limit is reached" }

// Refusal returns a 429 that asks the caller to wait until end.
func (t *Throttle) Refusal(end time.Time) *fault.Error {
	return fault.RateLimited(max(time.Second, end.Sub(t.now())))
}

// Refused returns err as the 429 of a throttle, and reports whether it is one.
func Refused(err error) (*fault.Error, bool) {
	var e *fault.Error
	ok := errors.As(err, &e) && e.Kind == fault.KindRateLimited
	return e, ok
}

// Forgive takes back one use of each counter, in the counter's current window.
// If one of the counters has no record for its current window, Forgive changes
// none.
// If the write fails, Forgive logs the error.
func (t *Throttle) Forgive(ctx context.Context, counters ...Counter) {
	tx := t.p.Write()
	for _, c := range counters {
		if c.Enabled() {
			key, _ := t.Window(c)
			tx.Update(key, table.Change{Add: t.added(c, -1)}).If("attribute_exists(pk)")
		}
	}
	if err := table.Retry(ctx, tx.Commit); err != nil && !errors.Is(err, table.ErrCondition) {
		t.log.WarnContext(ctx, "a successful sign-in still counts as an attempt", "error", err)
	}
}

// Address returns the counter key for the caller's address, or "" if the
// address is unknown.
func (t *Throttle) Address(ctx context.Context) string {
	if t.address == nil {
		return ""
	}
	return Network(t.address(ctx))
}

// Network returns an IPv4 address unchanged, and the /64 network of an IPv6
// address, which one subscriber owns as a unit. It returns any other text
// unchanged.
func Network(address string) string {
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

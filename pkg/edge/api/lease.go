package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// On Lambda each stream has a process of its own, so the streams of a tenant are counted
// in the table: one item lists their leases. A lease ends when Lambda's time for the
// stream ends and is never renewed, so the lease of a killed process ends by itself.
// Lambda does not report that a client is gone. Such a stream continues, and keeps its
// lease, until a newer stream takes the lease.
const (
	streamsOfPerson = 4
	checkEach       = 10 // after how many polls a stream reads whether its lease was taken
)

// lease records one open stream of a person.
type lease struct {
	ID     string    `json:"id"`
	Person string    `json:"person"`
	Until  time.Time `json:"until"`
}

// leases is the stored list of the leases of a tenant's open streams.
type leases struct {
	Open []lease `json:"open"` // oldest first
}

var _ = table.Kind[any]{Type: "streams", Personal: "nothing",
	Once: "only EventsFunction writes it; TestLeases keeps a newer build's data"}

// leasesKey returns the key of a tenant's leases.
func leasesKey(t table.Tenant) table.Key { return t.Key("STREAMS", "STREAMS") }

// shareOf returns how many of all streams one tenant may have: at most half, so that
// other tenants get streams too.
func shareOf(all int) int { return max(1, min(streamsOfTenant, all/2)) }

// admit adds the lease one and reports whether it could. share is the maximum number of
// the tenant's leases. A person who already has streamsOfPerson leases loses the oldest
// one. If the share is used up, the person with most leases loses the oldest one. If
// nobody else has two leases, and the person of the new lease has none, admit adds nothing.
func (l *leases) admit(one lease, share int, now time.Time) bool {
	l.Open = slices.DeleteFunc(l.Open, func(o lease) bool { return o.ID == one.ID || !now.Before(o.Until) })
	count, most := map[string]int{}, one.Person
	for _, o := range l.Open {
		count[o.Person]++
	}
	full, many := len(l.Open) >= share, count[one.Person] >= streamsOfPerson
	if full && !many {
		for _, o := range l.Open {
			if count[o.Person] > count[most] {
				most = o.Person
			}
		}
		if count[most] == 1 && most != one.Person {
			return false
		}
	}
	if full || many {
		l.drop(func(o lease) bool { return o.Person == most })
	}
	l.Open = append(l.Open, one)
	return true
}

// drop removes the oldest lease that matches. It reports whether there was one.
func (l *leases) drop(match func(lease) bool) bool {
	i := slices.IndexFunc(l.Open, match)
	if i >= 0 {
		l.Open = slices.Delete(l.Open, i, i+1)
	}
	return i >= 0
}

// change reads a tenant's leases into l, calls edit and stores the result. If edit
// returns false, nothing is stored.
func (l *leases) change(ctx context.Context, t table.Tenant, now time.Time, edit func(*leases) bool) (done bool,
	err error) {
	err = table.Retry(ctx, func(ctx context.Context) error {
		it, err := t.Get(ctx, leasesKey(t))
		if err != nil {
			return err
		}
		if *l, err = table.DecodeOr(it, leases{}); err != nil {
			return err
		}
		if done = edit(l); !done {
			return nil
		}
		next := table.Item{Key: it.Key, Type: "streams", Version: 1, Doc: l, Expires: now.Add(time.Second)}
		for _, o := range l.Open {
			if o.Until.After(next.Expires) {
				next.Expires = o.Until
			}
		}
		tx := t.Write()
		audit.Put(tx, it, next)
		return tx.Commit(ctx)
	})
	return done, err
}

// place is the permission to have one stream open. leave gives it back.
type place struct {
	leave func()
	taken func(context.Context) bool // reports whether another stream has the place now; nil: never
}

// enter gives the caller a place, the permission to open a stream that lasts for life. If
// there is none left, it rejects the stream with a 429.
func (s *Server) enter(ctx context.Context, c *Caller, life time.Duration) (place, error) {
	if s.Streams == 0 {
		return place{leave: func() { s.streams.leave(c.Actor.TenantID) }}, s.streams.enter(c.Actor.TenantID)
	}
	now, t, l := s.Now(), c.Tenant, &leases{}
	one := lease{ID: ids.New(ids.Request, now), Person: c.Actor.Subject, Until: now.Add(life + spare).UTC()}
	done, err := l.change(ctx, t, now, func(l *leases) bool { return l.admit(one, shareOf(s.Streams), now) })
	if err == nil && !done {
		err = fault.RateLimited(patience)
	}
	mine := func(o lease) bool { return o.ID == one.ID }
	return place{
		leave: func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spare)
			defer cancel()
			if _, err := l.change(ctx, t, s.Now(), func(l *leases) bool { return l.drop(mine) }); err != nil {
				s.Logger.WarnContext(ctx, "the lease of a stream stays", "tenant_id", t.ID(), "error", err) // until it ends
			}
		},
		taken: func(ctx context.Context) bool {
			items, err := t.BatchEventual(ctx, leasesKey(t))
			var l leases
			return err == nil && items[0].Found() && items[0].Decode(&l) == nil && !slices.ContainsFunc(l.Open, mine)
		},
	}, err
}

// errTaken ends a stream whose lease a newer stream has taken.
var errTaken = errors.New("api: another stream has the lease")

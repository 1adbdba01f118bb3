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

// Where each stream has a process of its own, the streams of a tenant are counted in
// the table: one item lists the leases. A lease ends with the time that Lambda gives
// the stream, so the lease of a process that was killed ends by itself, and none is
// renewed. Lambda does not say when a client is gone. Such a stream runs on, and keeps
// its lease, until a newer stream takes it.
const (
	streamsOfPerson = 4
	checkEach       = 10 // polls: how often a stream reads whether its lease was taken
)

// lease is one open stream.
type lease struct {
	ID     string    `json:"id"`
	Person string    `json:"person"`
	Until  time.Time `json:"until"`
}

// leases is the document of a tenant's streams.
type leases struct {
	Open []lease `json:"open"` // in the order of their begin
}

var _ = table.Kind[any]{Type: "streams", Personal: "nothing",
	Once: "only EventsFunction writes it; TestLeases keeps a newer build's data"}

func leasesKey(t table.Tenant) table.Key { return t.Key("STREAMS", "STREAMS") }

// shareOf returns how many of all streams one tenant may have: half, so that others
// have some too.
func shareOf(all int) int { return max(1, min(streamsOfTenant, all/2)) }

// admit adds a stream. A person with many streams loses the oldest one. If the share is
// used up, whoever has most streams loses the oldest one, unless nobody has two.
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

// drop removes the first lease that matches.
func (l *leases) drop(match func(lease) bool) bool {
	i := slices.IndexFunc(l.Open, match)
	if i >= 0 {
		l.Open = slices.Delete(l.Open, i, i+1)
	}
	return i >= 0
}

// change changes a tenant's leases, unless edit returns false.
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

// place is the permission to stream.
type place struct {
	leave func()
	taken func(context.Context) bool // reports whether another stream has it now; nil: never
}

// enter gives the caller a place for a stream of that life, or rejects it with a 429.
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

// errTaken ends a stream whose lease a newer stream has.
var errTaken = errors.New("api: another stream has the lease")

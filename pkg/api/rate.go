package api

import (
	"sync"
	"time"

	"svc/pkg/fault"
	"svc/pkg/signing"
)

// Rates bound what one process takes from one tenant, and from one client in a
// tenant, in requests a second; at once it takes what would be two seconds'
// worth. 0 is no bound.
type Rates struct{ Tenant, Client int }

// saved is for how long a rate that is not used adds up.
const saved = 2 * time.Second

// clockStep is how far a clock must have been set back for a bucket to start
// anew: requests that began at nearly one time come in any order.
const clockStep = time.Minute

// mostBuckets is how many buckets a generation holds; two are kept. A bucket
// that is forgotten is full again.
const mostBuckets = 4096

// buckets are the token buckets of a process. A bucket is kept as the time at
// which it is full: each request moves that on by the time that one takes to
// drip in, and is refused when it would be too far ahead.
type buckets struct {
	mu         sync.Mutex
	young, old map[bucket]time.Time
}

// bucket names one: a tenant's own has no client.
type bucket struct{ tenant, client string }

// admit takes a request of the actor, or refuses it with the time after which
// to come again. A refused one costs neither bucket anything.
func (b *buckets) admit(r Rates, a signing.Access, now time.Time) error {
	if r.Tenant <= 0 && r.Client <= 0 {
		return nil
	}
	tenant, client := bucket{tenant: a.TenantID}, bucket{a.TenantID, a.ClientID}
	b.mu.Lock()
	defer b.mu.Unlock()
	forTenant, wait := b.after(tenant, r.Tenant, now)
	forClient, also := b.after(client, r.Client, now)
	if wait = max(wait, also); wait > 0 {
		return fault.RateLimited(wait)
	}
	b.keep(tenant, r.Tenant, forTenant)
	b.keep(client, r.Client, forClient)
	return nil
}

// after gives when the bucket is full after one more request, and how long that
// has to wait.
func (b *buckets) after(name bucket, rate int, now time.Time) (full time.Time, wait time.Duration) {
	if rate <= 0 {
		return time.Time{}, 0
	}
	full, ok := b.young[name]
	if !ok {
		full = b.old[name]
	}
	if full.Before(now) || full.After(now.Add(saved+clockStep)) {
		full = now
	}
	full = full.Add(time.Second / time.Duration(rate))
	return full, full.Sub(now) - saved
}

func (b *buckets) keep(name bucket, rate int, full time.Time) {
	if rate <= 0 {
		return
	}
	if len(b.young) >= mostBuckets || b.young == nil {
		b.young, b.old = make(map[bucket]time.Time), b.young
	}
	b.young[name] = full
}

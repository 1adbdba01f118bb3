package api

import (
	"sync"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
)

// Rates limit the requests per second that one process serves for one tenant,
// and for one client in a tenant. A token and a person in a tenant have the
// limit of Rates.person. After a pause, a burst of the requests of two seconds is
// allowed. 0 means no limit.
type Rates struct{ Tenant, Client int }

// person is the limit for one person, with any number of clients and tokens. It
// is the client's limit, if that is lower than the tenant's. Otherwise it is
// three quarters of the tenant's, so that one person leaves a rest for others.
func (r Rates) person() int {
	if r.Tenant <= 0 || r.Client > 0 && r.Client < r.Tenant {
		return r.Client
	}
	return max(1, r.Tenant*3/4)
}

// burst is how long an idle bucket accumulates requests.
const burst = 2 * time.Second

// clockStep is the smallest step back of the clock that resets a bucket.
// Smaller steps are normal: requests that began at nearly the same time reach
// the bucket in any order.
const clockStep = time.Minute

// mostBuckets is the maximum number of buckets in the map buckets.young. When young
// is full, it becomes old, and the buckets of the previous old are dropped. A dropped
// bucket starts full again.
const mostBuckets = 4096

// buckets holds the buckets of a process, for rate limits by token bucket. A
// bucket is stored as the time at which it will be full. Each charged request
// moves that time forward by 1/rate seconds. A request that would move it more
// than burst ahead of now is rejected, and not charged.
type buckets struct {
	mu         sync.Mutex
	young, old map[bucket]time.Time
}

// bucket identifies a bucket: a tenant's, a client's or a person's in a tenant,
// or an access token's.
type bucket struct{ tenant, client, person, token string }

// tenantBucket, clientBucket, personBucket and tokenBucket return the buckets to which
// a request with the access token a is charged.
func tenantBucket(a signing.Access) bucket { return bucket{tenant: a.TenantID} }
func clientBucket(a signing.Access) bucket { return bucket{tenant: a.TenantID, client: a.ClientID} }
func personBucket(a signing.Access) bucket { return bucket{tenant: a.TenantID, person: a.Subject} }
func tokenBucket(a signing.Access) bucket  { return bucket{token: a.ID} }

// admit charges a request to its token's bucket. It runs before the batch read
// of the checks. If the bucket is empty, admit rejects the request with the
// time to wait. It also rejects the request if the bucket of the tenant, the
// client or the person is empty, but it does not charge these: the token may be
// revoked, and a revoked token must not use up the limits of others.
func (b *buckets) admit(r Rates, a signing.Access, now time.Time) error {
	if r.Tenant <= 0 && r.Client <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, forTenant := b.after(tenantBucket(a), r.Tenant, now)
	_, forClient := b.after(clientBucket(a), r.Client, now)
	_, forPerson := b.after(personBucket(a), r.person(), now)
	full, wait := b.after(tokenBucket(a), r.person(), now)
	if wait = max(wait, forTenant, forClient, forPerson); wait > 0 {
		return fault.RateLimited(wait)
	}
	b.keep(tokenBucket(a), r.person(), full)
	return nil
}

// charge charges a request that has passed the checks to the buckets of its
// tenant, client and person, or rejects it with the time to wait. A rejected
// request is charged to none of them.
func (b *buckets) charge(r Rates, a signing.Access, now time.Time) error {
	if r.Tenant <= 0 && r.Client <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	forTenant, wait := b.after(tenantBucket(a), r.Tenant, now)
	forClient, also := b.after(clientBucket(a), r.Client, now)
	forPerson, third := b.after(personBucket(a), r.person(), now)
	if wait = max(wait, also, third); wait > 0 {
		return fault.RateLimited(wait)
	}
	b.keep(personBucket(a), r.person(), forPerson)
	b.keep(tenantBucket(a), r.Tenant, forTenant)
	b.keep(clientBucket(a), r.Client, forClient)
	return nil
}

// after returns the time at which the bucket is full after one more request,
// and how long that request must wait; 0 or less means not at all.
func (b *buckets) after(name bucket, rate int, now time.Time) (full time.Time, wait time.Duration) {
	if rate <= 0 {
		return time.Time{}, 0
	}
	full, ok := b.young[name]
	if !ok {
		full = b.old[name]
	}
	if full.Before(now) || full.After(now.Add(burst+clockStep)) {
		full = now
	}
	full = full.Add(time.Second / time.Duration(rate))
	return full, full.Sub(now) - burst
}

// keep stores when the bucket will be full.
func (b *buckets) keep(name bucket, rate int, full time.Time) {
	if rate <= 0 {
		return
	}
	if len(b.young) >= mostBuckets || b.young == nil {
		b.young, b.old = make(map[bucket]time.Time), b.young
	}
	b.young[name] = full
}

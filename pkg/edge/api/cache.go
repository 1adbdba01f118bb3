package api

import (
	"sync"
	"time"
)

const (
	// shardsTTL is how long a process may use a cached readShards, the number of
	// shards of a tenant's lists. It must be shorter than tenant.SettleShards, the
	// time for which writeShards must wait after readShards was raised.
	shardsTTL = 30 * time.Second
	// recentTTL is how long a process may use an item that an endpoint's row
	// declared with NeedsRecent.
	recentTTL = time.Second
)

// cache holds the values of at most 1,000 keys, each for ttl. A cache of which
// only ttl is set is empty and ready for use.
type cache[K comparable, V any] struct {
	ttl time.Duration
	mu  sync.Mutex
	m   map[K]cached[V]
}

// cached is a value that was read at the time at or later.
type cached[V any] struct {
	value V
	at    time.Time
}

// get returns the key's value. It returns false if there is no value, if the
// value's age has reached ttl, or if the clock has gone back.
func (c *cache[K, V]) get(key K, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.m[key]
	age := now.Sub(e.at)
	return e.value, ok && age >= 0 && age < c.ttl
}

// last returns the key's value of any age. It is only a hint, because it may be outdated.
func (c *cache[K, V]) last(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.m[key]
	return e.value, ok
}

// put keeps a value that was read at the time at or later. If the cache is
// full, put first empties it.
func (c *cache[K, V]) put(key K, value V, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= 1000 {
		c.m = map[K]cached[V]{}
	}
	c.m[key] = cached[V]{value, at}
}

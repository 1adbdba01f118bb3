package api

import (
	"sync"
	"time"
)

// shardsTTL is how long a process may use a cached readShards. svc raises
// writeShards only after that time.
const shardsTTL = 30 * time.Second

// shards caches readShards of at most about a thousand tenants.
type shards struct {
	mu sync.Mutex
	m  map[string]shardsEntry
}

type shardsEntry struct {
	n       int
	expires time.Time
}

func (s *shards) get(tenant string, now time.Time) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.m[tenant]
	return e.n, ok && now.Before(e.expires)
}

func (s *shards) put(tenant string, n int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil || len(s.m) >= 1000 {
		s.m = map[string]shardsEntry{}
	}
	s.m[tenant] = shardsEntry{n, now.Add(shardsTTL)}
}

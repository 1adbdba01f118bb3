package clients

import (
	"context"
	"net/url"
	"sync"
	"time"

	"svc/pkg/access/signing"
)

// A client may authenticate with a JWT that its private key signed (RFC 7523).
// The client's metadata has the public keys in jwks, or their address in
// jwks_uri. The server fetches that address with the same transport, time and
// size limit as a metadata document, and caches the keys in memory.

// staleKeys is how long cached keys may be used after their cache time, if
// newer ones cannot be fetched.
const staleKeys = time.Hour

// mostProven is the maximum number of proven key sets. It leaves room in a full
// cache for the sets that are not proven yet.
const mostProven = mostDocuments - documentsAtOnce

// keySet is the cached key set of a jwks_uri.
type keySet struct {
	keys   signing.ClientKeys
	until  time.Time // when the set must be fetched again
	tried  time.Time // time of the last fetch, successful or not
	proven bool      // a key of the set has verified an assertion in this process
	order  uint64    // keySets.last at its insertion or, once it is proven, at its last use
}

// usable returns the keys to accept if the process cannot fetch newer ones now, nil if the
// cached keys are too old (staleKeys).
func (s keySet) usable(now time.Time) signing.ClientKeys {
	if now.Before(s.until.Add(staleKeys)) {
		return s.keys
	}
	return nil
}

// keySets caches key sets by client and address: at most mostDocuments, of which
// at most mostProven are proven. Anybody can register clients and make the
// server fetch their keys, but only the holder of a key can prove a set. So
// unproven sets never evict a proven one.
type keySets struct {
	mu    sync.Mutex
	byURI map[string]keySet
	last  uint64 // number of insertions and uses so far
}

// get returns a cached key set, or the zero keySet.
func (k *keySets) get(uri string) keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byURI[uri]
}

// put caches a key set. If the cache is full, put evicts the unproven set that
// was inserted first.
func (k *keySets) put(uri string, s keySet) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was, had := k.byURI[uri]
	if !had {
		if len(k.byURI) >= mostDocuments {
			k.removeOldest(false)
		}
		k.last++
		was.order = k.last
	}
	s.proven, s.order = was.proven, was.order // proven and order may have changed during the fetch
	k.byURI[uri] = s
}

// prove marks a cached key set as proven, and as the one used last. If there
// would be more than mostProven proven sets, prove evicts the least recently
// used of them.
func (k *keySets) prove(uri string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, had := k.byURI[uri]
	if !had {
		return
	}
	if !s.proven && k.proven() >= mostProven {
		k.removeOldest(true)
	}
	k.last++
	s.proven, s.order = true, k.last
	k.byURI[uri] = s
}

// proven returns the number of proven sets. The caller holds the lock.
func (k *keySets) proven() (n int) {
	for _, s := range k.byURI {
		if s.proven {
			n++
		}
	}
	return n
}

// removeOldest removes the key set with the lowest order: of the proven sets, or of the
// unproven ones. The caller holds the lock.
func (k *keySets) removeOldest(proven bool) {
	first := ""
	for uri, s := range k.byURI {
		if s.proven == proven && (first == "" || s.order < k.byURI[first].order) {
			first = uri
		}
	}
	delete(k.byURI, first)
}

// cachedAs returns the name of the client's key set in the cache. The name has the client's
// id, so clients with the same jwks_uri share neither keys nor failures.
func cachedAs(c Client) string { return c.ID + " " + c.KeysURI }

// fetchedKeys returns the keys at the client's jwks_uri. again asks for keys
// that are newer than the cached ones. If a fetch is not possible, fetchedKeys
// returns the cached keys while they are usable, otherwise none. The fetch is charged
// to the budget of the caller's address, unless the client was used before or the
// cached set is proven. The error, which may come with older keys, is the
// throttle's 429 or one of the table.
func (reg *Registry) fetchedKeys(ctx context.Context, c Client, again bool) (signing.ClientKeys, error) {
	uri := cachedAs(c)
	if s := reg.keySets.get(uri); !again && reg.now().Before(s.until) {
		return s.keys, nil
	}
	done, err := reg.documents.alone(ctx, uri)
	if err != nil {
		return reg.keySets.get(uri).usable(reg.now()), nil
	}
	defer done()
	s, now := reg.keySets.get(uri), reg.now()
	if now.Before(s.tried.Add(retryAfter)) {
		return s.usable(now), nil
	}
	if !s.proven && !c.Used() {
		if err := reg.spendOfAddress(ctx); err != nil {
			return s.usable(now), err // s.tried stays: a request from another address may fetch
		}
	}
	keys, life, err := reg.fetchKeys(ctx, c, again)
	s.tried = now
	if err == nil {
		s.keys, s.until = keys, now.Add(life)
	} else {
		reg.log.InfoContext(ctx, "a client's keys could not be fetched", "client", c.ID, "error", err)
	}
	reg.keySets.put(uri, s)
	return s.usable(now), nil
}

// fetchKeys fetches the keys at the client's jwks_uri, and returns how long to cache
// them. again is as in fetchedKeys.
func (reg *Registry) fetchKeys(ctx context.Context, c Client, again bool) (signing.ClientKeys, time.Duration, error) {
	at, err := url.Parse(c.KeysURI)
	if err != nil || reg.ours(at) && (!reg.localKeys || !onLoopback(at)) {
		return nil, 0, errOurs
	}
	budget := at.Host
	if c.Used() { // a used client has its own budget
		budget = c.ID
	}
	if again { // anybody can cause this fetch by a false assertion, so it has a separate budget
		budget += " again"
	}
	if err := reg.spend(ctx, budget); err != nil {
		return nil, 0, err
	}
	body, life, err := fetchDocument(ctx, reg.documents.transport, c.KeysURI)
	if err != nil {
		return nil, 0, err
	}
	keys, err := signing.ParseClientKeys(body)
	return keys, lifeOf(life), err
}

package signing

import (
	"context"
	"crypto"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// Durations in a key's life.
const (
	Lead    = 15 * time.Minute    // minimum time between publishing a key and signing with it
	Period  = 30 * 24 * time.Hour // how long a key signs
	Life    = time.Hour           // the longest lifetime of a token
	Reread  = time.Minute         // the maximum age of the key set in memory
	margin  = 15 * time.Minute    // allowance for clocks that differ
	unknown = 10 * time.Second    // minimum time between rereads caused by an unknown kid
	keep    = 90 * 24 * time.Hour // how long a revoked key stays listed
)

// Options configures Keys.
type Options struct {
	// Issuer is the iss of valid access tokens and id_tokens.
	Issuer string
	// Sealer seals and opens private keys; nil for a process that only verifies.
	Sealer Sealer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Keys are the signing keys in the table. Their methods are safe for concurrent
// use.
type Keys struct {
	options Options
	p       table.Platform

	reading turn      // held while the key set is read
	tried   time.Time // time of the last reread caused by an unknown kid

	setMu   sync.RWMutex // guards current
	current *set
}

// Open returns the keys of the table. It reads nothing yet.
func Open(db *table.DB, o Options) *Keys {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keys{options: o, p: db.Platform("KEYS"), reading: newTurn()}
}

// set is a snapshot of all published keys.
type set struct {
	read      time.Time
	entries   map[string]*entry
	published []byte // the body of jwks.json
	cursors   []byte // the key of CursorKey; nil until Rotate has made it
}

// entry is one published key with its cache of verified tokens. The first reread after a revocation
// drops both.
type entry struct {
	record
	public crypto.PublicKey
	tokens tokens

	opening turn          // held while the private key is opened
	private crypto.Signer // nil until opened
}

// usable returns a key set that is at most Reread old. If it must read the set, the read
// is not part of the request's count of table requests (table.Metered).
func (k *Keys) usable(ctx context.Context) (*set, error) {
	s := k.snapshot()
	if s != nil && k.options.Now().Sub(s.read) < Reread {
		return s, nil
	}
	if err := k.reading.take(ctx); err != nil {
		return nil, err
	}
	defer k.reading.end()
	if s := k.snapshot(); s != nil && k.options.Now().Sub(s.read) < Reread {
		return s, nil
	}
	return k.reread(ctx)
}

// snapshot returns the key set in memory, nil before the first read.
func (k *Keys) snapshot() *set {
	k.setMu.RLock()
	defer k.setMu.RUnlock()
	return k.current
}

// named returns the published key with the kid, or ErrToken if there is none.
func (k *Keys) named(ctx context.Context, kid string) (*entry, error) {
	s, err := k.having(ctx, func(s *set) bool { return s.entries[kid] != nil })
	if err != nil {
		return nil, err
	}
	if e := s.entries[kid]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%w: unknown key", ErrToken)
}

// having returns the key set in memory if has is true for it. Otherwise it rereads the
// set, but at most once in the duration unknown, because made-up kids must not cause
// load. So has may be false for the returned set.
func (k *Keys) having(ctx context.Context, has func(*set) bool) (*set, error) {
	s, err := k.usable(ctx)
	if err != nil || has(s) {
		return s, err
	}
	if err := k.reading.take(ctx); err != nil {
		return nil, err
	}
	defer k.reading.end()
	now := k.options.Now()
	if s = k.snapshot(); has(s) || now.Sub(k.tried) < unknown {
		return s, nil
	}
	k.tried = now
	return k.reread(ctx)
}

// CursorKey returns the key that authenticates cursors, nil if there is none yet. It is
// read together with the signing keys, so it costs no request of its own. It is not
// sealed, because a forged cursor gives no access to data of others.
func (k *Keys) CursorKey(ctx context.Context) ([]byte, error) {
	s, err := k.having(ctx, func(s *set) bool { return s.cursors != nil })
	if err != nil {
		return nil, err
	}
	return s.cursors, nil
}

// CursorKeys returns a function that returns the key of CursorKey. The function reads the
// key with one GetItem, until it has found the key once. It is for processes that verify
// no tokens.
func CursorKeys(db *table.DB) func(context.Context) ([]byte, error) {
	var known atomic.Pointer[[]byte]
	p := db.Platform("KEYS")
	return func(ctx context.Context) ([]byte, error) {
		if key := known.Load(); key != nil {
			return *key, nil
		}
		it, err := p.Get(ctx, p.Key("KEYS", rotation))
		if err != nil {
			return nil, fmt.Errorf("reading the key of cursors: %w", err)
		}
		key := []byte(it.Text(cursors))
		if len(key) == 0 {
			return nil, nil
		}
		known.Store(&key)
		return key, nil
	}
}

// refresh rereads the key set after this process has changed it.
func (k *Keys) refresh(ctx context.Context) error {
	if err := k.reading.take(ctx); err != nil {
		return err
	}
	defer k.reading.end()
	_, err := k.reread(ctx)
	return err
}

// patience limits the time of one read of the key set.
const patience = 5 * time.Second

// reread reads the key set from the table. The caller holds k.reading. The end of the
// request does not cancel the read, because other requests wait for the read.
func (k *Keys) reread(ctx context.Context) (*set, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	ctx, _ = table.Metered(ctx) // a new meter: the request's own meter does not count this read
	defer cancel()
	records, control, err := k.records(ctx)
	if err != nil {
		return nil, err
	}
	was := k.snapshot()
	s := &set{read: k.options.Now(), entries: map[string]*entry{}}
	if key := control.Text(cursors); key != "" {
		s.cursors = []byte(key)
	}
	for _, r := range records {
		if r.RevokedAt != nil {
			continue
		}
		if was != nil && was.entries[r.KID] != nil && string(was.entries[r.KID].Public) == string(r.Public) {
			s.entries[r.KID] = was.entries[r.KID]
			continue
		}
		e := &entry{record: r, opening: newTurn()}
		if e.public, err = parsePublic(r.Public); err != nil {
			return nil, err
		}
		s.entries[r.KID] = e
	}
	if s.published, err = published(records); err != nil {
		return nil, err
	}
	k.setMu.Lock()
	k.current = s
	k.setMu.Unlock()
	return s, nil
}

// KeySet returns the published key set (RFC 7517), the body of jwks.json. It
// holds every key that signs, that will sign, or that has unexpired tokens, and
// no revoked key.
func (k *Keys) KeySet(ctx context.Context) ([]byte, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, err
	}
	return s.published, nil
}

// signer returns the key that signs with the algorithm now, and its private half.
func (k *Keys) signer(ctx context.Context, alg string) (*entry, crypto.Signer, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	e := s.signer(alg, k.options.Now())
	if e == nil {
		return nil, nil, fmt.Errorf("there is no active %s signing key; run svc keys rotate", alg)
	}
	if err := e.opening.take(ctx); err != nil {
		return nil, nil, err
	}
	defer e.opening.end()
	if e.private == nil {
		if k.options.Sealer == nil {
			return nil, nil, fmt.Errorf("this process only verifies tokens: it has no sealing key to decrypt signing keys")
		}
		plain, err := k.options.Sealer.Open(ctx, e.KID, e.Sealed)
		if err != nil { // the key service is down or denies access: nothing was signed
			return nil, nil, fault.Unavailable(fmt.Errorf("key %s: %w", e.KID, err))
		}
		if e.private, err = parsePrivate(plain, e.public); err != nil {
			return nil, nil, fmt.Errorf("key %s: %w", e.KID, err)
		}
	}
	return e, e.private, nil
}

// Ready reads the keys from the table, and asks the key service to open the key
// that signs access tokens. failed is the dependency that failed, "table" or
// "keys"; it is "" if both work.
func (k *Keys) Ready(ctx context.Context) (failed string, err error) {
	records, _, err := k.records(ctx)
	if err != nil {
		return "table", err
	}
	i := signing(records, ES256, k.options.Now())
	if i < 0 || k.options.Sealer == nil {
		return "keys", fmt.Errorf("there is no %s signing key, or this process has no sealing key", ES256)
	}
	if _, err := k.options.Sealer.Open(ctx, records[i].KID, records[i].Sealed); err != nil {
		return "keys", fmt.Errorf("key %s: %w", records[i].KID, err)
	}
	return "", nil
}

// signer returns the key that signs with the algorithm at now, nil if there is none.
func (s *set) signer(alg string, now time.Time) *entry {
	var records []record
	for _, e := range s.entries {
		records = append(records, e.record)
	}
	i := signing(records, alg, now)
	if i < 0 {
		return nil
	}
	return s.entries[records[i].KID]
}

// signing returns the index of the key that signs with the algorithm at the time now, -1
// if there is none. This is the key whose signing time began last. If no signing time has
// begun, because the other keys were revoked, it is the key that was published first.
func signing(records []record, alg string, now time.Time) int {
	best := -1
	for i, r := range records {
		if r.Alg != alg || r.RevokedAt != nil {
			continue
		}
		if best < 0 || r.before(records[best], now) {
			best = i
		}
	}
	return best
}

// before reports whether r is preferred over other for signing at now.
func (r record) before(other record, now time.Time) bool {
	begun, otherBegun := !r.SignsFrom.After(now), !other.SignsFrom.After(now)
	if begun != otherBegun {
		return begun
	}
	if begun {
		return r.SignsFrom.After(other.SignsFrom) || (r.SignsFrom.Equal(other.SignsFrom) && r.KID > other.KID)
	}
	return r.PublishedAt.Before(other.PublishedAt)
}

// sorted sorts the records in place, in the order in which they begin to sign.
func sorted(records []record) []record {
	slices.SortFunc(records, func(a, b record) int { return a.SignsFrom.Compare(b.SignsFrom) })
	return records
}

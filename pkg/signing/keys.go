package signing

import (
	"context"
	"crypto"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/pkg/table"
)

// The times of a key's life.
const (
	Lead    = 15 * time.Minute    // between publishing a key and signing with it
	Period  = 30 * 24 * time.Hour // for which a key signs
	Life    = time.Hour           // the longest life of a token
	Reread  = 5 * time.Minute     // how old the set of keys in memory gets
	margin  = 15 * time.Minute    // for clocks that differ
	unknown = 10 * time.Second    // between rereads because of an unknown kid
	keep    = 90 * 24 * time.Hour // for which a revoked key stays listed
)

// Options say how keys are used.
type Options struct {
	// Issuer is the iss of good access tokens.
	Issuer string
	// IssuerOf gives Issuer per request where it is not known beforehand; nil
	// is Issuer.
	IssuerOf func(context.Context) string
	// Sealer seals and opens private keys; nil for a process that only verifies.
	Sealer Sealer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Keys are the signing keys in the table. Their methods may be called from
// many goroutines.
type Keys struct {
	options Options
	p       table.Platform

	mu    sync.Mutex // held while the set is read
	tried time.Time  // the last reread because of an unknown kid

	now     sync.RWMutex // guards set
	current *set
}

// Open gives the keys of the table. It reads nothing yet.
func Open(db *table.DB, o Options) *Keys {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keys{options: o, p: db.Platform("KEYS")}
}

func (k *Keys) issuer(ctx context.Context) string {
	if k.options.IssuerOf != nil {
		return k.options.IssuerOf(ctx)
	}
	return k.options.Issuer
}

// set is what the table held at a time: every key that is published.
type set struct {
	read      time.Time
	entries   map[string]*entry
	published []byte // the body of jwks.json
}

// entry is one published key. What depends on the key lives in it: when the
// key is revoked or retired, its verified tokens go with it.
type entry struct {
	record
	public crypto.PublicKey
	tokens tokens

	mu      sync.Mutex
	private crypto.Signer // once opened
}

// usable gives a set that is at most Reread old. A token's check does not pay
// for the reading: it counts for no request.
func (k *Keys) usable(ctx context.Context) (*set, error) {
	s := k.snapshot()
	if s != nil && k.options.Now().Sub(s.read) < Reread {
		return s, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.snapshot(); s != nil && k.options.Now().Sub(s.read) < Reread {
		return s, nil
	}
	return k.reread(ctx)
}

func (k *Keys) snapshot() *set {
	k.now.RLock()
	defer k.now.RUnlock()
	return k.current
}

// named gives the key of that kid. An unknown one makes the set be read again,
// seldom enough that made-up kids cost nothing.
func (k *Keys) named(ctx context.Context, kid string) (*entry, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, err
	}
	if e := s.entries[kid]; e != nil {
		return e, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.options.Now()
	if s = k.snapshot(); s.entries[kid] == nil && now.Sub(k.tried) >= unknown {
		k.tried = now
		if s, err = k.reread(ctx); err != nil {
			return nil, err
		}
	}
	if e := s.entries[kid]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%w: unknown key", ErrToken)
}

const patience = 5 * time.Second

// reread reads the set; k.mu is held. It outlives the request that caused it,
// for others wait for it.
func (k *Keys) reread(ctx context.Context) (*set, error) {
	ctx, cancel := context.WithTimeout(detached{ctx}, patience)
	defer cancel()
	records, _, err := k.records(ctx)
	if err != nil {
		return nil, err
	}
	was := k.snapshot()
	s := &set{read: k.options.Now(), entries: map[string]*entry{}}
	for _, r := range records {
		if r.RevokedAt != nil {
			continue
		}
		if was != nil && was.entries[r.KID] != nil && string(was.entries[r.KID].Public) == string(r.Public) {
			s.entries[r.KID] = was.entries[r.KID]
			continue
		}
		e := &entry{record: r}
		if e.public, err = publicOf(r.Public); err != nil {
			return nil, err
		}
		s.entries[r.KID] = e
	}
	if s.published, err = published(records); err != nil {
		return nil, err
	}
	k.now.Lock()
	k.current = s
	k.now.Unlock()
	return s, nil
}

// detached is a context without its parent's end, deadline and values.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (detached) Value(any) any               { return nil }

// KeySet gives the published key set (RFC 7517), the body of jwks.json: every
// key that signs, will sign, or whose tokens live.
func (k *Keys) KeySet(ctx context.Context) ([]byte, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, err
	}
	return s.published, nil
}

// signer gives the key that signs now and its opened private half.
func (k *Keys) signer(ctx context.Context, alg string) (*entry, crypto.Signer, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	e := s.signer(alg, k.options.Now())
	if e == nil {
		return nil, nil, fmt.Errorf("no %s key signs; rotate the keys", alg)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.private == nil {
		if k.options.Sealer == nil {
			return nil, nil, fmt.Errorf("this process cannot open signing keys")
		}
		plain, err := k.options.Sealer.Open(ctx, e.KID, e.Sealed)
		if err != nil {
			return nil, nil, fmt.Errorf("key %s: %w", e.KID, err)
		}
		if e.private, err = privateOf(plain, e.public); err != nil {
			return nil, nil, fmt.Errorf("key %s: %w", e.KID, err)
		}
	}
	return e, e.private, nil
}

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

// signing gives the index of the key that signs at now, -1 for none: the one
// that began last; when none has begun, because the others were revoked, the
// one that has been published longest.
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

// before says whether r rather than other signs at now.
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

func sorted(records []record) []record {
	slices.SortFunc(records, func(a, b record) int { return a.SignsFrom.Compare(b.SignsFrom) })
	return records
}

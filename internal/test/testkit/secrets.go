package testkit

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/crypto/argon2"

	"svc/pkg/access/signing"
	"svc/pkg/data/table"
)

// PasswordHash hashes a password with argon2id and its smallest parameters.
// Verifying such a hash takes microseconds instead of tens of milliseconds.
func PasswordHash(password string) string {
	const memory, passes, lanes, size = 8, 1, 1, 32
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	hash := argon2.IDKey([]byte(password), salt, passes, memory, lanes, size)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
		b64.EncodeToString(salt), b64.EncodeToString(hash))
}

// KeyRing shares one generation of signing keys between the tables of a test
// process, because generating an RSA key takes long.
type KeyRing struct {
	mu     sync.Mutex
	sealer signing.Sealer
	items  []table.Item
}

// Sealer seals and opens the ring's keys.
func (r *KeyRing) Sealer() signing.Sealer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealer == nil {
		r.sealer = signing.NewSealer()
	}
	return r.sealer
}

// Rotate rotates the keys of the table. If the table has no keys, it stores
// the ring's first generation, which the first call generates.
func (r *KeyRing) Rotate(ctx context.Context, db *table.DB, keys *signing.Keys) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := db.Platform("KEYS")
	page, err := p.Query(ctx, p.Partition("KEYS"), table.Query{Limit: 10, Consistent: true})
	if err != nil {
		return err
	}
	if len(page.Items) > 0 {
		return keys.Rotate(ctx)
	}
	if r.items != nil {
		return p.Load(ctx, r.items...)
	}
	if err := keys.Rotate(ctx); err != nil {
		return err
	}
	if page, err = p.Query(ctx, p.Partition("KEYS"), table.Query{Limit: 10, Consistent: true}); err != nil {
		return err
	}
	for _, it := range page.Items {
		if it.Raw() != "" {
			it.Doc = json.RawMessage(it.Raw())
		}
		it.Preserve = it.Unknown()
		r.items = append(r.items, it)
	}
	return nil
}

// SigningKeys opens the keys of a table and updates them with Rotate.
func (r *KeyRing) SigningKeys(t testing.TB, db *table.DB, o signing.Options) *signing.Keys {
	t.Helper()
	o.Sealer = r.Sealer()
	keys := signing.Open(db, o)
	Must(t, r.Rotate(context.Background(), db, keys))
	return keys
}

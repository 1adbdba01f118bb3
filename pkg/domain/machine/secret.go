package machine

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// The prefixes of secrets, for programs that look for secrets in code.
const (
	live = "svc_sk_live_"
	test = "svc_sk_test_" // of a sandbox
)

// The lengths of the parts of a secret after its prefix.
const (
	randomLength   = 43 // 256 bits in base 62
	checksumLength = 6
)

// newSecret returns a secret: its prefix, 256 random bits, and a checksum of both, which
// tells a scanner whether what it found is a secret. It has letters, digits and _ only,
// because clients disagree on how others are encoded.
func newSecret(sandbox bool) string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	text := live
	if sandbox {
		text = test
	}
	text += base62(new(big.Int).SetBytes(raw), randomLength)
	return text + checksum(text)
}

// checksum returns the CRC-32 (IEEE) of a text in base 62.
func checksum(text string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), checksumLength)
}

func base62(n *big.Int, length int) string {
	text := n.Text(62)
	return strings.Repeat("0", length-len(text)) + text
}

// maxSecrets is how many secrets of a machine may be valid at a time.
const maxSecrets = 2

// ended reports whether an end has passed; nil is none.
func ended(at *string, now time.Time) bool {
	if at == nil {
		return false
	}
	until, err := timestamp.Parse(*at)
	return err != nil || !now.Before(until)
}

// add gives the machine a secret. Those before it end after the overlap, unless they end
// sooner. Those that have ended make room.
func (r *Record) add(secret, by string, overlap time.Duration, now time.Time) (MachineSecret, error) {
	r.Secrets = slices.DeleteFunc(r.Secrets, func(s stored) bool { return ended(s.EndsAt, now) })
	if len(r.Secrets) >= maxSecrets {
		return MachineSecret{}, fault.InvalidState("The machine has %d secrets, the most there can be. Remove one first.",
			maxSecrets)
	}
	end := now.Add(overlap)
	one := stored{MachineSecret{ID: ids.New(ids.MachineSecret, now), CreatedAt: timestamp.Format(now), CreatedBy: by},
		ids.Hash(secret), slots[0]}
	for i := range r.Secrets {
		s := &r.Secrets[i]
		if s.Slot == one.Slot {
			one.Slot = slots[1]
		}
		if !ended(s.EndsAt, end) {
			s.EndsAt = timestamp.Ptr(end)
		}
	}
	r.used[one.Slot] = ""
	r.Secrets = append(r.Secrets, one)
	return one.MachineSecret, nil
}

// remove ends a secret at once, and the tokens that it got.
func (r *Record) remove(id string) error {
	was := len(r.Secrets)
	r.Secrets = slices.DeleteFunc(r.Secrets, func(s stored) bool { return s.ID == id })
	if len(r.Secrets) == was {
		return fault.NotFound()
	}
	return nil
}

// SignIn is what the authorization server needs of a machine.
type SignIn struct {
	ID, ClientID string
	Name         string
	Permissions  []string
	Keys         json.RawMessage // nil if it has no JWK set
	KeysURI      string
	HasSecret    bool
	Disabled     bool // or it has ended
	Epoch        int64

	r Record
}

// SignIn returns how the machine signs in.
func (r Record) SignIn(t table.Tenant, now time.Time) SignIn {
	return SignIn{ID: r.ID, ClientID: ClientID(t.ID(), r.ID), Name: r.Name, Permissions: r.Permissions, Keys: r.keySet(),
		KeysURI: value(r.JWKSURI), HasSecret: len(r.Secrets) > 0, Disabled: !*r.Enabled || ended(r.EndsAt, now),
		Epoch: r.Epoch, r: r}
}

// KeysUsed reports whether a key of the machine has got a token.
func (s SignIn) KeysUsed() bool { return s.r.used[keysSlot] != "" }

// Secret returns the id of the secret, "" if the machine has no such secret now. It compares
// with each in the same time.
func (s SignIn) Secret(secret string, now time.Time) (id string) {
	hash := []byte(ids.Hash(secret))
	for _, one := range s.r.Secrets {
		if subtle.ConstantTimeCompare(hash, []byte(one.Hash)) == 1 && !ended(one.EndsAt, now) {
			id = one.ID
		}
	}
	return id
}

// NoteUse adds the hour of the use of a secret to the transaction that issues a token, once
// an hour. id is "" for a key. The transaction conflicts if the machine has changed since it
// was read, because another secret may have the slot by now; and a change of an operator who
// has read the machine conflicts with it, so that it does not write an earlier hour.
func (s SignIn) NoteUse(tx *table.Tx, t table.Tenant, id string, now time.Time) {
	slot, hour := keysSlot, timestamp.Format(now.Truncate(time.Hour))
	for _, one := range s.r.Secrets {
		if one.ID == id {
			slot = one.Slot
		}
	}
	if s.r.used[slot] >= hour {
		return
	}
	tx.Update(Key(t, s.ID), table.Change{Set: map[string]any{slot: hour}, Add: map[string]any{"version": 1}}).
		If("'version' = ?", s.r.version).Else(table.ErrConflict)
}

package machine

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
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

func (s MachineSecret) ended(now time.Time) bool {
	if s.EndsAt == nil {
		return false
	}
	until, err := timestamp.Parse(*s.EndsAt)
	return err != nil || !now.Before(until)
}

// add gives the machine a secret. Those before it end after the overlap, unless they end
// sooner. Those that have ended make room.
func (r *Record) add(secret, by string, overlap time.Duration, now time.Time) (MachineSecret, error) {
	r.Secrets = slices.DeleteFunc(r.Secrets, func(s stored) bool { return s.ended(now) })
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
		if !s.ended(end) {
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
	out := SignIn{ID: r.ID, ClientID: ClientID(t.ID(), r.ID), Name: r.Name, Permissions: r.Permissions, Keys: r.keySet(),
		KeysURI: value(r.JWKSURI), HasSecret: len(r.Secrets) > 0, Disabled: !*r.Enabled, Epoch: r.Epoch, r: r}
	if r.EndsAt != nil {
		until, err := timestamp.Parse(*r.EndsAt)
		out.Disabled = out.Disabled || err != nil || !now.Before(until)
	}
	return out
}

// Secret returns the id of the secret, "" if the machine has no such secret now. It compares
// with each in the same time.
func (s SignIn) Secret(secret string, now time.Time) (id string) {
	hash := []byte(ids.Hash(secret))
	for _, one := range s.r.Secrets {
		if subtle.ConstantTimeCompare(hash, []byte(one.Hash)) == 1 && !one.ended(now) {
			id = one.ID
		}
	}
	return id
}

// ErrGone means that the machine was deleted while it signed in.
var ErrGone = errors.New("the machine was deleted")

// NoteUse adds the hour of the use of a secret to the transaction that issues a token, once
// an hour. id is "" for a key. It leaves the version of the item, so that it delays no
// change of an operator.
func (s SignIn) NoteUse(tx *table.Tx, t table.Tenant, id string, now time.Time) {
	slot, hour := keysSlot, timestamp.Format(now.Truncate(time.Hour))
	for _, one := range s.r.Secrets {
		if one.ID == id {
			slot = one.Slot
		}
	}
	if s.r.used[slot] < hour {
		tx.Update(Key(t, s.ID), table.Change{Set: map[string]any{slot: hour}}).If("attribute_exists(pk)").Else(ErrGone)
	}
}

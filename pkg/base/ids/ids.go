package ids

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// The kinds of identifiers. The kind is the identifier's prefix.
const (
	Tenant   = "ten"
	Person   = "usr"
	Driver   = "drv"
	Customer = "cus"
	Trip     = "trp"
	Log      = "log"
	Service  = "svt"
	Zone     = "zon"
	Business = "biz"
	MenuItem = "itm"
	Order    = "ord"
	Address  = "adr"
	Payment  = "pay"
	Posting  = "txn"
	Receipt  = "rcp"
	Post     = "pst"
	Comment  = "cmt"
	Client   = "cli"
	Token    = "tok"
	Family   = "fam"
	Audit    = "aud"
	Request  = "req"
	Estimate = "est"
	Payout   = "wdr"
	Document = "doc"
	Export   = "exp"
	Import   = "imp"
	Privacy  = "prv"
	Event    = "evt"
	Webhook  = "whk"
	Machine  = "mch"

	MachineSecret = "sec"
)

// New returns a new identifier of the kind. Its time part comes from now.
func New(kind string, now time.Time) string {
	return kind + "_" + ulid.MustNew(timePart(now), rand.Reader).String()
}

// timePart returns the milliseconds since 1970 that an identifier can hold: a time
// before 1970 counts as 1970, and one after the year 10889 as its last moment. People
// type times, so no time may make New or Derived fail.
func timePart(at time.Time) uint64 {
	return uint64(min(max(at.UnixMilli(), 0), int64(ulid.MaxTime())))
}

// Derived returns an identifier in the form of New, with the time at. A hash of
// the text takes the place of the random bytes, so the same arguments give the
// same identifier.
func Derived(kind string, at time.Time, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + "_" + ulid.MustNew(timePart(at), bytes.NewReader(sum[:])).String()
}

// Valid reports whether id is an identifier of the kind, in the form that New
// returns.
func Valid(kind, id string) bool {
	rest, ok := strings.CutPrefix(id, kind+"_")
	if !ok || len(rest) != ulid.EncodedSize {
		return false
	}
	parsed, err := ulid.ParseStrict(rest)
	return err == nil && parsed.String() == rest
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Code returns eight random characters of Crockford base32. Trips and orders use
// it as their code. A post's slug may end with it, in lower case.
func Code() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	for i, b := range raw {
		raw[i] = crockford[b&31]
	}
	return string(raw)
}

// Secret returns 256 random bits, base64url without padding (43 characters).
func Secret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Hash returns the SHA-256 of a text in hex. Secrets are stored in this form.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Pick returns a number from 0 to n-1 that depends only on the text and n, or 0
// if n is less than 1. It selects the copy of a hot item that a token reads,
// and the shard for an item.
func Pick(text string, n int) int {
	if n <= 1 {
		return 0
	}
	sum := sha256.Sum256([]byte(text))
	return int(uint32(sum[0])<<24|uint32(sum[1])<<16|uint32(sum[2])<<8|uint32(sum[3])) % n
}

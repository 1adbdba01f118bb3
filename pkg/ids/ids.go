package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// The prefixes of identifiers, one per type.
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
)

// New gives a fresh identifier of the kind, its time part taken from now.
func New(kind string, now time.Time) string {
	return kind + "_" + ulid.MustNew(ulid.Timestamp(now), rand.Reader).String()
}

// Valid says whether id is an identifier of the kind, as New writes it.
func Valid(kind, id string) bool {
	rest, ok := strings.CutPrefix(id, kind+"_")
	if !ok || len(rest) != ulid.EncodedSize {
		return false
	}
	parsed, err := ulid.ParseStrict(rest)
	return err == nil && parsed.String() == rest
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Code gives eight random characters of Crockford base32: a trip code.
func Code() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	for i, b := range raw {
		raw[i] = crockford[b&31]
	}
	return string(raw)
}

// Secret gives 256 random bits, base64url without padding (43 characters).
func Secret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Hash gives the SHA-256 of a secret in hex: what is stored of it.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Pick gives a number below n that depends on the text alone: which copy of a
// much-read item a token reads, which shard an item is written to.
func Pick(text string, n int) int {
	if n <= 1 {
		return 0
	}
	sum := sha256.Sum256([]byte(text))
	return int(uint32(sum[0])<<24|uint32(sum[1])<<16|uint32(sum[2])<<8|uint32(sum[3])) % n //nolint:gosec // n is small
}

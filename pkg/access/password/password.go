package password

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// The parameters of argon2id (OWASP Password Storage Cheat Sheet), and the lengths of
// salt and hash in bytes.
const (
	memory  = 19 * 1024 // KiB
	passes  = 2
	lanes   = 1
	saltLen = 16
	hashLen = 32
)

// Limits of a password: Shortest in characters, Longest in bytes.
const (
	Shortest = 10
	Longest  = 1024
)

// slots limits how many hashes a process computes at the same time. Each needs
// 19 MiB.
var slots = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

// Check returns an error if a new password is not acceptable. The text of the
// error is shown to the person.
func Check(password string) error {
	switch {
	case !utf8.ValidString(password):
		return fmt.Errorf("The password is not valid text.") //nolint:staticcheck // shown to the person
	case utf8.RuneCountInString(password) < Shortest:
		//nolint:staticcheck // shown to the person
		return fmt.Errorf("The password needs at least %d characters.", Shortest)
	case len(password) > Longest:
		return fmt.Errorf("The password is longer than %d bytes.", Longest) //nolint:staticcheck // shown to the person
	}
	return nil
}

// Hash returns the PHC string of a password with a fresh salt.
func Hash(password string) string {
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	return encode(settings{memory, passes, lanes}, salt, derive(password, salt, settings{memory, passes, lanes}, hashLen))
}

// Verify reports whether hash is the hash of the password. If hash is not
// well-formed, for example "", Verify takes as long as for a wrong password.
// Its time therefore does not reveal that an account is missing or has no
// password.
func Verify(hash, password string) bool {
	s, salt, want, err := decode(hash)
	if err != nil {
		s, salt, _, _ = decode(nobody)
		derive(password, salt, s, hashLen)
		return false
	}
	return subtle.ConstantTimeCompare(derive(password, salt, s, len(want)), want) == 1 && len(password) <= Longest
}

// nobody is a well-formed hash that no known password has. If Verify gets a hash
// that is not well-formed, it hashes the password with the parameters of nobody
// instead.
var nobody = encode(settings{memory, passes, lanes}, make([]byte, saltLen), make([]byte, hashLen))

// settings are the parameters of argon2id. memory is in KiB.
type settings struct{ memory, passes, lanes uint32 }

// derive returns the argon2id hash of the password, size bytes long.
func derive(password string, salt []byte, s settings, size int) []byte {
	if len(password) > Longest {
		password = password[:Longest]
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	normal := []byte(norm.NFC.String(password))
	return argon2.IDKey(normal, salt, s.passes, s.memory, uint8(s.lanes), uint32(size))
}

// encode returns the PHC string of a hash.
func encode(s settings, salt, hash []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, s.memory, s.passes, s.lanes,
		b64.EncodeToString(salt), b64.EncodeToString(hash))
}

// decode parses a PHC string. It rejects parameters that would cost too much time or
// memory.
func decode(phc string) (s settings, salt, hash []byte, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return s, nil, nil, fmt.Errorf("not a hash of argon2id")
	}
	if _, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &s.memory, &s.passes, &s.lanes); err != nil {
		return s, nil, nil, fmt.Errorf("parameters of a hash: %w", err)
	}
	if s.memory < 8 || s.memory > 1<<20 || s.passes < 1 || s.passes > 16 || s.lanes < 1 || s.lanes > 16 {
		return s, nil, nil, fmt.Errorf("parameters of a hash out of range: m=%d,t=%d,p=%d", s.memory, s.passes, s.lanes)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return s, nil, nil, fmt.Errorf("salt of a hash: %w", err)
	}
	if hash, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(hash) < 16 || len(hash) > 64 {
		return s, nil, nil, fmt.Errorf("not a hash of argon2id")
	}
	return s, salt, hash, nil
}

package remote

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/zalando/go-keyring"

	"svc/cmd/svc/cli"
	"svc/pkg/local/folder"
	"svc/pkg/oauth/flow"
)

// profile is a sign-in of a person at a server.
type profile struct {
	Server   string `json:"server"`
	Audience string `json:"audience"`
	Tenant   string `json:"tenant,omitempty"`
	Scope    string `json:"scope,omitempty"` // "" for every scope of the audience
	// Without a keyring the file has the tokens as they are. With one it has them sealed, and the
	// keyring has the key: keyrings are too small for some tokens, and writing to one may ask the
	// person again.
	Tokens tokens `json:"tokens,omitzero"`
	Sealed []byte `json:"sealed,omitempty"`

	key []byte // of Sealed, nil without a keyring
}

// tokens are what the token endpoint gave.
type tokens struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Until   time.Time `json:"until"` // when the access token ends
}

func keep(t flow.Tokens) tokens {
	return tokens{t.AccessToken, t.RefreshToken, time.Now().Add(time.Duration(t.ExpiresIn) * time.Second)}
}

// store is the file of one profile. Its path also names the key in the keyring, so everybody who
// could use the same tokens takes the same lock.
type store struct{ name, file string }

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// store returns the store of the profile that the command line or SVC_PROFILE names.
func (r *caller) store() (store, error) {
	name := cmp.Or(r.profile, r.Env.SignInProfile, "default")
	if !profileName.MatchString(name) {
		return store{}, cli.Usagef("profile %q: expected letters, digits, - and _, at most 64", name)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return store{}, fmt.Errorf("the folder for profiles: %w", err)
	}
	dir = filepath.Join(dir, "svc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store{}, err
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("others may write to %s, and so replace tokens; run chmod 700 %[1]s", dir)
	}
	return store{name, filepath.Join(dir, name+".json")}, err
}

// signIn returns the command that signs the person in again.
func (s store) signIn() string {
	if s.name == "default" {
		return "svc login"
	}
	return "svc login --profile " + s.name
}

// lockTime is how long a command waits for another one, which refreshes the same tokens.
const lockTime = time.Minute

// lock takes the profile for this process. A refresh token works once: a second use ends the
// sign-in, because somebody may have stolen it (RFC 9700 section 4.14.2).
func (s store) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(s.file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	late := fmt.Errorf("another svc uses the profile %s for too long", s.name)
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, late)
	defer cancel()
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// maxProfile is the largest accepted file of a profile, in bytes.
const maxProfile = 1 << 20

// read reads the profile. If the tokens cannot be opened, it returns the rest with the error.
func (s store) read() (p profile, err error) {
	f, err := os.Open(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("nobody is signed in with the profile %s; run %s", s.name, s.signIn())
	}
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return p, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return p, fmt.Errorf("others may read the tokens in %s (mode %04o); run chmod 600 %[1]s, and sign in "+
			"again if somebody may have read them", s.file, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxProfile))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Server == "" {
		return profile{}, fmt.Errorf("the file %s is damaged; run %s", s.file, s.signIn())
	}
	if _, err := parseServer(p.Server); err != nil {
		return profile{}, err
	}
	if p.Sealed != nil {
		err = s.unseal(&p)
	}
	return p, err
}

// write replaces the profile.
func (s store) write(p profile) error {
	if p.key != nil {
		aead, err := sealer(p.key)
		if err != nil {
			return err
		}
		plain, err := json.Marshal(p.Tokens)
		if err != nil {
			return err
		}
		p.Sealed, p.Tokens = aead.Seal(nil, nil, plain, nil), tokens{} //nolint:gosec // it makes its own nonce
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return folder.ReplaceFile(s.file, text)
}

// remove forgets the profile.
func (s store) remove() error {
	_, _ = timely(func() (string, error) { return "", keyring.Delete(keyringService, s.file) })
	return os.Remove(s.file)
}

const keyringService = "svc"

// makeKey makes a key in the keyring. It returns nil if no keyring takes one.
func (s store) makeKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	text := base64.StdEncoding.EncodeToString(key)
	if _, err := timely(func() (string, error) { return "", keyring.Set(keyringService, s.file, text) }); err != nil {
		return nil
	}
	return key
}

// unseal opens the tokens with the key in the keyring.
func (s store) unseal(p *profile) error {
	text, err := timely(func() (string, error) { return keyring.Get(keyringService, s.file) })
	if err != nil {
		return fmt.Errorf("the keyring does not give the key of the profile %s: %w; unlock it, or run %s", s.name, err,
			s.signIn())
	}
	key, _ := base64.StdEncoding.DecodeString(text)
	aead, err := sealer(key)
	if err != nil {
		return err
	}
	plain, err := aead.Open(nil, nil, p.Sealed, nil)
	if err == nil {
		err = json.Unmarshal(plain, &p.Tokens)
	}
	if err != nil {
		return fmt.Errorf("the key in the keyring does not fit %s; run %s", s.file, s.signIn())
	}
	p.key, p.Sealed = key, nil
	return nil
}

func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key of the profile: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// keyringTime is how long the keyring may take. Some never answer, where nobody can unlock them.
const keyringTime = 15 * time.Second

// timely calls the keyring, and gives up after keyringTime.
func timely(call func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := call()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-time.After(keyringTime):
		return "", errors.New("it does not answer")
	}
}

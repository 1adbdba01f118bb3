package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"svc/internal/test/testkit"
)

// TestKeyring: with a keyring the file alone gives no token, and the keyring alone neither.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	s := store{"default", filepath.Join(t.TempDir(), "default.json")}
	p := profile{Server: "https://svc.example", Tokens: tokens{Access: "the-access", Refresh: "the-refresh"},
		key: s.makeKey()}
	for range 2 { // a refresh writes again, with the same key
		testkit.Must(t, s.write(p))
		text, err := os.ReadFile(s.file)
		testkit.Must(t, err)
		if p.key == nil || strings.Contains(string(text), "the-") {
			t.Fatalf("the file has %s", text)
		}
		got, err := s.read()
		if err != nil || got.Tokens.Access != "the-access" || got.Tokens.Refresh != "the-refresh" {
			t.Fatalf("%+v, %v", got, err)
		}
		p = got
	}
	testkit.Must(t, keyring.Set(keyringService, s.file, "AAAA"))
	if got, err := s.read(); err == nil || got.Server == "" || got.Tokens.Access != "" {
		t.Errorf("with another key: %+v, %v", got, err)
	}
	testkit.Must(t, s.write(p))
	testkit.Must(t, s.remove())
	if _, err := keyring.Get(keyringService, s.file); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the key stays in the keyring: %v", err)
	}
	testkit.Must(t, s.write(p))
	if got, err := s.read(); err == nil || !strings.Contains(err.Error(), "svc login") || got.Server == "" {
		t.Errorf("without a key: %+v, %v", got, err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	if s.makeKey() != nil {
		t.Error("a locked keyring took a key")
	}
}

// TestHangingKeyring: a keyring that nobody can unlock does not hold svc forever.
func TestHangingKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, begun := make(chan struct{}), time.Now()
		_, err := timely(func() (string, error) { <-never; return "late", nil })
		if err == nil || time.Since(begun) != keyringTime {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		close(never)
	})
}

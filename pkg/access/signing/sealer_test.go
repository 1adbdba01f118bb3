package signing_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"svc/pkg/access/signing"
)

func TestFileSealer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var wg sync.WaitGroup
	sealed := make([][]byte, 8)
	for i := range sealed { // processes that start at once
		wg.Go(func() {
			s, err := signing.FileSealer(path)
			if err != nil {
				t.Error(err)
				return
			}
			sealed[i], _ = s.Seal(t.Context(), "kid", []byte("secret"))
		})
	}
	wg.Wait()
	s, err := signing.FileSealer(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range sealed {
		if plain, err := s.Open(t.Context(), "kid", one); err != nil || string(plain) != "secret" {
			t.Errorf("got %q, %v", plain, err)
		}
	}
	if _, err := s.Open(t.Context(), "other", sealed[0]); err == nil {
		t.Error("it opens under another key's id")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := signing.FileSealer(path); err == nil {
		t.Error("a key file that others may read is accepted")
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

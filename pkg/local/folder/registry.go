package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Registry returns the folder in which the running services of this user record their
// data folders, so that a command finds the services from any working directory. It
// returns "" for a user without a cache folder.
func Registry() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "svc", "running")
}

// Register records a data folder in the registry; forget removes the record. Register
// ignores errors, because the service also runs without the record.
func Register(registry, dataDir string) (forget func()) {
	forget = func() {}
	dataDir, err := filepath.Abs(dataDir)
	if err != nil || registry == "" || os.MkdirAll(registry, 0o700) != nil {
		return forget
	}
	sum := sha256.Sum256([]byte(dataDir))
	note := filepath.Join(registry, hex.EncodeToString(sum[:8]))
	if ReplaceFile(note, []byte(dataDir)) != nil {
		return forget
	}
	return func() { _ = os.Remove(note) }
}

// mostNotes is how many records Registered reads. Killed services leave theirs behind.
const mostNotes = 100

// Registered returns the services of the registry that run now.
func Registered(ctx context.Context, registry string) (found []Running) {
	if registry == "" {
		return nil
	}
	notes, _ := filepath.Glob(filepath.Join(registry, "*"))
	for _, note := range notes[:min(len(notes), mostNotes)] {
		data, err := os.ReadFile(note)
		if err != nil {
			continue
		}
		r, err := Find(ctx, string(data))
		if err == nil {
			found = append(found, r)
		} else if _, gone := os.Stat(string(data)); gone != nil {
			_ = os.Remove(note)
		}
	}
	return found
}

package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Registry is the folder in which the running services of this user note their data
// folders, so that a command finds them from any folder. It is "" for a user without
// a cache folder.
func Registry() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "svc", "running")
}

// Register notes a data folder in the registry until forget is called. A note that
// cannot be written is left out: the service runs without it.
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

// mostNotes is how many notes Registered reads: killed services leave theirs.
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

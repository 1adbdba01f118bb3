package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"svc/pkg/local/folder"
)

// keyRegion is the region that DynamoDB Local sees in every request.
const keyRegion = "us-east-1"

// accessKey returns the random access key id of the data folder, and creates a
// missing one. DynamoDB Local has a database for each access key id and region, so
// a program that does not know the id finds an empty database.
func accessKey(dir string) (string, error) {
	if dir == "" {
		return rand.Text(), nil
	}
	file := filepath.Join(dir, "engine-key")
	text, err := os.ReadFile(file)
	if key := strings.TrimSpace(string(text)); err == nil && key != "" {
		return key, os.Chmod(file, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("engine: data folder: key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("engine: data folder: %w", err)
	}
	key := rand.Text()
	if err := folder.ReplaceFile(file, []byte(key+"\n")); err != nil {
		return "", fmt.Errorf("engine: data folder: key: %w", err)
	}
	return key, nil
}

// adoptShared renames the database that an older build wrote in dir to file, which is
// named after the folder's access key id. The older build used one database for all ids.
// The database file itself moves last, so that an interrupted move continues at the next
// start.
func adoptShared(dir, file string) error {
	shared := filepath.Join(dir, "shared-local-instance.db")
	if info, err := os.Stat(shared); err != nil || info.Size() == 0 {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.Size() > 0 {
		return fmt.Errorf("engine: both %s and %s have data; move away the one that you do not want", shared, file)
	}
	if err := check(DynamoDBLocal, shared); err != nil {
		return err
	}
	for _, part := range []string{"-journal", "-wal", "-shm", ""} {
		if err := os.Rename(shared+part, file+part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("engine: data file: %w", err)
		}
	}
	return nil
}

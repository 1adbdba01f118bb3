package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// prepare creates the data folder and a missing data file, and rejects a file that is not
// a database. data is the engine's file or folder, "" for memory. key is the access key
// id that selects the database of DynamoDB Local, "" for dynoxide.
func prepare(kind, dir string) (data, key string, err error) {
	if kind == DynamoDBLocal {
		if key, err = accessKey(dir); err != nil {
			return "", "", err
		}
	}
	if dir == "" {
		return "", key, nil
	}
	data = filepath.Join(dir, "dynoxide.db")
	file := data
	if kind == DynamoDBLocal {
		data = filepath.Join(dir, "dynamodb-local")
		file = filepath.Join(data, key+"_"+keyRegion+".db")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", "", fmt.Errorf("engine: data folder: %w", err)
	}
	if kind == DynamoDBLocal {
		if err := os.Chmod(data, 0o700); err != nil { //nolint:gosec // a folder; the names in it have the key
			return "", "", fmt.Errorf("engine: data folder: %w", err)
		}
		if err := adoptShared(data, file); err != nil {
			return "", "", err
		}
	}
	return data, key, check(kind, file)
}

// check creates a missing data file, and rejects a file that is not a database.
func check(kind, file string) error {
	// The engine itself would create a world-readable file.
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("engine: data file: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("engine: data file: %w", err)
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	switch {
	case n > 0 && string(head[:n]) != magic:
		return broken(file, "it is not an SQLite database")
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("engine: data file: %w", err)
	case n == 0 && kind == Dynoxide:
		return create(file)
	}
	return nil
}

// broken returns the error for a data file that cannot be used.
func broken(file, why string) error {
	return fmt.Errorf("engine: the data file %s is broken (%s); move it away, or use another --data folder", file, why)
}

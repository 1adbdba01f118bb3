package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	fileName = "requests.log"
	// maxFile is the size, in bytes, above which the file is rotated: it replaces the
	// one older file.
	maxFile = 8 << 20
)

// File stores the newest entries in the data folder, one JSON object per line.
// The current file and one older file have about maxFile bytes each at most.
type File struct {
	mu   sync.Mutex
	dir  string
	file *os.File
	size int64
}

// OpenFile opens the log of a data folder and creates it if it is missing.
func OpenFile(dir string) (*File, error) {
	f := &File{dir: dir}
	return f, f.open()
}

// open opens the current file, and ends a line that was cut short.
func (f *File) open() (err error) {
	f.file, err = os.OpenFile(filepath.Join(f.dir, fileName), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	info, err := f.file.Stat()
	if err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	f.size = info.Size()
	last := make([]byte, 1)
	if n, _ := f.file.ReadAt(last, f.size-1); n == 1 && last[0] != '\n' { // a kill cut the last line short
		if _, err := f.file.WriteString("\n"); err != nil {
			return fmt.Errorf("request log: %w", err)
		}
	}
	return nil
}

// Add appends the entry to the file.
func (f *File) Add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > maxFile {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(append(line, '\n'))
	f.size += int64(n)
	if err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	return nil
}

// rotate makes the current file the older one, and begins a new file.
func (f *File) rotate() error {
	path := filepath.Join(f.dir, fileName)
	if err := errors.Join(f.file.Close(), os.Rename(path, path+".1")); err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	return f.open()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// Find returns the entries of the request id in the data folder dir, oldest first. A
// caller may use one id for several requests.
func Find(dir, requestID string) ([]Entry, error) {
	var found []Entry
	for _, name := range []string{fileName + ".1", fileName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("request log: %w", err)
		}
		for line := range bytes.Lines(text) {
			var e Entry
			if json.Unmarshal(line, &e) == nil && e.Has(requestID) {
				found = append(found, e)
			} // a line that a kill cut short is skipped
		}
	}
	return found, nil
}

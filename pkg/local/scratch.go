package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ramDisk is where Linux keeps files in memory; elsewhere there is none.
const ramDisk = "/dev/shm"

// dataFile and what SQLite keeps beside it.
const dataFile = "dynoxide.db"

var besides = []string{"", "-wal", "-shm"}

// toScratch copies the data file to a folder in memory, where loading is
// several times as fast as on a disk that has to hold every write. It gives ""
// where there is no such place or not twice the room that is needed.
func toScratch(data string, need int64) (string, error) {
	var room syscall.Statfs_t
	if syscall.Statfs(ramDisk, &room) != nil {
		return "", nil
	}
	for _, end := range besides {
		if info, err := os.Stat(filepath.Join(data, dataFile+end)); err == nil {
			need += info.Size()
		}
	}
	if int64(room.Bavail)*int64(room.Bsize) < 2*need { //nolint:gosec,unconvert // sizes of a disk; their types differ between systems
		return "", nil
	}
	dir, err := os.MkdirTemp(ramDisk, "svc-loading-")
	if err != nil {
		return "", nil
	}
	for _, end := range besides {
		if err := copyFile(filepath.Join(data, dataFile+end), filepath.Join(dir, dataFile+end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(dir)
			return "", fmt.Errorf("copying the data file: %w", err)
		}
	}
	return dir, nil
}

// fromScratch puts the data file in place of the folder's own, which stays as
// it was when that fails. The engine has ended.
func fromScratch(dir, data string) error {
	defer func() { _ = os.RemoveAll(dir) }()
	ends := []string{""}
	if info, err := os.Stat(filepath.Join(dir, dataFile+"-wal")); err == nil && info.Size() > 0 {
		ends = []string{"-wal", ""} // the engine was ended before it had written all into the file
	}
	for _, end := range ends {
		if err := copyFile(filepath.Join(dir, dataFile+end), filepath.Join(data, dataFile+".loaded"+end)); err != nil {
			return fmt.Errorf("copying the data file: %w", err)
		}
	}
	for _, end := range besides[1:] { // of the old file: the new one must not be read with them
		if err := os.Remove(filepath.Join(data, dataFile+end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, end := range ends {
		if err := os.Rename(filepath.Join(data, dataFile+".loaded"+end), filepath.Join(data, dataFile+end)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

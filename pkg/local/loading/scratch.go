package loading

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ramDisk is where Linux keeps files in memory; other systems have none.
const ramDisk = "/dev/shm"

// dataFile and the files that SQLite keeps beside it.
const dataFile = "dynoxide.db"

var besides = []string{"", "-wal", "-shm"}

// toScratch copies the data file to a folder in memory. Loading there is
// several times as fast as on a disk that must persist every write. It returns
// "" if there is no such folder, or less than twice the required space.
func toScratch(data string, need int64) (string, error) {
	var fs syscall.Statfs_t
	if syscall.Statfs(ramDisk, &fs) != nil {
		return "", nil
	}
	for _, end := range besides {
		if info, err := os.Stat(filepath.Join(data, dataFile+end)); err == nil {
			need += info.Size()
		}
	}
	// The types of these sizes differ between systems.
	if int64(fs.Bavail)*int64(fs.Bsize) < 2*need {
		return "", nil
	}
	dir, err := os.MkdirTemp(ramDisk, "svc-loading-")
	if err != nil {
		return "", nil
	}
	for _, end := range besides {
		if err := copyFile(filepath.Join(data, dataFile+end), filepath.Join(dir, dataFile+end)); err != nil && !errors.Is(err,
			os.ErrNotExist) {
			_ = os.RemoveAll(dir)
			return "", fmt.Errorf("copying the data file: %w", err)
		}
	}
	return dir, nil
}

// fromScratch replaces the folder's data file. If that fails, the old file is
// unchanged. The engine must have ended.
func fromScratch(dir, data string) error {
	defer func() { _ = os.RemoveAll(dir) }()
	ends := []string{""}
	if info, err := os.Stat(filepath.Join(dir, dataFile+"-wal")); err == nil && info.Size() > 0 {
		ends = []string{"-wal", ""} // the engine ended before it wrote everything into the file
	}
	for _, end := range ends {
		if err := copyFile(filepath.Join(dir, dataFile+end), filepath.Join(data, dataFile+".loaded"+end)); err != nil {
			return fmt.Errorf("copying the data file: %w", err)
		}
	}
	for _, end := range besides[1:] { // files of the old database: SQLite must not read the new one with them
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
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

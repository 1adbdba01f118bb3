package loading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"svc/pkg/local/engine"
)

// ramDisk is where Linux keeps files in memory; other systems have none.
const ramDisk = "/dev/shm"

// dataFile is dynoxide's data file, an SQLite database.
const dataFile = "dynoxide.db"

// attempts is how often an engine is started to complete a data file.
const attempts = 10

// besides are the suffixes of dataFile and of the files that SQLite keeps beside it.
var besides = []string{"", "-wal", "-shm"}

// toScratch copies the data file to a folder in memory and returns the folder. Loading
// there is several times as fast as on a disk that must persist every write. need is the
// size in bytes of the data to write. toScratch returns "" if the system keeps no files in
// memory, or has less than twice the required space.
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
	// The types of Bavail and Bsize differ between systems, so both are converted.
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

// fromScratch replaces the data file in the folder data by the one in dir, with rename. If
// that fails, or if this process is killed, the old database stays complete. The
// engine must have ended.
func fromScratch(ctx context.Context, dir, data string, rename func(from, to string) error) error {
	defer func() { _ = os.RemoveAll(dir) }()
	for _, each := range []string{dir, data} { // rename replaces one file, so each database must be one file
		if err := intoOneFile(ctx, each); err != nil {
			return err
		}
	}
	file := filepath.Join(data, dataFile)
	defer func() { _ = os.Remove(file + ".loaded") }()
	if err := copyFile(filepath.Join(dir, dataFile), file+".loaded"); err != nil {
		return fmt.Errorf("copying the data file: %w", err)
	}
	return rename(file+".loaded", file)
}

// intoOneFile makes the database in the folder dir one file. It moves what a killed engine
// left in the write-ahead log (-wal) into the data file, and removes the files beside it.
func intoOneFile(ctx context.Context, dir string) error {
	file := filepath.Join(dir, dataFile)
	// The engine completes the file when SIGTERM ends it. It responds shortly
	// before it handles SIGTERM, so a signal at that time kills it.
	for try := 1; ; try++ {
		info, err := os.Stat(file + "-wal")
		if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
			break
		}
		if err != nil {
			return err
		}
		if try > attempts {
			return fmt.Errorf("the engine did not complete the data file %s; try again", file)
		}
		e, err := engine.Start(ctx, engine.Options{Kind: engine.Dynoxide, Dir: dir})
		if err != nil {
			return err
		}
		e.Stop()
	}
	for _, end := range besides[1:] { // SQLite must not use the old -wal and -shm with a new database
		if err := os.Remove(file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file and waits until the copy is on the disk.
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

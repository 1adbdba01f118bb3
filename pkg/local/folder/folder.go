package folder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Default is the data folder if none is given.
const Default = ".local"

// Running is the content of dev.json: a running service.
type Running struct {
	// BaseURL is the address of the service: of its gateway, or of a proxy before it.
	BaseURL string `json:"baseUrl"`
	// Local is the address of the gateway on this machine. A service of an earlier build
	// has only BaseURL; see Reach.
	Local string `json:"local,omitempty"`
	// Endpoint and Table locate the service's data, also with --memory.
	Endpoint string `json:"endpoint"`
	Table    string `json:"table"`
	// Data is the data folder, as an absolute path.
	Data string `json:"data"`
	Pid  int    `json:"pid"`
	// Memory means that all data is lost when the service ends.
	Memory bool `json:"memory"`
}

// Reach returns the address at which this machine reaches the gateway.
func (r Running) Reach() string { return cmp.Or(r.Local, r.BaseURL) }

// ErrNotRunning means that no service runs on a data folder.
var ErrNotRunning = errors.New("no service runs")

// Find finds the service that runs on the data folder. It ignores the dev.json
// of a killed service. If nothing holds the folder's lock, the error is
// ErrNotRunning. Find returns another error if the service does not respond, or
// if the holder of the lock has no dev.json.
func Find(ctx context.Context, dataDir string) (Running, error) {
	free, err := tryLock(dataDir, syscall.LOCK_SH)
	if err == nil {
		_ = free.Close()
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return Running{}, fmt.Errorf("%w on the data folder %s: start one with `svc dev`", ErrNotRunning, dataDir)
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return Running{}, fmt.Errorf("data folder %s: %w", dataDir, err)
	}
	r, err := read(dataDir)
	if err != nil {
		return Running{}, fmt.Errorf("a service starts or stops on the data folder %s, or `svc seed` uses it; "+
			"try again later",
			dataDir)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Reach()+"/health", nil)
	if err != nil {
		return Running{}, fmt.Errorf("dev.json in %s: %w", dataDir, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Running{}, fmt.Errorf("the service on %s (pid %d) does not respond; stop it and start `svc dev` again: %w",
			dataDir, r.Pid, err)
	}
	return r, res.Body.Close()
}

// read reads dev.json.
func read(dataDir string) (Running, error) {
	var r Running
	text, err := os.ReadFile(filepath.Join(dataDir, "dev.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// Write writes dev.json into the data folder. Call it when the service responds.
func Write(r Running) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("dev.json: %w", err)
	}
	if err := ReplaceFile(filepath.Join(r.Data, "dev.json"), append(text, '\n')); err != nil {
		return fmt.Errorf("dev.json: %w", err)
	}
	return nil
}

// Unlock removes dev.json from the data folder and releases the lock that Lock returned.
func Unlock(dataDir string, lock *os.File) {
	_ = os.Remove(filepath.Join(dataDir, "dev.json"))
	_ = lock.Close()
}

// Lock creates the data folder and locks it for this process. It returns an error
// if another process holds the lock. The kernel releases the lock when the
// process ends for any reason.
func Lock(dataDir string) (*os.File, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	for try := 0; ; try++ {
		f, err := tryLock(dataDir, syscall.LOCK_EX)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data folder %s: %w", dataDir, err)
		}
		// A command that looks for a running service holds the lock for a
		// moment.
		if try < 10 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if r, err := read(dataDir); err == nil {
			return nil, fmt.Errorf("the data folder %s is in use by the service at %s (pid %d); stop that, or use another "+
				"--data folder", dataDir, r.BaseURL, r.Pid)
		}
		return nil, fmt.Errorf("the data folder %s is in use by another svc command; wait for it, or use another "+
			"--data folder",
			dataDir)
	}
}

// tryLock opens the folder's lock file and locks it. how is LOCK_SH, or LOCK_EX, which also
// creates the file. The error is EWOULDBLOCK if another process has the lock.
func tryLock(dataDir string, how int) (*os.File, error) {
	flags := os.O_RDWR
	if how == syscall.LOCK_EX {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dataDir, "lock"), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReplaceFile replaces a file's content atomically: a reader sees the old text
// or the new text. Only the owner may read the file.
func ReplaceFile(name string, text []byte) error {
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Exclusive runs f while no other process runs Exclusive with the same folder and
// name.
func Exclusive(dataDir, name string, f func() error) error {
	lock, err := os.OpenFile(filepath.Join(dataDir, name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return f()
}

// probeSize is how many bytes Writable writes: more than the engine appends for a request.
const probeSize = 256 << 10

// Writable returns an error if the data folder takes no more data: the disk is full, a
// quota is used up, or the file system became read-only.
func Writable(dataDir string) error {
	probe := filepath.Join(dataDir, "probe")
	err := os.WriteFile(probe, make([]byte, probeSize), 0o600)
	return errors.Join(err, os.Remove(probe))
}

package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"svc/pkg/base/config"
)

// Kinds of engine.
const (
	// Dynoxide is the embedded static binary.
	Dynoxide = "dynoxide"
	// DynamoDBLocal is Amazon's engine for developers, run by Java.
	DynamoDBLocal = "dynamodb-local"
	// External is an engine that AWS_ENDPOINT_URL_DYNAMODB names.
	External = "external"
)

// Options select the engine and the location of its data.
type Options struct {
	// Kind is Dynoxide or DynamoDBLocal. Empty means the environment's choice
	// (AWS_ENDPOINT_URL_DYNAMODB, then SVC_ENGINE), else the engine that has a
	// build for this machine.
	Kind string
	// Dir is the folder of the data file; Start creates it if missing. If it
	// is empty, or Memory is set, the data is lost when the engine ends.
	Dir    string
	Memory bool
	// Stderr receives the engine's output; nil discards it.
	Stderr io.Writer
	// Direct is for the data of tests. dynoxide then has no door: it responds at its
	// own port, to every program of this machine. Forwarding by the door is a fifth to
	// a quarter of such a test's processor time. DynamoDB Local keeps its door.
	Direct bool

	exposed bool // for tests: as on a system without network namespaces
}

// Engine is a running engine, or the address of an external one.
type Engine struct {
	// URL is the engine's endpoint, without a trailing slash. Its path is a random
	// credential: who knows the URL has the data.
	URL string
	// Kind is one of the constants above.
	Kind string
	// Exposed means that other users of the machine can read the data at the
	// engine's own port, without the credential.
	Exposed bool

	child *child // the door's process
	pid   int
	input io.Closer
	stop  sync.Once
}

const (
	// readyIn is how long an engine may take until its first response. A JVM on
	// a busy two-core computer needs most of it.
	readyIn = 5 * time.Minute
	// attempts is how many ports Start tries.
	attempts = 5
)

// errPort means that another process took the port before the engine used it.
var errPort = errors.New("engine: another process took the engine's port; try again")

var (
	// errExposed means that this user gets no network namespace.
	errExposed = errors.New("engine: no network namespace")
	// errOpen means that the system cannot close the engine's port for others.
	errOpen = errors.New("engine: its port stays open")
	// errFewFiles means that the engine ended because it may not open enough files.
	errFewFiles = errors.New("engine: too few files")
)

// Start starts an engine and returns when it responds. ctx limits only the
// start. The engine runs until Stop or Kill, or until this process ends. For an
// external engine, Start sends no request and only returns the address.
//
// Each error is one line. For a missing program or a broken data file, it says
// what to do.
func Start(ctx context.Context, o Options) (*Engine, error) {
	kind := o.Kind
	if kind == "" {
		c := config.Read(os.Getenv)
		if c.Endpoint != "" {
			return &Engine{URL: c.Endpoint, Kind: External}, nil
		}
		kind = c.Engine
	}
	prog, err := locate(kind)
	if err != nil {
		return nil, err
	}
	if o.Memory {
		o.Dir = ""
	}
	data, key, err := prepare(prog.Kind, o.Dir)
	if err != nil {
		return nil, err
	}
	if data == "" && prog.Kind == Dynoxide {
		var remove func()
		data, remove = memoryFile(memoryRoot)
		defer remove()
	}
	order := order{Program: prog, Data: data, Key: key, Private: canIsolate && prog.Image == "" && !o.exposed}
	for try := 1; ; try++ {
		e, err := order.launch(ctx, o)
		if errors.Is(err, errExposed) {
			order.Private = false
			continue
		}
		if err == nil || !errors.Is(err, errPort) || try == attempts {
			return e, err
		}
	}
}

// prepare creates the data folder and a missing data file, and rejects a file
// that is not a database. key names the database of DynamoDB Local.
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

func broken(file, why string) error {
	return fmt.Errorf("engine: the data file %s is broken (%s); move it away, or use another --data folder", file, why)
}

// launchDoor starts the door's process, which starts the engine.
func launchDoor(ctx context.Context, o order, stderr io.Writer) (*Engine, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer listener.Close()
	door, err := listener.File()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer door.Close()
	o.Secret = rand.Text()
	cmd := exec.Command(self()) //nolint:gosec // this program
	cmd.Args, cmd.Env, cmd.ExtraFiles = []string{doorName}, append(os.Environ(), "DDB_LOCAL_TELEMETRY=0"), []*os.File{door}
	if stderr != nil {
		cmd.Stderr = stderr
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	// Wait would close a StdoutPipe, perhaps before the report of a door that ended is read.
	output, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer write.Close()
	cmd.Stdout = write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only this process
	if o.Private {
		isolate(cmd)
	}
	c, err := startChild(cmd, func(*exec.Cmd) (func(), error) { return func() {}, nil })
	if err != nil {
		output.Close()
		if o.Private {
			return nil, fmt.Errorf("%w: %w", errExposed, err)
		}
		return nil, fmt.Errorf("engine: %w", err)
	}
	write.Close() // so that the door's end is the end of the output
	e := &Engine{Kind: o.Program.Kind, child: c, input: input,
		URL: "http://" + listener.Addr().String() + "/" + o.Secret}
	if e.pid, err = e.begin(ctx, o, output); err != nil {
		e.Kill()
		return nil, err
	}
	return e, nil
}

// begin sends the order, waits for the report and closes the output.
func (e *Engine) begin(ctx context.Context, o order, output io.ReadCloser) (pid int, err error) {
	text, err := json.Marshal(o) //nolint:gosec // the secret goes to the child's standard input only
	if err != nil {
		return 0, fmt.Errorf("engine: %w", err)
	}
	answered := make(chan report, 1)
	go func() {
		defer output.Close()
		var r report
		_, err := e.input.(io.Writer).Write(text)
		if err == nil {
			err = json.NewDecoder(output).Decode(&r)
		}
		if err != nil {
			r.Error = "engine: its door ended at its start"
		}
		answered <- r
	}()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("engine: %s does not start: %w", e.Kind, ctx.Err())
	case r := <-answered:
		switch {
		case r.Exposed:
			return 0, errExposed
		case r.PortTaken:
			return 0, errPort
		case r.Error != "":
			return 0, errors.New(r.Error)
		}
		e.Exposed = r.Open
		return r.Pid, nil
	}
}

// explain turns the last output of an engine that did not start into one line.
func explain(kind, data, said string, err error) error {
	switch low := strings.ToLower(said); {
	case strings.Contains(low, "already in use"), strings.Contains(low, "already allocated"),
		strings.Contains(low, "failed to bind"):
		return errPort
	case kind == Dynoxide && data != "" && strings.Contains(low, "database"):
		return broken(data, said)
	case said != "" && errors.Is(err, errExited):
		return fmt.Errorf("engine: %s ended at its start: %s", kind, said)
	}
	return fmt.Errorf("engine: %s does not start: %w", kind, err)
}

var errExited = errors.New("it ended")

// awaitReady returns when the engine responds over HTTP.
func (b *backend) awaitReady(ctx context.Context) error {
	client := &http.Client{Transport: b.transport, Timeout: 5 * time.Second}
	for pause := time.Millisecond; ; pause = min(pause*2, 50*time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url.String(), nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			return res.Body.Close()
		}
		select {
		case <-b.child.done:
			return errExited
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Exited returns a channel that closes when the engine's process has ended, by
// Stop or by itself. It returns nil for an external engine.
func (e *Engine) Exited() <-chan struct{} {
	if e.child == nil {
		return nil
	}
	return e.child.done
}

// Pid returns the engine's process id, 0 for an external engine.
func (e *Engine) Pid() int {
	if e.child == nil {
		return 0
	}
	return e.pid
}

// Stop stops the engine that Start started and waits for its end. It does not
// stop an external engine. Stop may be called more than once.
func (e *Engine) Stop() {
	if e == nil || e.child == nil {
		return
	}
	e.stop.Do(func() {
		_ = e.child.cmd.Process.Signal(syscall.SIGTERM)
		<-e.child.done
		_ = e.input.Close()
	})
}

// Kill kills the engine, as in a crash, and waits for its end. Its current
// work stays incomplete. The data folder, if there is one, remains for the next
// engine. Kill does not stop an external engine.
func (e *Engine) Kill() {
	e.stop.Do(func() {
		if e.child == nil {
			return
		}
		_ = e.input.Close()
		<-e.child.done
	})
}

// child is a started process; only one goroutine waits for its end.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startChild starts cmd on a dedicated operating system thread that lives as
// long as the child. Linux sends the parent-death signal when the thread that
// forked ends, not when the process ends.
func startChild(cmd *exec.Cmd, own func(*exec.Cmd) (func(), error)) (*child, error) {
	release, err := own(cmd)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer release()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // its output shows how it ended
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// end sends the signal and waits for the end, at most three seconds before it kills.
func (c *child) end(signal syscall.Signal) {
	_ = c.cmd.Process.Signal(signal)
	select {
	case <-c.done:
	case <-time.After(3 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// tail forwards output and keeps its last part.
type tail struct {
	to io.Writer

	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - 4096; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(p)
	}
	return len(p), nil
}

// last returns the first line that reports an error, else the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	for _, line := range lines {
		if l := strings.ToLower(line); strings.Contains(l, "error:") || strings.Contains(l, "failed to bind") {
			return strings.TrimPrefix(strings.TrimSpace(line), "error: ")
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

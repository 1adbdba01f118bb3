package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
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
	// Direct is for the data of tests. dynoxide then has no door (see openDoor),
	// whose forwarding takes processor time: URL is the engine's own port.
	// DynamoDB Local keeps its door.
	Direct bool
}

// Engine is a running engine, or the address of an external one.
type Engine struct {
	// URL is the engine's endpoint, without a trailing slash. Its path is a random
	// credential, except with Direct: whoever knows the URL can read the data.
	URL string
	// Kind is one of the constants above.
	Kind string

	child     *child   // nil for an external engine
	own       *url.URL // the engine's own address, behind the door
	transport *http.Transport
	exited    chan struct{} // see Exited
	stop      sync.Once
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
	e, err := prog.run(ctx, data, o.Stderr)
	for try := 1; errors.Is(err, errPort) && try < attempts; try++ {
		e, err = prog.run(ctx, data, o.Stderr)
	}
	if err != nil {
		return nil, err
	}
	if o.Direct && prog.Kind == Dynoxide {
		e.URL, e.exited = e.own.String(), e.child.done
		return e, nil
	}
	if err := e.openDoor(key); err != nil {
		e.child.end(syscall.SIGTERM)
		return nil, err
	}
	return e, nil
}

// run starts the engine's program and returns when it responds.
func (p program) run(ctx context.Context, data string, stderr io.Writer) (*Engine, error) {
	host := loopback(p.Kind)
	port, release, err := reservePort(host)
	if err != nil {
		return nil, err
	}
	defer release()
	cmd := p.command(host, port, data)
	cmd.Env = append(os.Environ(), "DDB_LOCAL_TELEMETRY=0")
	said := &tail{to: stderr}
	cmd.Stdout, cmd.Stderr = said, said
	if p.Image != "" {
		if _, err := cmd.StdinPipe(); err != nil { // the pipe closes when this process ends, and then the container ends
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	c, err := startChild(cmd, p.orphaned(), own)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", p.Kind, err)
	}
	e := &Engine{Kind: p.Kind, child: c,
		own:       &url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port))},
		transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	if err := e.awaitReady(ctx); err != nil {
		c.end(syscall.SIGTERM)
		return nil, explain(p.Kind, data, said.last(), err)
	}
	return e, nil
}

// orphaned returns the signal that the engine gets when this process dies. DynamoDB Local
// responds to a transaction before it commits it, so it must be able to finish its work.
func (p program) orphaned() syscall.Signal {
	if p.Kind == DynamoDBLocal {
		return syscall.SIGTERM
	}
	return syscall.SIGKILL
}

// explain returns a one-line error for an engine that did not start because of err. said is
// the engine's last output.
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

// errExited means that the engine ended before its first response.
var errExited = errors.New("it ended")

// awaitReady returns when the engine responds over HTTP.
func (e *Engine) awaitReady(ctx context.Context) error {
	client := &http.Client{Transport: e.transport, Timeout: 5 * time.Second}
	for pause := time.Millisecond; ; pause = min(pause*2, 50*time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.own.String(), nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			return res.Body.Close()
		}
		select {
		case <-e.child.done:
			return errExited
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Exited returns a channel that closes when the engine's process has ended, by
// Stop or by itself. It returns nil for an external engine.
func (e *Engine) Exited() <-chan struct{} { return e.exited }

// Pid returns the engine's process id, 0 for an external engine.
func (e *Engine) Pid() int {
	if e.child == nil {
		return 0
	}
	return e.child.cmd.Process.Pid
}

// Stop stops the engine that Start started and waits for its end. It does not
// stop an external engine. Stop may be called more than once.
func (e *Engine) Stop() { e.end(syscall.SIGTERM) }

// Kill kills the engine, as in a crash, and waits for its end. The engine's current
// work stays incomplete. The data folder, if there is one, remains for the next
// engine. Kill does not stop an external engine.
func (e *Engine) Kill() { e.end(syscall.SIGKILL) }

// end sends the signal to the engine that Start started, once, and waits for its end.
func (e *Engine) end(signal syscall.Signal) {
	if e == nil || e.child == nil {
		return
	}
	e.stop.Do(func() {
		e.child.end(signal)
		<-e.exited
	})
}

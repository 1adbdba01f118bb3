package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one running function. It handles one event at a time, like a
// Lambda execution environment. After StartConcurrent it may handle several.
type Process struct {
	// Ready is the time from the start of the process until it asked for work.
	Ready time.Duration

	name   string
	cmd    *exec.Cmd
	server *http.Server
	began  time.Time
	ended  chan struct{}

	slots chan struct{} // one for each event that it may handle at once
	next  chan invocation

	mu     sync.Mutex
	waits  map[string]chan result
	opens  map[string]chan *Streaming
	count  int
	asked  chan struct{}
	asking sync.Once
}

// invocation is an event for the process, and the time that the process gets for it.
type invocation struct {
	id    string
	event json.RawMessage
	limit time.Duration
}

// result is the function's response to an event, or its failure.
type result struct {
	answer json.RawMessage
	err    error
}

// Timeout is the limit for one event.
const Timeout = 5 * time.Minute

// Start runs the program with the environment (NAME=value), in addition to the
// variables that Lambda sets. Its output goes to output.
func Start(name, program string, environment []string, output io.Writer) (*Process, error) {
	return StartConcurrent(1, name, program, environment, output)
}

// StartConcurrent is Start for a process that handles up to the given number of
// events at once. Lambda gives such a process at least 2 GB (Lambda Developer
// Guide, "Lambda Managed Instances"). With 2 GB, app.Start does not limit the
// processors.
func StartConcurrent(events int, name, program string, environment []string, output io.Writer) (*Process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	p := &Process{name: name, ended: make(chan struct{}), slots: make(chan struct{}, events),
		next: make(chan invocation), waits: map[string]chan result{},
		opens: map[string]chan *Streaming{}, asked: make(chan struct{})}
	p.server = &http.Server{Handler: p.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // Stop ends it
	memory := "512"
	if events > 1 {
		memory = "2048"
	}
	p.cmd = exec.Command(program)
	p.cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=" + name,
		"AWS_LAMBDA_FUNCTION_VERSION=1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + memory, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true", "PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(),
		"AWS_LAMBDA_MAX_CONCURRENCY=" + strconv.Itoa(events)},
		environment...)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.mu.Lock() // the process asks over the network, which gives no happens-before order
	p.began = time.Now()
	p.mu.Unlock()
	if err := p.cmd.Start(); err != nil {
		_ = p.server.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Invoke sends the process an event and returns its response. It returns an
// error if the function fails, exits or exceeds Timeout.
func (p *Process) Invoke(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	done := make(chan result, 1)
	p.mu.Lock()
	p.count++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", p.count)
	p.waits[id] = done
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waits, id)
		p.mu.Unlock()
	}()
	select {
	case p.next <- invocation{id, event, Timeout}:
	case <-p.ended:
		return nil, fmt.Errorf("%s has ended: %s", p.name, p.cmd.ProcessState)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not ask for work: %w", p.name, ctx.Err())
	}
	select {
	case r := <-done:
		return r.answer, r.err
	case <-p.ended:
		return nil, fmt.Errorf("%s ended with the event: %s", p.name, p.cmd.ProcessState)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not answer: %w", p.name, ctx.Err())
	}
}

// Ask sends the process SIGUSR1. A function with the probe then reports its
// processor time, allocations and memory.
func (p *Process) Ask() error { return p.cmd.Process.Signal(syscall.SIGUSR1) }

// Stop ends the process.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(2 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	_ = p.server.Close()
}

// routes are those of the runtime API, version 2018-06-01.
func (p *Process) routes() http.Handler {
	const root = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"invocation/next", p.give)
	mux.HandleFunc("POST "+root+"invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		if p.stream(r) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		body, err := io.ReadAll(r.Body)
		p.take(w, r.PathValue("id"), result{body, err})
	})
	mux.HandleFunc("POST "+root+"invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		p.take(w, r.PathValue("id"), result{nil, failure(r)})
	})
	mux.HandleFunc("POST "+root+"init/error",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	return mux
}

// failure returns the error that the function reported.
func failure(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return errors.New("the function failed: " + strings.TrimSpace(string(body)))
}

// give answers the process's request for work with the next event.
func (p *Process) give(w http.ResponseWriter, r *http.Request) {
	p.asking.Do(func() {
		p.mu.Lock()
		p.Ready = time.Since(p.began)
		p.mu.Unlock()
		close(p.asked)
	})
	select {
	case i := <-p.next:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(i.limit).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:"+p.name)
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000;Sampled=0")
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(i.event)
	case <-r.Context().Done():
	}
}

// take passes a result on to the Invoke that waits for it.
func (p *Process) take(w http.ResponseWriter, id string, r result) {
	p.mu.Lock()
	done := p.waits[id]
	p.mu.Unlock()
	if done == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	done <- r
}

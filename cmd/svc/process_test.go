package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
)

// process runs svc dev as a separate process.
type process struct {
	cmd   *exec.Cmd
	base  chan string // receives the service's address when it is ready, "" if it ended before
	ended chan struct{}
	errs  lines
}

// detached is this test binary without the race detector.
var detached = sync.OnceValues(func() (program string, err error) {
	if !raceOn {
		return os.Executable()
	}
	if detachedIn, err = os.MkdirTemp("", "svc-detached"); err != nil {
		return "", err
	}
	program = filepath.Join(detachedIn, "svc.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "svc/cmd/svc").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the tests without the race detector: %w\n%s", err, out)
	}
	return program, nil
})

// detachedIn is the folder of that program, "" before it is built.
var detachedIn string

// detachedProgram returns the program of processes that tests stop or kill. A killed
// process reports no race, and nothing reads the reports of a stopped one. So they do
// without the race detector, which multiplies their processor time. The same code runs
// with it in the tests' own process.
func detachedProgram(t testing.TB) string {
	t.Helper()
	program, err := detached()
	testkit.Must(t, err)
	return program
}

// startDev starts svc dev of the program on a data folder, with the engine at
// the endpoint, "" for an engine of its own.
func startDev(t *testing.T, program, data, endpoint string) *process {
	t.Helper()
	p := &process{base: make(chan string, 1), ended: make(chan struct{}),
		cmd: exec.Command(program, "dev", "--port", "0", "--data", data, "--quiet")}
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "TABLE_NAME=", "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, p.cmd.Start())
	go func() {
		base, said := "", bufio.NewScanner(out)
		for base == "" && said.Scan() {
			_, base, _ = strings.Cut(said.Text(), isRunning)
		}
		p.base <- base
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// await waits until the service is ready and returns its address.
func (p *process) await(t *testing.T) string {
	t.Helper()
	base := <-p.base
	if base == "" {
		t.Fatalf("svc dev does not run: %s", p.errs.text())
	}
	return base
}

// client sends requests as the demo's people in metro.
type client struct {
	world
	tokens map[string]string // by audience
}

// response is a response of the API.
type response struct {
	status   int
	body     string
	replayed bool
}

// send sends a request with an Idempotency-Key. It repeats a request if the
// response says that its outcome is unknown.
func (c *client) send(method, audience, path, body, key string) (a response, err error) {
	c.Helper()
	if c.tokens[audience] == "" {
		email := audience + "1@metro.example"
		if audience == "dashboard" {
			email = "operator@metro.example"
		}
		c.tokens[audience] = c.token(audience, email)
	}
	for range 100 {
		r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
		testkit.Must(c.T, err)
		r.Header = http.Header{"Authorization": {"Bearer " + c.tokens[audience]}, "Idempotency-Key": {key},
			"Content-Type": {"application/json"}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return a, err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		a = response{res.StatusCode, string(text), res.Header.Get("Idempotent-Replayed") == "true"}
		if err != nil || a.status != http.StatusServiceUnavailable {
			return a, err
		}
	}
	return a, nil
}

// must sends a change that must succeed.
func (c *client) must(method, audience, path, body, key string) response {
	c.Helper()
	a, err := c.send(method, audience, path, body, key)
	if err != nil || a.status/100 != 2 {
		c.Fatalf("%s %s: %v %d %s", method, path, err, a.status, a.body)
	}
	return a
}

// step sends a call of a ride, which must succeed.
func (c *client) step(call script.Call) (json.RawMessage, error) {
	return json.RawMessage(c.must(http.MethodPost, string(call.As), call.Path, call.Body, call.Key).body), nil
}

// ride takes the steps of a ride, by default all, and returns the trip's id.
func (c *client) ride(r script.Ride, steps ...string) string {
	c.Helper()
	id, err := r.Take(c.step, steps...)
	testkit.Must(c.T, err)
	return id
}

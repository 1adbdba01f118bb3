package streamtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"svc/pkg/data/table"
	"svc/pkg/local/testkit"
)

// ErrCrash is the error of requests to the table after the process has
// crashed.
var ErrCrash = errors.New("the process has crashed")

// Crash is a connection to the table on which the process can crash between
// any two requests. The zero Crash lets every request pass.
type Crash struct {
	mu     sync.Mutex
	next   http.RoundTripper
	armed  bool
	left   int
	done   bool // the last request is executed, but its response is lost
	cancel context.CancelFunc
	sent   int
	before map[int]func()
}

// Open opens a table of the test's engine over this connection.
func (c *Crash) Open(t testing.TB, name string) *table.DB {
	t.Helper()
	db, err := table.Open(context.Background(), table.Options{Table: name, Endpoint: testkit.Endpoint(t),
		Wire: func(next http.RoundTripper) http.RoundTripper {
			c.next = next
			return c
		}})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Arm returns the context of a process that crashes at its request n, counted
// from 0. The process crashes before the request is executed. With lost, it
// crashes after that, and the response is lost.
func (c *Crash) Arm(ctx context.Context, n int, lost bool) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, c.cancel = context.WithCancel(ctx)
	c.armed, c.left, c.done = true, n, lost
	return ctx
}

// Disarm lets every request pass again, and reports whether the crash
// happened.
func (c *Crash) Disarm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	crashed := c.armed && c.left < 0
	if c.cancel != nil {
		c.cancel()
	}
	c.armed = false
	return crashed
}

// Sent returns the number of executed requests.
func (c *Crash) Sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// Meanwhile runs do just before request n after this call, counted from 0. do
// simulates the work of another process.
func (c *Crash) Meanwhile(n int, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = map[int]func(){n: do}
}

// RoundTrip implements http.RoundTripper.
func (c *Crash) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	now, over := c.armed && c.left == 0, c.armed && c.left < 0
	lost := now && c.done
	c.left--
	if !over && (!now || lost) {
		c.sent++
	}
	cancel := c.cancel
	do, rest := c.before[0], map[int]func(){}
	for n, f := range c.before {
		rest[n-1] = f
	}
	c.before = rest
	c.mu.Unlock()
	if do != nil {
		do()
	}
	if over || (now && !lost) {
		cancel()
		return nil, ErrCrash
	}
	if !now {
		return c.next.RoundTrip(r)
	}
	res, err := c.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	cancel()
	return nil, ErrCrash
}

package streamtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"svc/pkg/local/testkit"
	"svc/pkg/table"
)

// ErrCrash is what requests to the table end in once the process has crashed.
var ErrCrash = errors.New("the process has crashed")

// Crash is a wire to the table on which the process can die between any two
// requests. The zero Crash lets everything pass.
type Crash struct {
	mu     sync.Mutex
	next   http.RoundTripper
	armed  bool
	left   int
	done   bool // whether the last request is carried out, its answer lost
	cancel context.CancelFunc
	sent   int
	before map[int]func()
}

// Open opens a table of the test's engine over the wire.
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

// Arm gives the context of a process that dies at its request n, from 0: before
// it is carried out, or with lost after that, its answer never seen.
func (c *Crash) Arm(ctx context.Context, n int, lost bool) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, c.cancel = context.WithCancel(ctx) //nolint:gosec // cancelled by the crash, or with its parent
	c.armed, c.left, c.done = true, n, lost
	return ctx
}

// Disarm lets everything pass again, and says whether it had come to the crash.
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

// Sent counts the requests that were carried out.
func (c *Crash) Sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// Meanwhile has do happen just before the request n from now on, from 0, is
// carried out: what another process does in between.
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

package testkit

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"
)

// rounds delays requests and releases them together. Requests that do not
// depend on each other are in one round. A round begins when the previous
// round's responses are read and the process is idle. So how many rounds a
// piece of work takes does not depend on the schedule or on the machine's
// speed.
type rounds struct {
	mu      sync.Mutex
	waiting chan struct{} // closed when the next round begins; nil without a waiting request
	held    int           // number of requests that wait for the next round
	sent    int           // number of requests of this round without a response
}

// join waits for the next round. The caller calls leave after it has read the
// response.
func (r *rounds) join(ctx context.Context) error {
	r.mu.Lock()
	if r.waiting == nil {
		r.waiting = make(chan struct{})
		go r.release()
	}
	next := r.waiting
	r.held++
	r.mu.Unlock()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == next {
		r.held--
	} else {
		r.sent-- // the round has begun
	}
	return ctx.Err()
}

// leave records that the response to a request of this round was read.
func (r *rounds) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent--
}

// release begins the next round as soon as no request is under way and the
// process was idle for three milliseconds. It waits at most five minutes.
func (r *rounds) release() {
	states := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"}}
	calm := 0
	for deadline := time.Now().Add(Patience); calm < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		metrics.Read(states)
		r.mu.Lock()
		idle := r.sent == 0 && states[0].Value.Uint64() == 0 && states[1].Value.Uint64() <= 1 // this goroutine
		r.mu.Unlock()
		calm++
		if !idle {
			calm = 0
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent, r.held = r.sent+r.held, 0
	close(r.waiting)
	r.waiting = nil
}

package app

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"svc/pkg/base/panics"
	"svc/pkg/data/due"
	"svc/pkg/domain/webhook"
)

// How many attempts of one group and of one endpoint a process without a queue makes at
// the same time. Groups do not wait for one another, as in a fair queue, so a company
// whose receivers hang holds up nobody else; nor does such an endpoint hold up the
// company's others.
const (
	attemptsOfGroup    = 16
	attemptsOfEndpoint = 4
)

// attemptWait is how long a sweep waits for an attempt. After a longer one, a later sweep
// finds how it ended.
const attemptWait = time.Second

// resultKept is how long it is known how a sweep's attempt ended.
const resultKept = 10 * time.Minute

// senders are the attempts that this process waits for or makes.
type senders struct {
	mu      sync.Mutex
	waiting map[string][]*attempt // by group, in order
	now     map[string]int        // that are under way, by group and by endpoint
	known   map[string]*attempt   // that wait, are under way, or ended and were not asked for since
}

type attempt struct {
	message webhook.Message
	work    func() error
	swept   bool
	done    chan struct{}
	err     error
}

// localSenders are those of the process.
var localSenders = &senders{waiting: map[string][]*attempt{}, now: map[string]int{}, known: map[string]*attempt{}}

func keyOf(m webhook.Message) string {
	text, _ := json.Marshal(m) // of our own type: it cannot fail
	return string(text)
}

// send makes an attempt when its group and endpoint have room. One that is known already
// is not made twice.
func (s *senders) send(m webhook.Message, work func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[keyOf(m)] == nil {
		s.waiting[m.Group()] = append(s.waiting[m.Group()], s.add(m, work, false))
		s.begin(m.Group())
	}
}

func (s *senders) add(m webhook.Message, work func() error, swept bool) *attempt {
	one := &attempt{message: m, work: work, swept: swept, done: make(chan struct{})}
	s.known[keyOf(m)] = one
	return one
}

// begin makes the attempts of a group that wait and have room.
func (s *senders) begin(group string) {
	for {
		i := slices.IndexFunc(s.waiting[group], func(a *attempt) bool { return s.room(a.message) })
		if i < 0 {
			break
		}
		one := s.waiting[group][i]
		s.waiting[group] = slices.Delete(s.waiting[group], i, i+1)
		s.make(one)
	}
	if len(s.waiting[group]) == 0 {
		delete(s.waiting, group)
	}
}

func endpointOf(m webhook.Message) string { return m.Group() + "#" + m.Endpoint }

func (s *senders) room(m webhook.Message) bool {
	return s.now[m.Group()] < attemptsOfGroup && s.now[endpointOf(m)] < attemptsOfEndpoint
}

func (s *senders) make(one *attempt) {
	names := []string{one.message.Group(), endpointOf(one.message)}
	for _, name := range names {
		s.now[name]++
	}
	go func() {
		one.err = panics.Try(one.work)
		s.mu.Lock()
		defer s.mu.Unlock()
		close(one.done)
		for _, name := range names {
			if s.now[name]--; s.now[name] == 0 {
				delete(s.now, name)
			}
		}
		if one.swept { // the next sweep asks how it ended, unless its row is gone
			time.AfterFunc(resultKept, func() { s.forget(one) })
		} else {
			delete(s.known, keyOf(one.message))
		}
		s.begin(one.message.Group())
	}()
}

func (s *senders) forget(one *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[keyOf(one.message)] == one {
		delete(s.known, keyOf(one.message))
	}
}

// idle reports whether no attempt waits or is under way.
func (s *senders) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.now) == 0 && len(s.waiting) == 0
}

// sweep makes the attempt of a row that is due. It returns due.ErrWaits while the
// attempt is under way, and if its group or endpoint has no room.
func (s *senders) sweep(ctx context.Context, m webhook.Message, work func() error) error {
	s.mu.Lock()
	one := s.known[keyOf(m)]
	if one == nil && s.room(m) {
		one = s.add(m, work, true)
		s.make(one)
	}
	s.mu.Unlock()
	if one == nil {
		return due.ErrWaits
	}
	select {
	case <-one.done:
	case <-time.After(attemptWait):
		return due.ErrWaits
	case <-ctx.Done():
		return ctx.Err()
	}
	s.forget(one)
	return one.err
}

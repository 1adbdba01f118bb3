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

// The largest numbers of webhook attempts that a process without a queue makes at the same
// time, for one group (webhook.Message.Group) and for one endpoint. Groups do not wait for each
// other, as in a fair queue. So receivers that hang delay neither other companies nor the
// other endpoints of their company.
const (
	attemptsOfGroup    = 16
	attemptsOfEndpoint = 4
)

// attemptWait is how long a sweep waits for the attempt of a webhook delivery, which runs in a
// goroutine of its own. The goroutine keeps the result of a longer attempt for a later sweep.
const attemptWait = time.Second

// resultKept is how long the result of an attempt is kept for a later sweep.
const resultKept = 10 * time.Minute

// senders sends webhooks in a process without a queue. It has the attempts that wait in
// this process or are under way.
type senders struct {
	mu      sync.Mutex
	waiting map[string][]*attempt // attempts that wait, by group, oldest first
	now     map[string]int        // how many attempts are under way, by group and by endpoint
	known   map[string]*attempt   // by message: waiting, under way, or ended with a result that a sweep will read
}

// attempt is one attempt to send a message. err is its result once done is closed. If
// swept is true, a sweep began the attempt and reads the result.
type attempt struct {
	message webhook.Message
	work    func() error
	swept   bool
	done    chan struct{}
	err     error
}

// localSenders sends the webhooks of this process, if the process has no queue.
var localSenders = &senders{waiting: map[string][]*attempt{}, now: map[string]int{}, known: map[string]*attempt{}}

// keyOf returns the key of a message in senders.known.
func keyOf(m webhook.Message) string {
	text, _ := json.Marshal(m) // a Message always has a JSON form
	return string(text)
}

// send calls work, which sends the message, as soon as the limits of its group and
// endpoint allow. It does nothing if an attempt for the message is known already.
func (s *senders) send(m webhook.Message, work func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[keyOf(m)] == nil {
		s.waiting[m.Group()] = append(s.waiting[m.Group()], s.add(m, work, false))
		s.begin(m.Group())
	}
}

// add puts an attempt for the message into s.known, without starting it. work makes the
// attempt.
func (s *senders) add(m webhook.Message, work func() error, swept bool) *attempt {
	one := &attempt{message: m, work: work, swept: swept, done: make(chan struct{})}
	s.known[keyOf(m)] = one
	return one
}

// begin starts the waiting attempts of a group, as far as the limits of group and
// endpoint allow.
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

// endpointOf returns the key of the message's endpoint in senders.now.
func endpointOf(m webhook.Message) string { return m.Group() + "#" + m.Endpoint }

// room reports whether the message's group and endpoint may have one more attempt under
// way.
func (s *senders) room(m webhook.Message) bool {
	return s.now[m.Group()] < attemptsOfGroup && s.now[endpointOf(m)] < attemptsOfEndpoint
}

// make starts an attempt in a goroutine. After the attempt, the goroutine starts waiting
// attempts of the same group.
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
		if one.swept { // the next sweep reads the result, unless the due task is gone
			time.AfterFunc(resultKept, func() { s.forget(one) })
		} else {
			delete(s.known, keyOf(one.message))
		}
		s.begin(one.message.Group())
	}()
}

// forget drops the result of an attempt.
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

// sweep makes the attempt for the message of a due task and returns the attempt's result.
// It returns due.ErrWaits if the attempt is still under way after attemptWait, or if the
// limits allow no attempt now.
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

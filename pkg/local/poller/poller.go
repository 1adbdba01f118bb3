package poller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"svc/pkg/local/schema"
)

// Consumer is a function on the table's stream, with its event source mapping
// from template.yaml.
type Consumer struct {
	// Name is the function's logical id and the key of its checkpoint.
	Name string
	// Invoke is the function: it takes a DynamoDBEvent and returns a batch
	// response.
	Invoke func(context.Context, json.RawMessage) (json.RawMessage, error)
	// BatchSize is the maximum number of records per event; 0 means 100.
	BatchSize int
	// Filters select records: a record passes if one filter matches, or if
	// there are none.
	Filters []Filter
	// PartialFailures means that the function reports with
	// ReportBatchItemFailures.
	PartialFailures bool
	// Bisect means that a batch that failed is retried in halves.
	Bisect bool
	// Retries is the number of attempts after the first, before a record
	// becomes a dead letter; a negative number means unlimited.
	Retries int
	// MaxAge is the age at which a failing record becomes a dead letter; 0
	// means unlimited.
	MaxAge time.Duration
	// Timeout of one invocation; 0 means a minute.
	Timeout time.Duration
}

// Options locate the stream and the stored progress.
type Options struct {
	// Endpoint of the engine.
	Endpoint string
	// Dir stores the checkpoints and dead letters. If empty, the checkpoints are
	// in memory and dead letters are only counted.
	Dir string
	// Log receives failures; nil means slog.Default.
	Log *slog.Logger
	// Backoff is the pause before attempt n+1 (n from 1); nil doubles from 25
	// ms to 5 s.
	Backoff func(n int) time.Duration
	// Now is the clock for lags and for the age of records; nil means time.Now.
	Now func() time.Time
}

// Poller delivers the table's stream to functions as Lambda does. Each
// function has its own pace. A shard's records arrive in order, at least once,
// starting after the checkpoint or, without one, with the oldest. Poller works
// on dynoxide and DynamoDB Local.
type Poller struct {
	o       Options
	streams *dynamodbstreams.Client

	cancel  context.CancelFunc
	running sync.WaitGroup
	letters letters

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when a consumer becomes idle
	consumers []*consumer
	stopped   bool

	generation atomic.Int64 // incremented before each pass of a Drain
	delivered  atomic.Int64 // number of invocations of functions
}

// The maximum pause between reads of an idle stream, and after an error.
const (
	idlePause  = 100 * time.Millisecond
	errorPause = time.Second
)

// ErrStopped is what Drain returns if the poller was not started or is stopped.
var ErrStopped = errors.New("the stream poller does not run")

// New returns a poller that is not running; Transport may be used at once.
func New(o Options) *Poller {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Backoff == nil {
		o.Backoff = func(n int) time.Duration { return min(25*time.Millisecond<<min(n-1, 10), 5*time.Second) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	_, streams := schema.Clients(o.Endpoint)
	return &Poller{o: o, streams: streams, changed: make(chan struct{}), letters: letters{dir: o.Dir}}
}

// Start starts the delivery of the stream to the consumers. Call it at most
// once.
func (p *Poller) Start(streamARN string, consumers []Consumer) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel = cancel
	for _, c := range consumers {
		from, err := openCheckpoint(p.o.Dir, c.Name, streamARN, p.o.Log)
		if err != nil {
			cancel()
			return err
		}
		one := newConsumer(p, c, streamARN, from)
		one.at.Store(p.o.Now().UnixMilli())
		p.consumers = append(p.consumers, one)
	}
	for _, c := range p.consumers {
		p.running.Add(1)
		go func() {
			defer p.running.Done()
			c.run(ctx)
		}()
	}
	return nil
}

// Stop stops the delivery and waits for the invocations in progress.
func (p *Poller) Stop() {
	p.mu.Lock()
	p.stopped = true
	cancel := p.cancel
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	p.running.Wait()
	p.rested()
}

// Wake makes every consumer read the stream now.
func (p *Poller) Wake() {
	p.mu.Lock()
	consumers := p.consumers
	p.mu.Unlock()
	for _, c := range consumers {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Transport wraps the transport of a DynamoDB client, so that each write wakes the
// poller.
func (p *Poller) Transport(next http.RoundTripper) http.RoundTripper { return waking{p, next} }

// waking is a transport that wakes the poller after each write.
type waking struct {
	p    *Poller
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper: it sends the request, and wakes the poller if the
// request is a write.
func (w waking) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(req)
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	switch op {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		w.p.Wake()
	}
	return res, err
}

// CloseIdleConnections closes the idle connections of the wrapped transport. http.Client
// calls it.
func (w waking) CloseIdleConnections() {
	(&http.Client{Transport: w.next}).CloseIdleConnections()
}

// Lag returns how far each consumer is behind, by its name: everything that was written
// before now minus the lag is delivered. A lag counts from Start at most, even if records
// from before Start are not delivered yet. It stays below a second while the consumer
// keeps up.
func (p *Poller) Lag() map[string]time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]time.Duration{}
	for _, c := range p.consumers {
		out[c.Name] = max(0, p.o.Now().Sub(time.UnixMilli(c.at.Load())))
	}
	return out
}

// Drain returns when everything written before the call is delivered, and everything that
// the functions wrote in response. Dead letters count as delivered. The error is
// ErrStopped, or wraps that of ctx.
func (p *Poller) Drain(ctx context.Context) error {
	for {
		before := p.delivered.Load()
		generation := p.generation.Add(1)
		p.Wake()
		if err := p.awaitRest(ctx, generation); err != nil {
			return err
		}
		if p.delivered.Load() == before {
			return nil
		}
	}
}

// awaitRest waits until every consumer has read every shard to its end, in a round that
// began after Drain incremented the generation to this number.
func (p *Poller) awaitRest(ctx context.Context, generation int64) error {
	for {
		p.mu.Lock()
		changed, stopped := p.changed, p.stopped || p.cancel == nil
		var behind *consumer
		for _, c := range p.consumers {
			if c.rested.Load() < generation {
				behind = c
			}
		}
		p.mu.Unlock()
		switch {
		case stopped:
			return ErrStopped
		case behind == nil:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err := ctx.Err()
			if last := behind.lastError(); last != nil {
				err = errors.Join(err, last)
			}
			return fmt.Errorf("draining the stream: %s is behind: %w", behind.Name, err)
		}
	}
}

// rested tells awaitRest that a consumer has become idle, or that the poller has stopped.
func (p *Poller) rested() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// DeadLetters returns the number of records that this poller has given up.
func (p *Poller) DeadLetters() int { return p.letters.count() }

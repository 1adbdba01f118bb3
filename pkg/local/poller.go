package local

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
)

// Consumer is a function on the table's stream, with what template.yaml says
// of its event source mapping.
type Consumer struct {
	// Name is the function's logical id; its checkpoint is kept under it.
	Name string
	// Invoke is the function: a DynamoDBEvent in, a batch response out.
	Invoke func(context.Context, json.RawMessage) (json.RawMessage, error)
	// BatchSize is the most records of one event; 0 is 100.
	BatchSize int
	// Filters pass a record when one of them matches; none passes all.
	Filters []Filter
	// PartialFailures says that the function answers with
	// ReportBatchItemFailures.
	PartialFailures bool
	// Retries are the attempts after the first before a record goes to the
	// dead letters; 0 is 10.
	Retries int
	// Timeout of one invocation; 0 is a minute.
	Timeout time.Duration
}

// PollerOptions say where the stream is and where progress is kept.
type PollerOptions struct {
	// Endpoint of the engine.
	Endpoint string
	// Dir gets the checkpoints and dead letters; empty keeps them in memory.
	Dir string
	// Log gets failures; nil is slog.Default.
	Log *slog.Logger
	// Backoff is the pause before attempt n+1 (n from 1); nil doubles from
	// 25 ms to 1 s.
	Backoff func(n int) time.Duration
}

// Poller delivers the table's stream to functions as Lambda does: each
// function at its own pace, a shard's records in order, at least once, from
// the oldest record on. It works on dynoxide and DynamoDB Local.
type Poller struct {
	o       PollerOptions
	streams *dynamodbstreams.Client

	cancel  context.CancelFunc
	running sync.WaitGroup
	letters letters

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when a consumer comes to rest
	consumers []*consumer
	stopped   bool

	generation atomic.Int64 // grows with every Drain
	delivered  atomic.Int64 // invocations
}

// The longest pause between looks at an idle stream, and after an error.
const (
	idlePause  = 100 * time.Millisecond
	errorPause = time.Second
)

// ErrStopped is what Drain returns when the poller does not run.
var ErrStopped = errors.New("the stream poller does not run")

// NewPoller makes a poller that does not run yet; Wire may be used at once.
func NewPoller(o PollerOptions) *Poller {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Backoff == nil {
		o.Backoff = func(n int) time.Duration { return min(25*time.Millisecond<<min(n-1, 10), time.Second) }
	}
	_, streams := clients(o.Endpoint)
	return &Poller{o: o, streams: streams, changed: make(chan struct{}), letters: letters{dir: o.Dir}}
}

// Start begins to deliver the stream to the consumers. It may be called once.
func (p *Poller) Start(streamARN string, consumers []Consumer) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel = cancel
	for _, c := range consumers {
		kept, err := openCheckpoint(p.o.Dir, c.Name, streamARN, p.o.Log)
		if err != nil {
			cancel()
			return err
		}
		p.consumers = append(p.consumers, newConsumer(p, c, streamARN, kept))
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

// Stop ends the delivery, after the invocations under way, and waits for it.
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

// Wake has every consumer look at the stream now.
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

// Wire wraps the transport of a DynamoDB client so that the poller wakes after
// each of its writes.
func (p *Poller) Wire(next http.RoundTripper) http.RoundTripper { return waking{p, next} }

type waking struct {
	p    *Poller
	next http.RoundTripper
}

func (w waking) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(req)
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	switch op {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		w.p.Wake()
	}
	return res, err
}

// Drain returns when everything written before the call has been delivered,
// and so has what the functions themselves wrote in answer to it. Dead letters
// count as delivered.
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

// awaitRest waits until every consumer has seen the end of every shard, having
// begun to look after the generation began.
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

func (p *Poller) rested() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// DeadLetters is how many records were given up since Start.
func (p *Poller) DeadLetters() int { return p.letters.count() }

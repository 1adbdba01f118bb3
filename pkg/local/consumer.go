package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

// consumer reads the stream for one function.
type consumer struct {
	Consumer
	p      *Poller
	stream string
	kept   *checkpoint

	shards    []types.Shard
	relist    bool              // a shard ended, its children are to be found
	iterators map[string]string // of the shards under way

	wake   chan struct{}
	rested atomic.Int64 // the newest generation at whose time all was read

	mu  sync.Mutex
	err error
}

func newConsumer(p *Poller, c Consumer, stream string, kept *checkpoint) *consumer {
	if c.BatchSize <= 0 {
		c.BatchSize = 100
	}
	if c.Retries <= 0 {
		c.Retries = 10
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	return &consumer{Consumer: c, p: p, stream: stream, kept: kept, relist: true,
		iterators: map[string]string{}, wake: make(chan struct{}, 1)}
}

func (c *consumer) run(ctx context.Context) {
	for pause := time.Millisecond; ; {
		generation := c.p.generation.Load()
		moved, ended, err := c.round(ctx)
		if ctx.Err() != nil {
			return
		}
		c.report(err)
		switch {
		case err != nil:
			pause = min(max(pause, 10*time.Millisecond)*2, errorPause)
		case moved:
			pause = time.Millisecond
		default:
			pause = min(pause*2, idlePause)
		}
		if err == nil && ended {
			c.rested.Store(generation)
			c.p.rested()
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			if err == nil {
				pause = time.Millisecond
			}
		case <-time.After(pause):
		}
	}
}

// report keeps the last error for Drain and logs it when it is a new one.
func (c *consumer) report(err error) {
	c.mu.Lock()
	was := c.err
	c.err = err
	c.mu.Unlock()
	if err != nil && (was == nil || was.Error() != err.Error()) {
		c.p.o.Log.Warn("stream poller", "function", c.Name, "error", err)
	}
}

func (c *consumer) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// round reads every open shard once to its end, parents before children.
// ended is false when a shard still had more.
func (c *consumer) round(ctx context.Context) (moved, ended bool, err error) {
	if c.relist || !c.open() {
		if err := c.list(ctx); err != nil {
			return false, false, err
		}
	}
	ended = true
	for _, s := range c.shards {
		id := aws.ToString(s.ShardId)
		if c.kept.Shards[id].Done || !c.parentDone(s) {
			continue
		}
		more, atEnd, err := c.read(ctx, id)
		moved, ended = moved || more, ended && atEnd
		if err != nil {
			return moved, false, err
		}
	}
	// The children of a shard that just ended are still to be read.
	return moved, ended && !c.relist, nil
}

func (c *consumer) open() bool {
	for _, s := range c.shards {
		if !c.kept.Shards[aws.ToString(s.ShardId)].Done {
			return true
		}
	}
	return false
}

func (c *consumer) parentDone(s types.Shard) bool {
	parent := aws.ToString(s.ParentShardId)
	for _, other := range c.shards {
		if parent != "" && aws.ToString(other.ShardId) == parent {
			return c.kept.Shards[parent].Done
		}
	}
	return true // no parent, or one trimmed long ago
}

// list finds the stream's shards and forgets the ones that are gone.
func (c *consumer) list(ctx context.Context) error {
	var shards []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(c.stream)}
	for {
		out, err := c.p.streams.DescribeStream(ctx, in)
		if err != nil {
			return fmt.Errorf("describing the stream: %w", err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	there := map[string]bool{}
	for _, s := range shards {
		there[aws.ToString(s.ShardId)] = true
	}
	for id := range c.kept.Shards {
		if !there[id] {
			delete(c.kept.Shards, id)
		}
	}
	c.shards, c.relist = shards, false
	return nil
}

// read reads a shard until there is no more, or for long enough.
func (c *consumer) read(ctx context.Context, shard string) (moved, ended bool, err error) {
	for range 64 {
		it, err := c.iterator(ctx, shard)
		if err != nil {
			return moved, false, err
		}
		out, err := c.p.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String(it)})
		if err != nil {
			delete(c.iterators, shard) // expired, trimmed or unknown: the next round takes a new one
			return moved, false, fmt.Errorf("reading the stream: %w", err)
		}
		if err := c.take(ctx, shard, out.Records); err != nil {
			delete(c.iterators, shard)
			return moved, false, err
		}
		moved = moved || len(out.Records) > 0
		if out.NextShardIterator == nil {
			delete(c.iterators, shard)
			c.relist = true
			return moved, true, c.kept.set(shard, position{After: c.kept.Shards[shard].After, Done: true})
		}
		c.iterators[shard] = *out.NextShardIterator
		if len(out.Records) == 0 {
			return moved, true, nil
		}
	}
	return moved, false, nil
}

// iterator is where to read on: behind the checkpoint, or from the oldest
// record where there is none or it has been trimmed away.
func (c *consumer) iterator(ctx context.Context, shard string) (string, error) {
	if it := c.iterators[shard]; it != "" {
		return it, nil
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(c.stream), ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if after := c.kept.Shards[shard].After; after != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(after)
	}
	out, err := c.p.streams.GetShardIterator(ctx, in)
	var trimmed *types.TrimmedDataAccessException
	var api smithy.APIError
	if in.SequenceNumber != nil && (errors.As(err, &trimmed) || errors.As(err, &api) && api.ErrorCode() == "ValidationException") {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeTrimHorizon, nil
		out, err = c.p.streams.GetShardIterator(ctx, in)
	}
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		c.relist = true
	}
	if err != nil {
		return "", fmt.Errorf("finding the place in the stream: %w", err)
	}
	c.iterators[shard] = aws.ToString(out.ShardIterator)
	return c.iterators[shard], nil
}

// take hands records to the function in batches and moves the checkpoint.
func (c *consumer) take(ctx context.Context, shard string, raw []types.Record) error {
	after := c.kept.Shards[shard].After
	var records []record
	for _, r := range raw {
		rec, err := recordOf(r, c.stream)
		if err != nil {
			return err
		}
		if after == "" || later(rec.seq, after) {
			records = append(records, rec)
		}
	}
	for len(records) > 0 {
		n := min(c.BatchSize, len(records))
		var passed []record
		for _, r := range records[:n] {
			if c.passes(r) {
				passed = append(passed, r)
			}
		}
		if err := c.deliver(ctx, shard, passed); err != nil {
			return err
		}
		if err := c.kept.set(shard, position{After: records[n-1].seq}); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func (c *consumer) passes(r record) bool {
	for _, f := range c.Filters {
		if f.Match(r.tree) {
			return true
		}
	}
	return len(c.Filters) == 0
}

// deliver brings a batch to its end: done, or given up record by record. A
// failure that names a record starts again at that record; one that does not
// is tried again whole, and after all attempts in halves, until the record
// that is to blame stands alone.
func (c *consumer) deliver(ctx context.Context, shard string, batch []record) error {
	size, failures := len(batch), 0
	for len(batch) > 0 {
		size = min(size, len(batch))
		failed, cause := c.invoke(ctx, batch[:size])
		switch {
		case cause == nil:
			batch, size, failures = batch[size:], len(batch), 0
			continue
		case failed > 0:
			batch, size, failures = batch[failed:], len(batch), 0
		}
		failures++
		if failures > c.Retries {
			if size > 1 && failed < 0 {
				size = (size + 1) / 2
				continue
			}
			if err := c.giveUp(shard, batch[0], cause); err != nil {
				return err
			}
			batch, size, failures = batch[1:], len(batch), 0
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.p.o.Backoff(failures)):
		}
	}
	return nil
}

func (c *consumer) giveUp(shard string, r record, cause error) error {
	c.p.o.Log.Error("stream record given up", "function", c.Name, "sequenceNumber", r.seq, "error", cause)
	return c.p.letters.add(letter{At: time.Now().UTC(), Function: c.Name, Shard: shard, Error: cause.Error(), Record: r.event})
}

// invoke calls the function. failed is the index of the first record that it
// reports, -1 when the failure names none.
func (c *consumer) invoke(ctx context.Context, batch []record) (failed int, cause error) {
	event := events.DynamoDBEvent{Records: make([]events.DynamoDBEventRecord, len(batch))}
	for i, r := range batch {
		event.Records[i] = r.event
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return -1, fmt.Errorf("stream event: %w", err)
	}
	// What is under way ends in its own time, also while the poller stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout)
	defer cancel()
	answer, err := c.call(ctx, payload)
	c.p.delivered.Add(1)
	if err != nil {
		return -1, err
	}
	if !c.PartialFailures {
		return -1, nil
	}
	var response events.DynamoDBEventResponse
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &response); err != nil {
			return -1, fmt.Errorf("the function's batch response: %w", err)
		}
	}
	return firstFailed(batch, response.BatchItemFailures)
}

func (c *consumer) call(ctx context.Context, payload json.RawMessage) (answer json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the function panicked: %v", r)
		}
	}()
	return c.Invoke(ctx, payload)
}

// firstFailed finds the lowest reported sequence number in the batch. One
// that is not in it fails the whole batch, as with Lambda.
func firstFailed(batch []record, reported []events.DynamoDBBatchItemFailure) (int, error) {
	if len(reported) == 0 {
		return -1, nil
	}
	place := map[string]int{}
	for i, r := range batch {
		place[r.seq] = i
	}
	first := len(batch)
	for _, f := range reported {
		i, ok := place[f.ItemIdentifier]
		if !ok {
			return -1, fmt.Errorf("the function reports %q, which is no sequence number of its batch", f.ItemIdentifier)
		}
		first = min(first, i)
	}
	return first, fmt.Errorf("the function reports record %s as failed", batch[first].seq)
}

package poller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"svc/pkg/base/panics"
	"svc/pkg/data/stream"
)

// consumer reads the table's stream and delivers it to one function.
type consumer struct {
	Consumer
	p          *Poller
	arn        string // ARN of the stream
	checkpoint *checkpoint

	shards    []types.Shard
	relist    bool              // a shard ended or is gone: list the shards again
	iterators map[string]string // by shard: where to read on

	wake   chan struct{}
	rested atomic.Int64 // Poller.generation at the start of the last round that read every shard to its end
	at     atomic.Int64 // Unix milliseconds up to which the stream is delivered

	delivered map[string]time.Time // by shard: everything written before this time is delivered

	mu  sync.Mutex
	err error
}

func newConsumer(p *Poller, c Consumer, arn string, from *checkpoint) *consumer {
	if c.BatchSize <= 0 {
		c.BatchSize = 100
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	return &consumer{Consumer: c, p: p, arn: arn, checkpoint: from, relist: true,
		iterators: map[string]string{}, delivered: map[string]time.Time{}, wake: make(chan struct{}, 1)}
}

// run reads and delivers in rounds until ctx ends. It pauses longer after rounds without records and after errors.
func (c *consumer) run(ctx context.Context) {
	for pause := time.Millisecond; ; {
		generation, began := c.p.generation.Load(), c.p.o.Now()
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
			c.at.Store(max(c.at.Load(), began.UnixMilli()))
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

// report stores the last error for Drain, and logs it if it is new.
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

// round reads every open shard once, parents before children. ended reports whether it read each shard to its end.
func (c *consumer) round(ctx context.Context) (moved, ended bool, err error) {
	defer panics.Catch(&err)
	if c.relist || !c.open() {
		if err := c.list(ctx); err != nil {
			return false, false, err
		}
	}
	ended = true
	for _, s := range c.shards {
		id := aws.ToString(s.ShardId)
		if c.checkpoint.Shards[id].Done || !c.parentDone(s) {
			continue
		}
		more, atEnd, err := c.read(ctx, id)
		moved, ended = moved || more, ended && atEnd
		if err != nil {
			return moved, false, err
		}
	}
	return moved, ended && !c.relist, nil // after relist, a shard that ended may have children that are not read yet
}

// open reports whether one of the listed shards is not read to its end.
func (c *consumer) open() bool {
	for _, s := range c.shards {
		if !c.checkpoint.Shards[aws.ToString(s.ShardId)].Done {
			return true
		}
	}
	return false
}

// parentDone reports whether the parent of a shard is read to its end. Its child has the later records.
func (c *consumer) parentDone(s types.Shard) bool {
	parent := aws.ToString(s.ParentShardId)
	for _, other := range c.shards {
		if parent != "" && aws.ToString(other.ShardId) == parent {
			return c.checkpoint.Shards[parent].Done
		}
	}
	return true // no parent, or a parent trimmed long ago
}

// list finds the stream's shards and drops those that no longer exist.
func (c *consumer) list(ctx context.Context) error {
	var shards []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(c.arn)}
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
	for id := range c.checkpoint.Shards {
		if !there[id] {
			delete(c.checkpoint.Shards, id)
		}
	}
	c.shards, c.relist = shards, false
	return nil
}

// read reads and delivers a shard until no record is left, but at most 64 pages. moved reports whether it had records.
func (c *consumer) read(ctx context.Context, shard string) (moved, ended bool, err error) {
	for range 64 {
		began := c.p.o.Now()
		it, err := c.iterator(ctx, shard)
		if err != nil {
			return moved, false, err
		}
		records, next, err := c.page(ctx, it)
		if err != nil {
			delete(c.iterators, shard) // the iterator is no longer valid: the next round requests a new one
			return moved, false, fmt.Errorf("reading the stream: %w", err)
		}
		if err := c.take(ctx, shard, records); err != nil {
			delete(c.iterators, shard)
			return moved, false, err
		}
		moved = moved || len(records) > 0
		c.note(shard, deliveredUntil(began, records))
		if next == "" {
			delete(c.iterators, shard)
			c.relist = true
			return moved, true, c.checkpoint.set(shard, position{After: c.checkpoint.Shards[shard].After, Done: true})
		}
		c.iterators[shard] = next
		if len(records) == 0 {
			return moved, true, nil
		}
	}
	return moved, false, nil
}

// iterator returns where to read on: after the checkpoint or, if there is none or it was trimmed, at the oldest record.
func (c *consumer) iterator(ctx context.Context, shard string) (string, error) {
	if it := c.iterators[shard]; it != "" {
		return it, nil
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: aws.String(c.arn), ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if after := c.checkpoint.Shards[shard].After; after != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, aws.String(after)
	}
	out, err := c.p.streams.GetShardIterator(ctx, in)
	var trimmed *types.TrimmedDataAccessException
	var api smithy.APIError
	if in.SequenceNumber != nil && (errors.As(err, &trimmed) || errors.As(err,
		&api) && api.ErrorCode() == "ValidationException") {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeTrimHorizon, nil
		out, err = c.p.streams.GetShardIterator(ctx, in)
	}
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		c.relist = true
	}
	if err != nil {
		return "", fmt.Errorf("finding the position in the stream: %w", err)
	}
	c.iterators[shard] = aws.ToString(out.ShardIterator)
	return c.iterators[shard], nil
}

// take delivers records in batches and advances the checkpoint. A record that cannot be read becomes a dead letter.
func (c *consumer) take(ctx context.Context, shard string, page []received) error {
	after := c.checkpoint.Shards[shard].After
	records := slices.DeleteFunc(page, func(r received) bool {
		seq := r.Change.SequenceNumber
		return seq != "" && after != "" && !stream.Later(seq, after)
	})
	for len(records) > 0 {
		n := min(c.BatchSize, len(records))
		var passed []events.DynamoDBEventRecord
		for _, r := range records[:n] {
			passes := r.fault == nil
			if passes {
				passes, r.fault = c.passes(r.DynamoDBEventRecord)
			}
			if r.fault != nil {
				if err := c.giveUp(shard, []events.DynamoDBEventRecord{r.DynamoDBEventRecord}, r.fault); err != nil {
					return err
				}
			}
			if passes {
				passed = append(passed, r.DynamoDBEventRecord)
			}
		}
		if err := c.deliver(ctx, shard, passed); err != nil {
			return err
		}
		for _, r := range records[:n] { // a last record without a number comes again after a restart
			after = cmp.Or(r.Change.SequenceNumber, after)
		}
		if err := c.checkpoint.set(shard, position{After: after}); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// passes reports whether a filter matches the record, or the consumer has no filters.
func (c *consumer) passes(r events.DynamoDBEventRecord) (bool, error) {
	if len(c.Filters) == 0 {
		return true, nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("stream record %s: %w", r.Change.SequenceNumber, err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return false, fmt.Errorf("stream record %s: %w", r.Change.SequenceNumber, err)
	}
	return slices.ContainsFunc(c.Filters, func(f Filter) bool { return f.Match(tree) }), nil
}

// deliver delivers a batch until each record has succeeded or is given up. After a failure it retries from the record
// that the function names. If it names none, it retries the whole call, or with Bisect halves of it.
func (c *consumer) deliver(ctx context.Context, shard string, batch []events.DynamoDBEventRecord) error {
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
		switch {
		case failed < 0 && size > 1 && c.Bisect:
			size, failures = (size+1)/2, max(failures-1, 1) // as in Lambda, a split does not count as an attempt
		case c.exhausted(failures, batch[0]):
			lost := 1
			if failed < 0 {
				lost = size
			}
			if err := c.giveUp(shard, batch[:lost], cause); err != nil {
				return err
			}
			batch, size, failures = batch[lost:], len(batch), 0
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

// exhausted reports whether a record that failed has no attempt left (Retries), or is too old (MaxAge).
func (c *consumer) exhausted(failures int, r events.DynamoDBEventRecord) bool {
	age := c.p.o.Now().Sub(r.Change.ApproximateCreationDateTime.Time)
	return c.Retries >= 0 && failures > c.Retries || c.MaxAge > 0 && age > c.MaxAge
}

// giveUp logs the records that the function failed on, and stores them as dead letters.
func (c *consumer) giveUp(shard string, lost []events.DynamoDBEventRecord, cause error) error {
	for _, r := range lost {
		key, _ := stream.KeyOf(r)
		c.p.o.Log.Error("stream record given up", "function", c.Name, "event", r.EventID, "partition", key.PK,
			"item", key.SK, "sequenceNumber", r.Change.SequenceNumber, "error", cause)
		if err := c.p.letters.add(DeadLetter{At: time.Now().UTC(), Function: c.Name, Shard: shard, Error: cause.Error(),
			Record: r}); err != nil {
			return err
		}
	}
	return nil
}

// invoke calls the function. failed is the index of the first record that it reports as failed, or -1.
func (c *consumer) invoke(ctx context.Context, batch []events.DynamoDBEventRecord) (failed int, cause error) {
	payload, err := json.Marshal(events.DynamoDBEvent{Records: batch})
	if err != nil {
		return -1, fmt.Errorf("stream event: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout) // a call ends even if the poller stops
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
	defer panics.Catch(&err)
	return c.Invoke(ctx, payload)
}

// firstFailed returns the index of the first reported record. As in Lambda, an unknown number fails the whole batch.
func firstFailed(batch []events.DynamoDBEventRecord, reported []events.DynamoDBBatchItemFailure) (int, error) {
	if len(reported) == 0 {
		return -1, nil
	}
	place := map[string]int{}
	for i, r := range batch {
		place[r.Change.SequenceNumber] = i
	}
	first := len(batch)
	for _, f := range reported {
		i, ok := place[f.ItemIdentifier]
		if !ok {
			return -1, fmt.Errorf("the function reports %q, which is not a sequence number of its batch", f.ItemIdentifier)
		}
		first = min(first, i)
	}
	return first, fmt.Errorf("the function reports record %s as failed", batch[first].Change.SequenceNumber)
}

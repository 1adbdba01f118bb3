package streamtest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/testkit"
	"svc/pkg/local/poller"
	"svc/pkg/local/schema"
)

// Record is one record of a stream.
type Record = events.DynamoDBEventRecord

// Table creates a table with a stream and returns its name, for testkit.Open.
func Table(t testing.TB) string {
	t.Helper()
	return testkit.Name(t, schema.Options{})
}

// Records reads the table's stream from its beginning.
func Records(t testing.TB, name string) []Record {
	t.Helper()
	return RecordsAt(t, testkit.Endpoint(t), name)
}

// RecordsAt is Records of a table of any engine.
func RecordsAt(t testing.TB, endpoint, name string) []Record {
	t.Helper()
	arn, err := schema.EnableStream(t.Context(), endpoint, name)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var out []Record
	p := poller.New(poller.Options{Endpoint: endpoint})
	err = p.Start(arn, []poller.Consumer{{Name: "records", BatchSize: 1000, Invoke: func(_ context.Context,
		payload json.RawMessage) (json.RawMessage, error) {
		var event events.DynamoDBEvent
		err := json.Unmarshal(payload, &event)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, event.Records...)
		return nil, err
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := p.Drain(ctx); err != nil {
		t.Fatalf("reading the stream: %v", err)
	}
	return out
}

// Abuse returns batches of the records in an order that a stream allows. It spreads the
// partitions over shards, whose batches interleave in any order. A batch has 1 to largest
// records. Some batches are repeated at once, and some once more at the very end. Within
// a shard, records keep their order until they repeat.
func Abuse(rnd *rand.Rand, records []Record, shards, largest int) [][]Record {
	spread := make([][]Record, shards)
	of := map[string]int{}
	for _, r := range records {
		key := r.Change.Keys["pk"].String()
		if _, ok := of[key]; !ok {
			of[key] = rnd.IntN(shards)
		}
		spread[of[key]] = append(spread[of[key]], r)
	}
	var out, again [][]Record
	for {
		alive := slices.DeleteFunc(slices.Clone(spread), func(s []Record) bool { return len(s) == 0 })
		if len(alive) == 0 {
			break
		}
		i := rnd.IntN(shards)
		for len(spread[i]) == 0 {
			i = (i + 1) % shards
		}
		n := 1 + rnd.IntN(min(largest, len(spread[i])))
		batch := spread[i][:n]
		spread[i] = spread[i][n:]
		out = append(out, batch)
		if rnd.IntN(3) == 0 {
			out = append(out, batch)
		}
		if rnd.IntN(3) == 0 {
			again = append(again, batch)
		}
	}
	rnd.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	return append(out, again...)
}

// Function is a function on the stream.
type Function func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// Deliver delivers a batch to the function as Lambda does: after a failure, it delivers
// again from the earliest failed record. under returns the context of each attempt,
// counted from 0; nil means the test's context. Deliver fails the test unless the batch
// succeeds within tries attempts.
func Deliver(t testing.TB, f Function, batch []Record, tries int, under func(attempt int) context.Context) {
	t.Helper()
	for attempt := range tries {
		ctx := t.Context()
		if under != nil {
			ctx = under(attempt)
		}
		answer, err := f(ctx, events.DynamoDBEvent{Records: batch})
		if err != nil {
			continue
		}
		if len(answer.BatchItemFailures) == 0 {
			return
		}
		first := len(batch)
		for _, failure := range answer.BatchItemFailures {
			i := slices.IndexFunc(batch, func(r Record) bool { return r.Change.SequenceNumber == failure.ItemIdentifier })
			if i < 0 {
				t.Fatalf("the function names a record %q that is not in the batch", failure.ItemIdentifier)
			}
			first = min(first, i)
		}
		batch = batch[first:]
	}
	t.Fatalf("%d records are not done after %d attempts", len(batch), tries)
}

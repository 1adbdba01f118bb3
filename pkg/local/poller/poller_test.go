package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/local/poller"
	"svc/pkg/local/schema"
)

// fixture is a table with its stream, and a folder for the poller.
type fixture struct {
	t        *testing.T
	endpoint string
	table    string
	arn, dir string
	db       *dynamodb.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	url, name := testkit.Endpoint(t), testkit.Fresh()
	made, err := schema.EnsureTable(t.Context(), url, svc.Template, schema.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	db, _ := schema.Clients(url)
	return &fixture{t: t, endpoint: url, table: name, arn: made.StreamARN, dir: t.TempDir(), db: db}
}

func (p *fixture) poll(consumers ...poller.Consumer) *poller.Poller {
	p.t.Helper()
	running := poller.New(poller.Options{
		Endpoint: p.endpoint, Dir: p.dir, Backoff: func(int) time.Duration { return time.Millisecond },
	})
	if err := running.Start(p.arn, consumers); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(running.Stop)
	return running
}

// put writes items with the ids, all with the same type.
func (p *fixture) put(kind string, ids ...string) {
	p.t.Helper()
	for _, id := range ids {
		_, err := p.db.PutItem(p.t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(p.table),
			Item: map[string]types.AttributeValue{
				"pk":   &types.AttributeValueMemberS{Value: "T#t#" + id},
				"sk":   &types.AttributeValueMemberS{Value: id},
				"type": &types.AttributeValueMemberS{Value: kind},
			},
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func drain(t *testing.T, p *poller.Poller) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := p.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}

// recorder is a function that records the ids that it receives, batch by batch.
type recorder struct {
	mu      sync.Mutex
	batches [][]string
	answer  func(ids, sequence []string) (json.RawMessage, error)
}

func (r *recorder) invoke(_ context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	var ids, sequence []string
	for _, rec := range event.Records {
		ids = append(ids, rec.Change.Keys["sk"].String())
		sequence = append(sequence, rec.Change.SequenceNumber)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, ids)
	if r.answer == nil {
		return nil, nil
	}
	return r.answer(ids, sequence)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.batches...)
}

func names(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s%03d", prefix, i))
	}
	return ids
}

func failures(sequence ...string) json.RawMessage {
	var out events.DynamoDBEventResponse
	for _, s := range sequence {
		out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: s})
	}
	text, _ := json.Marshal(out)
	return text
}

func TestPollerDeliversInOrderAndBatches(t *testing.T) {
	p := newFixture(t)
	before, after := names("a", 25), names("b", 12)
	p.put("trip", before...) // written before the poller ran
	var trips, wallets recorder
	onlyWallets, err := poller.ParseFilter(`{"dynamodb":{"NewImage":{"type":{"S":["wallet"]}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	running := p.poll(
		poller.Consumer{Name: "All", Invoke: trips.invoke, BatchSize: 10},
		poller.Consumer{Name: "Wallets", Invoke: wallets.invoke, Filters: []poller.Filter{onlyWallets}},
	)
	drain(t, running)
	p.put("wallet", after...)
	drain(t, running)
	if diff := cmp.Diff(slices.Concat(before, after), trips.all()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for _, b := range trips.batches {
		if len(b) > 10 {
			t.Errorf("a batch of %d", len(b))
		}
	}
	if diff := cmp.Diff(after, wallets.all()); diff != "" {
		t.Errorf("filtered records (-want +got):\n%s", diff)
	}
}

func TestPollerGoesOnAfterRestart(t *testing.T) {
	p := newFixture(t)
	first, second := names("a", 7), names("b", 5)
	var one, two, three recorder
	running := p.poll(poller.Consumer{Name: "F", Invoke: one.invoke})
	p.put("trip", first...)
	drain(t, running)
	running.Stop()
	if err := running.Drain(t.Context()); !errors.Is(err, poller.ErrStopped) {
		t.Errorf("Drain of a stopped poller: %v", err)
	}
	p.put("trip", second...)
	running = p.poll(poller.Consumer{Name: "F", Invoke: two.invoke})
	drain(t, running)
	running.Stop()
	if diff := cmp.Diff(second, two.all()); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
	// A torn checkpoint is ignored: everything is delivered again.
	if err := os.WriteFile(filepath.Join(p.dir, "streams", "F.json"), []byte(`{"stream":`), 0o600); err != nil {
		t.Fatal(err)
	}
	drain(t, p.poll(poller.Consumer{Name: "F", Invoke: three.invoke}))
	if diff := cmp.Diff(slices.Concat(first, second), three.all()); diff != "" {
		t.Errorf("without checkpoint (-want +got):\n%s", diff)
	}
}

// errBroken is the error of a consumer that fails.
var errBroken = errors.New("broken")

// poisoned returns the index of the failing record in a batch, negative if
// there is none.
func poisoned(ids []string) int { return slices.Index(ids, "a004") }

// failingConsumers lists the ways in which a consumer can fail.
var failingConsumers = []struct {
	name    string
	partial bool
	answer  func(tries int, ids, sequence []string) (json.RawMessage, error)
	// good lists the records that succeed, lost the dead letters.
	lost []string
}{
	{name: "an error that passes", answer: func(tries int, _, _ []string) (json.RawMessage, error) {
		if tries < 3 {
			return nil, errBroken
		}
		return nil, nil
	}},
	{name: "a panic that passes", answer: func(tries int, _, _ []string) (json.RawMessage, error) {
		if tries < 2 {
			panic("oh")
		}
		return nil, nil
	}},
	{name: "a record that passes later", partial: true, answer: func(tries int, ids, sequence []string) (json.RawMessage,
		error) {
		if i := poisoned(ids); i >= 0 && tries < 3 {
			return failures(sequence[i]), nil
		}
		return nil, nil
	}},
	{name: "a record that never passes", partial: true, lost: []string{"a004"}, answer: func(_ int, ids,
		sequence []string) (json.RawMessage, error) {
		if i := poisoned(ids); i >= 0 {
			return failures(sequence[len(sequence)-1], sequence[i]), nil
		}
		return failures(), nil
	}},
	{name: "a batch that fails for one record", lost: []string{"a004"}, answer: func(_ int, ids,
		_ []string) (json.RawMessage, error) {
		if poisoned(ids) >= 0 {
			return nil, errBroken
		}
		return nil, nil
	}},
	{name: "an identifier that is none", partial: true, lost: []string{"a004"}, answer: func(_ int, ids,
		_ []string) (json.RawMessage, error) {
		if poisoned(ids) >= 0 {
			return failures("nonsense"), nil
		}
		return json.RawMessage(`null`), nil
	}},
	{name: "an answer that is no JSON", partial: true, lost: []string{"a004"}, answer: func(_ int, ids,
		_ []string) (json.RawMessage, error) {
		if poisoned(ids) >= 0 {
			return json.RawMessage(`{`), nil
		}
		return nil, nil
	}},
}

func TestPollerFailures(t *testing.T) {
	p := newFixture(t)
	ids := names("a", 9)
	p.put("trip", ids...)
	for _, tc := range failingConsumers {
		t.Run(tc.name, func(t *testing.T) {
			p := &fixture{t: t, endpoint: p.endpoint, table: p.table, arn: p.arn, dir: t.TempDir(), db: p.db}
			var done []string
			tries := 0
			var r recorder
			r.answer = func(ids, sequence []string) (json.RawMessage, error) {
				tries++
				out, err := tc.answer(tries, ids, sequence)
				if err == nil && !strings.Contains(string(out), "itemIdentifier") && string(out) != "{" {
					done = append(done, ids...)
				}
				return out, err
			}
			running := p.poll(poller.Consumer{Name: "F", Invoke: r.invoke, PartialFailures: tc.partial, Bisect: true,
				Retries: 3})
			drain(t, running)
			running.Stop()
			seen := r.all()
			for _, id := range ids {
				if !slices.Contains(seen, id) {
					t.Errorf("%s was never delivered", id)
				}
				if slices.Contains(tc.lost, id) && slices.Contains(done, id) {
					t.Errorf("%s was done", id)
				}
			}
			if running.DeadLetters() != len(tc.lost) {
				t.Errorf("%d dead letters, want %d", running.DeadLetters(), len(tc.lost))
			}
			text, err := os.ReadFile(filepath.Join(p.dir, "dead-letters.jsonl"))
			if (err == nil) != (len(tc.lost) > 0) {
				t.Errorf("dead letters: %v", err)
			}
			for _, id := range tc.lost {
				if !strings.Contains(string(text), `"`+id+`"`) {
					t.Errorf("dead letters lack %s: %s", id, text)
				}
			}
		})
	}
}

// Only the failed record and the ones after it are delivered again.
func TestPollerRetriesFromTheLowestFailed(t *testing.T) {
	p := newFixture(t)
	p.put("trip", names("a", 6)...)
	var r recorder
	first := true
	r.answer = func(_, sequence []string) (json.RawMessage, error) {
		if first {
			first = false
			return failures(sequence[4], sequence[2]), nil
		}
		return nil, nil
	}
	drain(t, p.poll(poller.Consumer{Name: "F", Invoke: r.invoke, PartialFailures: true, Retries: -1}))
	want := [][]string{names("a", 6), names("a", 6)[2:]}
	if diff := cmp.Diff(want, r.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// Drain also waits for the delivery of records that a function writes. Writes
// over the wired transport wake the poller.
func TestDrainWaitsForWhatFunctionsWrite(t *testing.T) {
	p := newFixture(t)
	running := poller.New(poller.Options{Endpoint: p.endpoint})
	p.db = dynamodb.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: p.db.Options().Credentials, BaseEndpoint: aws.String(p.endpoint),
		HTTPClient: &http.Client{Transport: running.Transport(http.DefaultTransport)},
	})
	var r recorder
	r.answer = func(ids, _ []string) (json.RawMessage, error) {
		for _, id := range ids {
			if len(id) < 4 {
				p.put("trip", id+"x")
			}
		}
		return nil, nil
	}
	if err := running.Start(p.arn, []poller.Consumer{{Name: "F", Invoke: r.invoke}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	p.put("trip", "a")
	drain(t, running)
	if diff := cmp.Diff([]string{"a", "ax", "axx", "axxx"}, r.all()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestDrainNamesTheConsumerThatIsBehind(t *testing.T) {
	p := newFixture(t)
	p.put("trip", "a")
	release := make(chan struct{})
	running := p.poll(poller.Consumer{Name: "Slow", Invoke: func(context.Context, json.RawMessage) (json.RawMessage,
		error) {
		<-release
		return nil, nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := running.Drain(ctx)
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Slow") {
		t.Errorf("Drain: %v", err)
	}
}

// The event has the form that aws-lambda-go reads, with every kind of value.
func TestPollerEventForm(t *testing.T) {
	p := newFixture(t)
	item := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "T#t#x"}, "sk": &types.AttributeValueMemberS{Value: "x"},
		"n": &types.AttributeValueMemberN{Value: "1.50"}, "b": &types.AttributeValueMemberB{Value: []byte{1, 2}},
		"yes": &types.AttributeValueMemberBOOL{Value: true}, "none": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"q"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"7"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{3}}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "in"}}}}},
	}
	if _, err := p.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(p.table),
		Item: item}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(p.table),
		Key: map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]}}); err != nil {
		t.Fatal(err)
	}
	var got []events.DynamoDBEventRecord
	drain(t, p.poll(poller.Consumer{Name: "F", Invoke: func(_ context.Context, payload json.RawMessage) (json.RawMessage,
		error) {
		var event events.DynamoDBEvent
		err := json.Unmarshal(payload, &event)
		got = append(got, event.Records...)
		return nil, err
	}}))
	if len(got) != 2 {
		t.Fatalf("%d records", len(got))
	}
	in, out := got[0], got[1]
	if in.EventName != "INSERT" || out.EventName != "REMOVE" || in.EventSource != "aws:dynamodb" ||
		in.EventSourceArn != p.arn {
		t.Errorf("events: %+v, %+v", in, out)
	}
	image := in.Change.NewImage
	if n := image["n"].Number(); n != "1.5" && n != "1.50" {
		t.Errorf("n = %s", n)
	}
	if !image["yes"].Boolean() || !image["none"].IsNull() || image["m"].Map()["l"].List()[0].String() != "in" ||
		image["ss"].StringSet()[0] != "q" || image["ns"].NumberSet()[0] != "7" || image["bs"].BinarySet()[0][0] != 3 ||
		image["b"].Binary()[1] != 2 {
		t.Errorf("new image: %v", image)
	}
	if len(out.Change.NewImage) != 0 || out.Change.OldImage["sk"].String() != "x" ||
		out.Change.Keys["pk"].String() != "T#t#x" {
		t.Errorf("removal: %+v", out.Change)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"svc/internal/test/testkit"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/local/poller"
)

// A replay reads the current items. It drops the letters of items that succeed
// and of items that no longer exist. A letter that fails again stays with its
// new reason. Another function's letters are unchanged. drop drops one letter.
func TestDeadLettersOfAFolder(t *testing.T) {
	t.Parallel()
	w := start(t)
	var kept []byte
	all := broken(t)
	w.breakTrip(all[1])
	w.letters("settlement")
	w.letters("projection") // both have read the broken trip, and add no letter later
	for i, r := range all {
		line, err := json.Marshal(poller.DeadLetter{At: time.Now().UTC(), Function: "SettlementFunction", Shard: "shard-1",
			Error: "tried", Record: r})
		if err != nil {
			t.Fatal(err)
		}
		kept = append(append(kept, line...), '\n')
		if i == 0 {
			kept = append(append(kept, []byte(strings.Replace(string(line), "Settlement", "Projection", 1))...), '\n')
		}
	}
	file := filepath.Join(w.data, "dead-letters.jsonl")
	if err := os.WriteFile(file, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(w.ok("dlq", "list", "settlement", "--wide"), "shard-1"); got != 3 {
		t.Errorf("%d dead letters are listed, want 3", got)
	}
	out, errs, code := w.run("dlq", "replay", "settlement", "--json")
	if code != 1 || !strings.Contains(out, `"done": 2`) || !strings.Contains(out, `"failed": 1`) || !strings.Contains(errs,
		"failed again") {
		t.Errorf("code %d: %s %s", code, out, errs)
	}
	got := w.ok("dlq", "list", "settlement", "--wide")
	if strings.Count(got, "shard-1") != 1 || strings.Contains(got, "tried") {
		t.Errorf("what stays: %s", got)
	}
	w.ok("dlq", "replay", "projection")
	if got := w.ok("dlq", "list", "projection"); strings.Contains(got, "shard-1") {
		t.Errorf("what stays of projection: %s", got)
	}
	if _, errs, code := w.run("dlq", "drop", "settlement", "123"); code != 1 || !strings.Contains(errs, "123") {
		t.Errorf("dropping none: %d %s", code, errs)
	}
	w.ok("dlq", "drop", "settlement", all[1].Change.SequenceNumber)
	if got := w.ok("dlq", "list", "settlement", "--wide"); strings.Contains(got, "shard-1") {
		t.Errorf("what stays of what was dropped: %s", got)
	}
	for _, args := range [][]string{{"list", "keys"}, {"drop", "settlement"}, {"drop", "settlement", "1", "--all"}} {
		if _, errs, code := w.run(append([]string{"dlq"}, args...)...); code != 2 {
			t.Errorf("dlq %v: code %d: %s", args, code, errs)
		}
	}
}

// letters waits until the function has dead letters in the folder, and returns
// them.
func (w *world) letters(word string) (all []letter) {
	w.Helper()
	for end := time.Now().Add(5 * time.Minute); len(all) == 0 && time.Now().Before(end); {
		testkit.Must(w, json.Unmarshal([]byte(w.ok("dlq", "list", word, "--json")), &all))
		testkit.Sleep(w.Context(), 10*time.Millisecond)
	}
	return all
}

// breakTrip replaces a record's item with a completed trip that cannot be
// decoded, and so cannot be settled or counted.
func (w *world) breakTrip(r events.DynamoDBEventRecord) {
	w.Helper()
	tn, key := w.itemOf(r)
	testkit.Must(w, tn.Load(w.Context(), table.Item{Key: key, Type: "trip", Attrs: map[string]any{"status": "COMPLETED"}}))
}

// removeTrip removes a record's item.
func (w *world) removeTrip(r events.DynamoDBEventRecord) {
	w.Helper()
	tn, key := w.itemOf(r)
	tx := tn.Write()
	tx.Delete(key)
	testkit.Must(w, tx.Commit(w.Context()))
}

func (w *world) itemOf(r events.DynamoDBEventRecord) (table.Tenant, table.Key) {
	w.Helper()
	db := w.opened()
	key, ok := stream.KeyOf(r)
	tn, of := stream.TenantOf(db, key)
	if !ok || !of {
		w.Fatalf("the record has the key %v", key)
	}
	return tn, key
}

// broken returns the recorded records of trips that cannot be settled.
func broken(t *testing.T) []events.DynamoDBEventRecord {
	t.Helper()
	text, err := os.ReadFile("../../events/stream/settlement-broken.json")
	if err != nil {
		t.Fatal(err)
	}
	var e events.DynamoDBEvent
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e.Records
}

// A message names a range of the stream, whose items are processed again. If
// the stream no longer has the range, the table is processed instead. A
// foreign message does not stop the replay, and stays until it is dropped. A
// replay soon after says that messages are invisible. The audit log records the
// drop.
func TestDeadLettersOfAQueue(t *testing.T) {
	w := start(t).deployed()
	stream, shard, first, last := ends(t)
	messages := map[string]string{"good": body(stream, shard, first, last), "late": body(stream, "shardId-gone", first,
		last), "foreign": "hello"}
	received, hidden := map[string]int{}, map[string]bool{}
	server := httptest.NewServer(testQueue{t, messages, received, hidden})
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	t.Setenv("SETTLEMENT_DEAD_LETTERS", server.URL+"/123456789012/dead")
	if got := w.ok("dlq", "list", "settlement", "--wide"); !strings.Contains(got, first) || !strings.Contains(got,
		"RetryAttemptsExhausted") {
		t.Errorf("list: %s", got)
	}
	clear(hidden)
	clear(received)
	out, errs, code := w.run("dlq", "replay", "settlement", "--json")
	if code != 1 || !strings.Contains(out, `"done": 2`) || !strings.Contains(out, `"failed": 1`) || strings.Count(errs,
		"foreign") != 1 || strings.Contains(errs, "Invisible") {
		t.Errorf("code %d: %s %s", code, out, errs)
	}
	clear(received)
	if out, errs, code := w.run("dlq", "replay", "settlement"); code != 0 || !strings.Contains(errs,
		"Invisible messages, which were not replayed: about 1.") {
		t.Errorf("a replay soon after: code %d: %s %s", code, out, errs)
	}
	if _, still := messages["foreign"]; !still || len(messages) != 1 {
		t.Errorf("what stays: %v", messages)
	}
	clear(hidden)
	w.ok("dlq", "drop", "settlement", "--all")
	if len(messages) > 0 {
		t.Errorf("what stays of what was dropped: %v", messages)
	}
	if got := w.ok("audit", "metro"); !strings.Contains(got, "dlq.drop") {
		t.Errorf("audit: %s", got)
	}
}

// A message names an object in S3 that has the records. A replay works although
// the stream no longer has them, and removes object and message. A message whose
// object has expired, or that names no valid bucket, does not stop the replay.
func TestDeadLettersOfABucket(t *testing.T) {
	w := start(t).deployed()
	payload, err := json.Marshal(map[string]any{"Records": broken(t)[:1]})
	if err != nil {
		t.Fatal(err)
	}
	letter := body("arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s", "shardId-gone", "111", "111")
	objects := map[string]string{ // Lambda may write the event as a text or as an object
		"/lost/aws/lambda/m/shardId-gone/a letter": strings.Replace(letter, "{", fmt.Sprintf(`{"payload": %q, `, payload), 1),
		"/lost/aws/lambda/m/shardId-gone/b":        strings.Replace(letter, "{", fmt.Sprintf(`{"payload": %s, `, payload), 1)}
	messages := map[string]string{"good": created("lost", "aws/lambda/m/shardId-gone/a letter"),
		"good too": created("lost", "aws/lambda/m/shardId-gone/b"),
		"expired":  created("lost", "aws/lambda/m/none"), "odd": created("a.example/x", "k")}
	var removed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
			t.Errorf("%s %s is not signed", r.Method, r.URL)
		}
		switch r.Method {
		case http.MethodGet:
			if objects[r.URL.Path] == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = io.WriteString(w, objects[r.URL.Path])
		case http.MethodDelete:
			delete(objects, r.URL.Path)
			removed = append(removed, r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
		default:
			testQueue{T: t, messages: messages}.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	t.Setenv("SETTLEMENT_DEAD_LETTERS", server.URL+"/123456789012/dead")
	if got := w.ok("dlq", "list", "settlement", "--wide"); !strings.Contains(got, "shardId-gone") ||
		!strings.Contains(got, "expired in S3") || !strings.Contains(got, "not valid") {
		t.Errorf("list: %s", got)
	}
	out, errs, code := w.run("dlq", "replay", "settlement", "--json")
	if code != 1 || !strings.Contains(out, `"done": 3`) || !strings.Contains(errs, "odd") || len(objects) > 0 {
		t.Errorf("code %d: %s %s; objects %v", code, out, errs, objects)
	}
	if w.ok("dlq", "drop", "settlement", "odd"); len(messages) > 0 || len(removed) != 3 {
		t.Errorf("messages %v stay; removed are %v", messages, removed)
	}
}

// A queue that a variable names is not that of a local service: a replay would
// look for its items in the wrong table, find none, and drop its letters.
func TestDeadLettersOfAnotherService(t *testing.T) {
	w := start(t)
	messages := map[string]string{"good": body("arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s", "s", "1", "1")}
	server := httptest.NewServer(testQueue{T: t, messages: messages})
	defer server.Close()
	address := server.URL + "/123456789012/dead"
	for name, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL_SQS": server.URL, "SETTLEMENT_DEAD_LETTERS": address} {
		t.Setenv(name, value)
	}
	if got := w.ok("dlq", "list", "settlement", "--wide"); strings.Contains(got, "RetryAttemptsExhausted") {
		t.Errorf("a letter of the queue: %s", got)
	}
	w.ok("dlq", "replay", "settlement")
	w.ok("dlq", "drop", "settlement", "--all")
	if len(messages) != 1 {
		t.Error("a local command dropped a letter of a deployed service")
	}
	if _, errs, code := w.run("dlq", "replay", "settlement", "--queue", address); code != 2 ||
		!strings.Contains(errs, "TABLE_NAME") {
		t.Errorf("a queue that is named: code %d: %s", code, errs)
	}
}

// created returns EventBridge's event for a new object.
func created(bucket, key string) string {
	return fmt.Sprintf(`{"source": "aws.s3", "detail-type": "Object Created",
		"detail": {"bucket": {"name": %q}, "object": {"key": %q}}}`, bucket, key)
}

// testQueue is a queue with its messages, by receipt handle. If hidden is not
// nil, the queue hides each message after its delivery, but delivers it again in
// the third request.
type testQueue struct {
	*testing.T
	messages map[string]string
	received map[string]int
	hidden   map[string]bool
}

// delivers reports whether a request receives the message, and hides it.
func (q testQueue) delivers(receipt string) bool {
	if q.hidden == nil {
		return true
	}
	q.received[receipt]++
	again := q.hidden[receipt]
	q.hidden[receipt] = true
	return !again || q.received[receipt] == 3 // a queue may deliver a message twice
}

// ServeHTTP answers a request of SQS.
func (q testQueue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ ReceiptHandle string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		q.Error(err)
	}
	var out []map[string]string
	switch r.Header.Get("X-Amz-Target") {
	case "AmazonSQS.ReceiveMessage":
		for receipt, text := range q.messages {
			if q.delivers(receipt) {
				out = append(out, map[string]string{"MessageId": receipt, "ReceiptHandle": receipt, "Body": text})
			}
		}
	case "AmazonSQS.DeleteMessage":
		delete(q.messages, in.ReceiptHandle)
	}
	invisible := 0
	for receipt := range q.messages {
		if q.hidden[receipt] {
			invisible++
		}
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Messages": out,
		"Attributes": map[string]string{"ApproximateNumberOfMessagesNotVisible": fmt.Sprint(invisible)}})
}

func body(stream, shard, first, last string) string {
	return fmt.Sprintf(`{"requestContext": {"condition": "RetryAttemptsExhausted"}, "timestamp": "2026-06-01T12:00:00Z",
		"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": %q, "endSequenceNumber": %q,
		"batchSize": 3, "streamArn": %q}}`, shard, first, last, stream)
}

// ends returns the service's stream and shard, and the sequence numbers of the
// first and the third record.
func ends(t *testing.T) (stream, shard, first, last string) {
	t.Helper()
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodbstreams.NewFromConfig(cfg)
	list, err := client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})
	if err != nil || len(list.Streams) == 0 {
		t.Fatalf("streams: %v", err)
	}
	arn := list.Streams[0].StreamArn
	described, err := client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	id := described.StreamDescription.Shards[0].ShardId
	it, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator,
		Limit: aws.Int32(3)})
	if err != nil || len(page.Records) < 3 {
		t.Fatalf("records: %v", err)
	}
	return *arn, *id, *page.Records[0].Dynamodb.SequenceNumber, *page.Records[2].Dynamodb.SequenceNumber
}

// letter is a dead letter as --json prints it.
type letter struct{ First, Last, Reason string }

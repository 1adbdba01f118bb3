package main

import (
	"context"
	"encoding/json"
	"fmt"
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

	"svc/pkg/local"
)

// TestDeadLettersOfAFolder: what can be done is done and dropped, what fails
// again stays with its new reason, another function's is left alone.
func TestDeadLettersOfAFolder(t *testing.T) {
	w := start(t)
	var kept []byte
	for i, r := range records(t, "settlement-broken") {
		line, err := json.Marshal(local.DeadLetter{At: time.Now().UTC(), Function: "SettlementFunction", Shard: "shard-1", Error: "tried", Record: r})
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
	if got := strings.Count(w.ok("dlq", "list", "settlement"), "shard-1"); got != 3 {
		t.Errorf("%d dead letters are listed, want 3", got)
	}
	out, errs, code := w.run("dlq", "replay", "settlement", "--json")
	if code != 1 || !strings.Contains(out, `"done": 2`) || !strings.Contains(out, `"failed": 1`) || !strings.Contains(errs, "stay") {
		t.Errorf("code %d: %s %s", code, out, errs)
	}
	if got := w.ok("dlq", "list", "settlement"); strings.Count(got, "shard-1") != 1 || strings.Contains(got, "tried") {
		t.Errorf("what stays: %s", got)
	}
	w.ok("dlq", "replay", "projection")
	if got := w.ok("dlq", "list", "projection"); strings.Contains(got, "shard-1") {
		t.Errorf("what stays of projection: %s", got)
	}
	if _, errs, code := w.run("dlq", "list", "keys"); code != 2 {
		t.Errorf("code %d: %s", code, errs)
	}
}

func records(t *testing.T, name string) []events.DynamoDBEventRecord {
	t.Helper()
	text, err := os.ReadFile("../../events/stream/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var e events.DynamoDBEvent
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e.Records
}

// TestDeadLettersOfAQueue: a message names a range of the stream, whose
// records are read again; the message is deleted when they are dealt with, and
// stays where the stream no longer has them.
func TestDeadLettersOfAQueue(t *testing.T) {
	w := start(t)
	running, err := local.FindRunning(context.Background(), w.data)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": running.Endpoint} {
		t.Setenv(name, value)
	}
	stream, shard, first, last := ends(t)
	messages := map[string]string{"good": body(stream, shard, first, last), "late": body(stream, "shardId-gone", first, last)}
	hidden := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		var in struct{ ReceiptHandle string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		var out []map[string]string
		switch r.Header.Get("X-Amz-Target") {
		case "AmazonSQS.ReceiveMessage":
			for receipt, text := range messages {
				if !hidden[receipt] {
					out = append(out, map[string]string{"MessageId": receipt, "ReceiptHandle": receipt, "Body": text})
				}
				hidden[receipt] = true
			}
		case "AmazonSQS.DeleteMessage":
			delete(messages, in.ReceiptHandle)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Messages": out})
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	t.Setenv("SETTLEMENT_DEAD_LETTERS", server.URL+"/123456789012/dead")
	if got := w.ok("dlq", "list", "settlement"); !strings.Contains(got, first) || !strings.Contains(got, "RetryAttemptsExhausted") {
		t.Errorf("list: %s", got)
	}
	clear(hidden)
	out, errs, code := w.run("dlq", "replay", "settlement", "--json")
	if code != 1 || !strings.Contains(out, `"done": 1`) || !strings.Contains(errs, "svc rebuild") {
		t.Errorf("code %d: %s %s", code, out, errs)
	}
	if _, still := messages["good"]; still || len(messages) != 1 {
		t.Errorf("what stays: %v", messages)
	}
}

func body(stream, shard, first, last string) string {
	return fmt.Sprintf(`{"requestContext": {"condition": "RetryAttemptsExhausted"}, "timestamp": "2026-06-01T12:00:00Z",
		"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": %q, "endSequenceNumber": %q, "batchSize": 3, "streamArn": %q}}`, shard, first, last, stream)
}

// ends gives the first and the third record of the service's stream.
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
	it, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: it.ShardIterator, Limit: aws.Int32(3)})
	if err != nil || len(page.Records) < 3 {
		t.Fatalf("records: %v", err)
	}
	return *arn, *id, *page.Records[0].Dynamodb.SequenceNumber, *page.Records[2].Dynamodb.SequenceNumber
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// perBatch is the maximum number of messages in one request to SQS.
const perBatch = 10

// sqsEntry is one message of SendMessageBatch. Its fields have the API's names.
type sqsEntry struct {
	Id, MessageBody string
	DelaySeconds    int
	MessageGroupId  string `json:",omitempty"`
}

// sqsQueue returns a function that sends messages to the SQS queue with the URL.
// Consumers get a message after the delay. Errors call the queue by name. group returns
// the group of a message, "" for none. The requests are signed here (API version
// 2012-11-05, SendMessageBatch), because the SDK's client for SQS would add to the size
// of a function that needs one call of it.
func sqsQueue[M any](ctx context.Context, name, url string, load Loader, group func(M) string) (
	func(ctx context.Context, delay time.Duration, messages ...M) error, error) {
	cfg, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return func(ctx context.Context, delay time.Duration, messages ...M) error {
		for some := range slices.Chunk(messages, perBatch) {
			entries := make([]sqsEntry, len(some))
			for i, m := range some {
				text, err := json.Marshal(m)
				if err != nil {
					return err
				}
				entries[i] = sqsEntry{strconv.Itoa(i), string(text), int(delay / time.Second), group(m)}
			}
			body, err := json.Marshal(map[string]any{"QueueUrl": url, "Entries": entries})
			if err != nil {
				return err
			}
			res, err := AWSCall{Service: "sqs", Method: http.MethodPost, URL: Endpoint("sqs", "sqs", cfg) + "/", Body: body,
				Header: map[string]string{"Content-Type": "application/x-amz-json-1.0",
					"X-Amz-Target": "AmazonSQS.SendMessageBatch"}}.Do(ctx, cfg)
			if err != nil {
				return err
			}
			var answer struct{ Failed []struct{ Code string } }
			if err := json.Unmarshal(res.Body, &answer); err != nil || res.Status != http.StatusOK || len(answer.Failed) > 0 {
				return fmt.Errorf("queue of %s: SQS answers %d and refuses %d messages", name, res.Status, len(answer.Failed))
			}
		}
		return nil
	}, nil
}

package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc/cmd/svc/cli"
	"svc/pkg/app"
	"svc/pkg/base/panics"
	"svc/pkg/data/stream"
	"svc/pkg/local/schema"
)

// queue is a dead-letter queue in SQS, with the clients for it and for the stream.
type queue struct {
	url     string
	cfg     aws.Config
	sqs     *sqs.Client
	streams *dynamodbstreams.Client
}

// openQueue opens the queue at the URL. ok is false if the URL is "".
func openQueue(ctx context.Context, url string) (q queue, ok bool, err error) {
	if url == "" {
		return queue{}, false, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return queue{}, false, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return newQueue(url, cfg), true, nil
}

// newQueue returns the queue at the URL. It sends requests with schema.Buffered, because
// other clients may lose a response. After a lost response of ReceiveMessage, its
// messages would be invisible for the visibility timeout.
func newQueue(url string, cfg aws.Config) queue {
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = http.DefaultClient
	}
	cfg.HTTPClient = schema.Buffered{HTTPClient: cfg.HTTPClient}
	return queue{url, cfg, sqs.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)}
}

// message is a message of a dead-letter queue. body is the letter that Lambda or the
// function wrote when it gave up on records. The letter is the text of the message, or
// the content of an object in S3 that the message names.
type message struct {
	id      string
	body    app.DeadLetter // Payload is set only if the letter is in S3
	at      object         // object in S3 with the records; zero if the message names none, or no valid one
	expired bool           // the object in S3 is gone
	problem string         // why the letter cannot be read; "" if it was read
}

// records returns the records that the letter contains; ok is false if it contains
// none and only names a range of the stream.
func (m message) records() (records []events.DynamoDBEventRecord, ok bool) {
	var event events.DynamoDBEvent
	payload := m.body.Payload
	var text string
	if json.Unmarshal(payload, &text) == nil {
		payload = []byte(text)
	}
	if json.Unmarshal(payload, &event) != nil || len(event.Records) == 0 {
		return nil, false
	}
	return event.Records, true
}

// open decodes the text of a message. If the text names an object in S3, open reads the
// letter from that object.
func (q queue) open(ctx context.Context, id, text string) message {
	m := message{id: id}
	var created struct {
		Source string `json:"source"`
		Detail struct {
			Bucket struct {
				Name string `json:"name"`
			} `json:"bucket"`
			Object struct {
				Key string `json:"key"`
			} `json:"object"`
		} `json:"detail"`
	}
	letter := []byte(text)
	if json.Unmarshal(letter, &created) == nil && created.Source == "aws.s3" {
		m.at = object{created.Detail.Bucket.Name, created.Detail.Object.Key}
		var err error
		if letter, err = q.read(ctx, m.at); err != nil {
			m.problem = err.Error()
			if !inBucketName.MatchString(m.at.bucket) || m.at.key == "" {
				m.at = object{} // not a valid object, so drop must not remove it
			}
			return m
		}
		if m.expired = letter == nil; m.expired {
			return m
		}
	}
	if json.Unmarshal(letter, &m.body) != nil || m.body.Batch.Stream == "" {
		m.problem = "not a message about records of a stream"
	}
	return m
}

// summary returns the line of svc dlq list for the message.
func (m message) summary() shownLetter {
	if m.expired {
		return shownLetter{First: m.id, Reason: "its records have expired in S3"}
	}
	if m.problem != "" {
		return shownLetter{First: m.id, Reason: m.problem}
	}
	b := m.body.Batch
	return shownLetter{m.body.Timestamp, b.Shard, b.First, b.Last, b.Size, m.body.Context.Condition}
}

// name identifies a letter for people: by the range of its records, or by the
// message's id if the object with the records is gone.
func (m message) name() string {
	if m.expired {
		return m.id
	}
	return m.body.Batch.First + " to " + m.body.Batch.Last
}

// mostMessages is the number of messages after which a command receives no more.
const mostMessages = 10_000

// mostStale is the number of responses in a row without a new message after which a
// command stops reading. A long queue shows some messages again before it has shown all.
const mostStale = 10

// each calls do once for every visible message in the queue, for about
// mostMessages at most. It drops the letters for which do returns true. The other
// messages are invisible to all readers for the given number of seconds after they
// were received. The first error ends the reading.
func (q queue) each(ctx context.Context, seconds int32, do func(message) (drop bool, err error)) error {
	seen := map[string]bool{}
	for stale := 0; len(seen) < mostMessages && stale < mostStale; stale++ {
		out, err := q.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 10,
			VisibilityTimeout: seconds, WaitTimeSeconds: 1})
		if err != nil {
			return fmt.Errorf("dead-letter queue: %w", err)
		}
		if len(out.Messages) == 0 {
			return nil
		}
		for _, raw := range out.Messages {
			id := aws.ToString(raw.MessageId)
			if seen[id] { // the message stayed in the queue, and its visibility timeout ended
				continue
			}
			seen[id], stale = true, -1
			m := q.open(ctx, id, aws.ToString(raw.Body))
			drop, err := do(m)
			if err != nil {
				return err
			}
			if !drop {
				continue
			}
			if err := q.drop(ctx, m, raw.ReceiptHandle); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop removes a letter. It deletes the object in S3 first, so that no object stays
// without a message that names it.
func (q queue) drop(ctx context.Context, m message, receipt *string) error {
	if err := q.remove(ctx, m.at); err != nil {
		return err
	}
	if _, err := q.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: receipt}); err != nil {
		return fmt.Errorf("dead-letter queue: %w", err)
	}
	return nil
}

// recordsOf returns the stream records that the letter contains. If it contains none, it
// reads the letter's range of the stream. The error is stream.ErrTrimmed if the records
// are gone.
func (q queue) recordsOf(ctx context.Context, m message) ([]events.DynamoDBEventRecord, error) {
	if records, ok := m.records(); ok {
		return records, nil
	}
	if m.expired {
		return nil, stream.ErrTrimmed
	}
	b := m.body.Batch
	return stream.ReadRange(ctx, q.streams, stream.Range{Stream: b.Stream, Shard: b.Shard, First: b.First, Last: b.Last})
}

// replay calls again with the records of each message, and drops the message if that
// succeeds. If the records of a message are gone, it calls fromTable, which processes the
// whole table, once for all such messages.
func (q queue) replay(ctx context.Context, c *cli.CLI, again func(...events.DynamoDBEventRecord) error,
	fromTable func() error) (out replayed, err error) {
	fromTable = sync.OnceValue(fromTable)
	err = q.each(ctx, 300, func(m message) (bool, error) {
		if m.problem != "" {
			out.Failed++
			fmt.Fprintf(c.Err, "%s: %s\n", m.id, cli.Printable(m.problem))
			return false, nil
		}
		records, err := q.recordsOf(ctx, m)
		if errors.Is(err, stream.ErrTrimmed) {
			err = fromTable()
		} else if err == nil {
			err = panics.Try(func() error { return again(records...) })
		}
		if err != nil {
			out.Failed++
			fmt.Fprintf(c.Err, "%s\n", cli.Printable(fmt.Sprintf("%s: %v", m.name(), err)))
			return false, ctx.Err()
		}
		out.Done++
		return true, nil
	})
	if n := q.invisible(ctx) - out.Failed; err == nil && n > 0 {
		fmt.Fprintf(c.Err, "Invisible messages, which were not replayed: about %d. Another command reads them, or they "+
			"failed in the last five minutes. Replay again later.\n", n)
	}
	return out, err
}

// invisible returns about how many messages of the queue are invisible, and 0 if
// that is not known.
func (q queue) invisible(ctx context.Context) int {
	const count = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := q.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url,
		AttributeNames: []types.QueueAttributeName{count}})
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(out.Attributes[string(count)])
	return n
}

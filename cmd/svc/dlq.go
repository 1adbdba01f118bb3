package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"svc/pkg/app"
	"svc/pkg/local"
)

// streamFunctions are the functions that have dead letters, by the word that
// names them on the command line.
var streamFunctions = map[string]string{"settlement": app.Settlement, "projection": app.Projection}

func dlqCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "dlq", Short: "Look at what the stream functions gave up on, and do it again",
		Long: "Dead letters are records of the table's stream that settlement or projection could not deal with after all attempts.\n" +
			"Those of a local service are in its data folder, those of a deployed one in the queue that --queue names, or the variable\n" +
			"SETTLEMENT_DEAD_LETTERS or PROJECTION_DEAD_LETTERS."}
	var queue string
	list := &cobra.Command{Use: "list settlement|projection", Short: "List the dead letters", Args: cobra.ExactArgs(1),
		Example: "  svc dlq list settlement\n  svc dlq list settlement --json",
		Long:    "List the dead letters. Those of a queue are out of the way of others for half a minute.",
		RunE:    act(func(ctx context.Context, args []string) error { return c.listLetters(ctx, args[0], queue) })}
	replay := &cobra.Command{Use: "replay settlement|projection", Short: "Do again what the dead letters tell, and drop those that succeed", Args: cobra.ExactArgs(1),
		Example: "  svc dlq replay settlement",
		Long: "Hand the records to the function again, here. Both functions take what was done before as done, so replaying is always safe.\n" +
			"A queue names records by their place in the stream, which keeps them for a day; for older ones there is svc rebuild.",
		RunE: act(func(ctx context.Context, args []string) error { return c.replayLetters(ctx, args[0], queue) })}
	for _, sub := range []*cobra.Command{list, replay} {
		sub.Flags().StringVar(&queue, "queue", "", "`URL` of the dead-letter queue")
		cmd.AddCommand(sub)
	}
	return cmd
}

// shownLetter is a dead letter for people and programs; it tells no content.
type shownLetter struct {
	At      string `json:"at"`
	Shard   string `json:"shard"`
	First   string `json:"first"` // sequence numbers
	Last    string `json:"last"`
	Records int    `json:"records"`
	Reason  string `json:"reason"`
}

func (c *cli) listLetters(ctx context.Context, word, queue string) error {
	function, err := streamFunction(word)
	if err != nil {
		return err
	}
	all := []shownLetter{}
	if q, ok, err := openQueue(ctx, word, queue); err != nil {
		return err
	} else if ok {
		messages, err := q.receive(ctx)
		if err != nil {
			return err
		}
		for _, m := range messages {
			b := m.body.Batch
			all = append(all, shownLetter{m.body.Timestamp, b.Shard, b.First, b.Last, b.Size, m.body.Context.Condition})
		}
	} else {
		p, err := c.place(ctx)
		if err != nil {
			return err
		}
		letters, err := local.DeadLetters(p.data)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if l.Function == function {
				at := l.Record.Change.SequenceNumber
				all = append(all, shownLetter{l.At.Format(time.RFC3339), l.Shard, at, at, 1, l.Error})
			}
		}
	}
	t := cols{head: "AT SHARD FIRST LAST RECORDS REASON"}
	for _, l := range all {
		t.add(l.At, l.Shard, l.First, l.Last, l.Records, l.Reason)
	}
	return c.show(all, t)
}

func streamFunction(word string) (string, error) {
	if f := streamFunctions[word]; f != "" {
		return f, nil
	}
	return "", usagef("%q has no dead letters; settlement and projection have", word)
}

// replayed is what came of a replay.
type replayed struct {
	Done   int `json:"done"`
	Failed int `json:"failed"`
}

func (c *cli) replayLetters(ctx context.Context, word, queue string) error {
	function, err := streamFunction(word)
	if err != nil {
		return err
	}
	p, err := c.place(ctx)
	if err != nil {
		return err
	}
	handle := (&app.Place{DB: p.db, BaseURL: p.baseURL, Now: time.Now}).StreamHandlers()[function]
	again := func(records ...events.DynamoDBEventRecord) error {
		answer, err := handle(ctx, events.DynamoDBEvent{Records: records})
		if err == nil && len(answer.BatchItemFailures) > 0 {
			err = fmt.Errorf("record %s fails again", answer.BatchItemFailures[0].ItemIdentifier)
		}
		return err
	}
	var out replayed
	q, ok, err := openQueue(ctx, word, queue)
	switch {
	case err != nil:
		return err
	case ok:
		out, err = q.replay(ctx, c, again)
	case p.data == "":
		return errors.New("where the dead letters are is not known; name their queue with --queue")
	default:
		out.Done, out.Failed, err = local.ReplayDeadLetters(p.data, func(l local.DeadLetter) bool { return l.Function == function },
			func(l local.DeadLetter) error {
				err := again(l.Record)
				if err != nil {
					fmt.Fprintf(c.err, "%s: %v\n", l.Record.Change.SequenceNumber, err)
				}
				return err
			})
	}
	if err != nil {
		return err
	}
	if err := c.show(out, cols{head: "DONE FAILED", rows: [][]string{{fmt.Sprint(out.Done), fmt.Sprint(out.Failed)}}}); err != nil {
		return err
	}
	if out.Failed > 0 {
		return fmt.Errorf("%d dead letters fail again and stay", out.Failed)
	}
	return nil
}

// queue is a dead-letter queue.
type queue struct {
	url     string
	sqs     *sqs.Client
	streams *dynamodbstreams.Client
}

// openQueue finds the queue; ok is false where none is named.
func openQueue(ctx context.Context, word, url string) (q queue, ok bool, err error) {
	if url == "" {
		url = os.Getenv(strings.ToUpper(word) + "_DEAD_LETTERS")
	}
	if url == "" {
		return queue{}, false, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return queue{}, false, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	return queue{url, sqs.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)}, true, nil
}

// message is what Lambda sends about a batch that it gave up on.
type message struct {
	receipt *string
	body    struct {
		Context struct {
			Condition string `json:"condition"`
		} `json:"requestContext"`
		Timestamp string `json:"timestamp"`
		Batch     struct {
			Shard  string `json:"shardId"`
			First  string `json:"startSequenceNumber"`
			Last   string `json:"endSequenceNumber"`
			Size   int    `json:"batchSize"`
			Stream string `json:"streamArn"`
		} `json:"DDBStreamBatchInfo"`
	}
}

// receive takes what is in the queue now; it comes back after half a minute
// unless it is deleted.
func (q queue) receive(ctx context.Context) ([]message, error) {
	var all []message
	for {
		out, err := q.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 10, VisibilityTimeout: 30, WaitTimeSeconds: 1})
		if err != nil {
			return nil, fmt.Errorf("dead-letter queue: %w", err)
		}
		if len(out.Messages) == 0 {
			return all, nil
		}
		for _, raw := range out.Messages {
			m := message{receipt: raw.ReceiptHandle}
			if err := json.Unmarshal([]byte(aws.ToString(raw.Body)), &m.body); err != nil || m.body.Batch.Stream == "" {
				return nil, errors.New("dead-letter queue: a message is not about a batch of a stream")
			}
			all = append(all, m)
		}
	}
}

func (q queue) replay(ctx context.Context, c *cli, again func(...events.DynamoDBEventRecord) error) (out replayed, err error) {
	messages, err := q.receive(ctx)
	if err != nil {
		return out, err
	}
	for _, m := range messages {
		b := m.body.Batch
		records, err := local.ReadStream(ctx, q.streams, local.StreamRange{Stream: b.Stream, Shard: b.Shard, First: b.First, Last: b.Last})
		if err == nil {
			err = again(records...)
		}
		if err != nil {
			out.Failed++
			fmt.Fprintf(c.err, "%s to %s: %v\n", b.First, b.Last, err)
			continue
		}
		if _, err := q.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.receipt}); err != nil {
			return out, fmt.Errorf("dead-letter queue: %w", err)
		}
		out.Done++
	}
	return out, nil
}

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/background/erasure"
	"svc/pkg/base/timestamp"
)

// DeadLetter is an object in S3 with stream records that a function could not process. It
// has the form in which Lambda itself writes such objects.
type DeadLetter struct {
	Context struct {
		Condition string `json:"condition"` // why the records were given up
	} `json:"requestContext"`
	Timestamp string `json:"timestamp"`
	Batch     struct {
		Shard  string `json:"shardId"`
		First  string `json:"startSequenceNumber"`
		Last   string `json:"endSequenceNumber"`
		Size   int    `json:"batchSize"`
		Stream string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
	// Payload is the function's event. Lambda may write the event as a JSON object
	// or as a string.
	Payload json.RawMessage `json:"payload"`
}

// keepLostRecords sets p.GiveUp to a function that writes dead letters into the S3 bucket
// Config.LostRecords. Without such a bucket, it does nothing. An object's key begins with
// the name of the function. By this name, a rule in template.yaml sends a message about
// the object to the function's dead-letter queue. GiveUp leaves an object that exists
// already, because a second write would send a second message.
func (p *Runtime) keepLostRecords() error {
	if p.Config.LostRecords == "" {
		return nil
	}
	cfg, err := p.aws(context.Background())
	if err != nil {
		return fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	base := strings.TrimSuffix(Endpoint("s3", "s3", cfg), "/") + "/" + p.Config.LostRecords + "/"
	p.GiveUp = func(ctx context.Context, function string, records []events.DynamoDBEventRecord, cause error) error {
		if len(records) == 0 {
			return errors.New("no record to store")
		}
		first, last := records[0], records[len(records)-1]
		var letter DeadLetter
		letter.Context.Condition = "BadData: " + cause.Error()
		letter.Timestamp = timestamp.Format(p.Now())
		letter.Batch.First, letter.Batch.Last = first.Change.SequenceNumber, last.Change.SequenceNumber
		letter.Batch.Size, letter.Batch.Stream = len(records), first.EventSourceArn
		var err error
		kept := make([]events.DynamoDBEventRecord, len(records))
		for i, r := range records {
			kept[i] = erasure.Letter(r)
		}
		if letter.Payload, err = json.Marshal(events.DynamoDBEvent{Records: kept}); err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		body, err := json.Marshal(letter)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		res, err := AWSCall{Service: "s3", Method: http.MethodPut, URL: base + function + "/" + letter.Batch.First,
			Header: map[string]string{"Content-Type": "application/json", "If-None-Match": "*"}, Body: body}.Do(ctx, cfg)
		if err == nil && res.Status != http.StatusOK && res.Status != http.StatusPreconditionFailed {
			err = fmt.Errorf("S3 responds %d to a dead letter", res.Status)
		}
		return err
	}
	return nil
}

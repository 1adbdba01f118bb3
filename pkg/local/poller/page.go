package poller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc/pkg/data/stream"
)

// received is a record of the stream. If the record cannot be read, fault says why, and
// only its identifiers are set, as far as they can be read.
type received struct {
	events.DynamoDBEventRecord
	fault error
}

// page reads one page of a shard. next is the iterator of the next page, "" at the end of
// the shard. If one record cannot be read, page still returns the others.
func (c *consumer) page(ctx context.Context, iterator string) (records []received, next string, err error) {
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String(iterator)}
	out, err := c.p.streams.GetRecords(ctx, in)
	if _, odd := errors.AsType[*smithy.DeserializationError](err); odd {
		var body []byte
		if _, err := c.p.streams.GetRecords(ctx, in, keepBody(&body)); err != nil {
			if _, odd := errors.AsType[*smithy.DeserializationError](err); !odd {
				return nil, "", err
			}
		}
		return loose(body, c.arn)
	}
	if err != nil {
		return nil, "", err
	}
	for _, r := range out.Records {
		event, fault := stream.Record(r, c.arn)
		records = append(records, received{event, fault})
	}
	return records, aws.ToString(out.NextShardIterator), nil
}

// keepBody returns an option for a call of the engine. It copies the response's body to
// body.
func keepBody(body *[]byte) func(*dynamodbstreams.Options) {
	keep := middleware.DeserializeMiddlewareFunc("keepBody", func(ctx context.Context, in middleware.DeserializeInput,
		next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if res, ok := out.RawResponse.(*smithyhttp.Response); ok && err == nil {
			*body, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
			res.Body = io.NopCloser(bytes.NewReader(*body))
		}
		return out, metadata, err
	})
	return func(o *dynamodbstreams.Options) {
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			return s.Deserialize.Add(keep, middleware.After) // keepBody reads the body before the SDK decodes it
		})
	}
}

// loose decodes a page record by record, for a page that the SDK rejects as a whole.
func loose(body []byte, arn string) (records []received, next string, err error) {
	var page struct {
		Records           []json.RawMessage
		NextShardIterator string
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", fmt.Errorf("the engine's page of records: %w", err)
	}
	for _, raw := range page.Records {
		var r received
		if r.fault = json.Unmarshal(raw, &r.DynamoDBEventRecord); r.fault == nil && r.Change.SequenceNumber == "" {
			r.fault = fmt.Errorf("stream record %s has no sequence number", r.EventID)
		}
		if r.fault != nil {
			r.DynamoDBEventRecord = identifiers(raw)
		}
		r.EventSource, r.EventVersion, r.EventSourceArn = "aws:dynamodb", "1.1", arn
		records = append(records, r)
	}
	return records, page.NextShardIterator, nil
}

// identifiers decodes only the members that identify a record. A member that cannot be
// read stays empty.
func identifiers(raw json.RawMessage) (out events.DynamoDBEventRecord) {
	var record, change map[string]json.RawMessage
	read := func(from map[string]json.RawMessage, name string, to any) {
		if text, ok := from[name]; ok && json.Unmarshal(text, to) != nil {
			return // a member that cannot be read stays empty
		}
	}
	if json.Unmarshal(raw, &record) != nil {
		return out
	}
	read(record, "eventID", &out.EventID)
	read(record, "eventName", &out.EventName)
	read(record, "dynamodb", &change)
	read(change, "SequenceNumber", &out.Change.SequenceNumber)
	read(change, "Keys", &out.Change.Keys)
	return out
}

package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Range names consecutive records of one shard, as a dead-letter message of AWS
// Lambda does.
type Range struct {
	Stream string // ARN of the stream
	Shard  string
	First  string // sequence numbers of the first and the last record, both included
	Last   string
}

// ErrTrimmed means that the stream no longer has the records, or that a read did
// not find the last one. A stream keeps records for 24 hours.
var ErrTrimmed = errors.New("the stream no longer has these records; run svc rebuild instead")

// emptyPages is the number of consecutive empty pages after which ReadRange stops. It
// reads on after a single empty page, because later pages may have records.
const emptyPages = 10

// ReadRange reads the records of a range from the stream. It returns ErrTrimmed
// if the stream no longer has them, or does not show all of them.
func ReadRange(ctx context.Context, streams *dynamodbstreams.Client, r Range) ([]events.DynamoDBEventRecord, error) {
	it, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: aws.String(r.Stream),
		ShardId:           aws.String(r.Shard),
		ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, SequenceNumber: aws.String(r.First)})
	var trimmed *types.TrimmedDataAccessException
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &trimmed) || errors.As(err, &gone):
		return nil, ErrTrimmed
	case err != nil:
		return nil, fmt.Errorf("finding the position in the stream: %w", err)
	}
	var out []events.DynamoDBEventRecord
	for next, empty := it.ShardIterator, 0; next != nil && empty < emptyPages; {
		page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if errors.As(err, &trimmed) {
			return nil, ErrTrimmed
		}
		if err != nil {
			return nil, fmt.Errorf("reading the stream: %w", err)
		}
		for _, raw := range page.Records {
			record, err := Record(raw, r.Stream)
			if err != nil {
				return nil, err
			}
			seq := record.Change.SequenceNumber
			if Later(seq, r.Last) {
				return out, nil
			}
			out = append(out, record)
			if seq == r.Last {
				return out, nil
			}
		}
		next = page.NextShardIterator
		if empty++; len(page.Records) > 0 {
			empty = 0
		}
	}
	return nil, ErrTrimmed // the last record was not seen, so records may be missing
}

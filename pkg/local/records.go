package local

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// record is one stream record as Lambda hands it to a function.
type record struct {
	seq   string
	event events.DynamoDBEventRecord
	// tree is the event as decoded JSON, for the filters.
	tree any
}

// recordOf converts the stream's own form into Lambda's.
func recordOf(r types.Record, arn string) (record, error) {
	if r.Dynamodb == nil || r.Dynamodb.SequenceNumber == nil {
		return record{}, fmt.Errorf("stream record %s has no sequence number", aws.ToString(r.EventID))
	}
	d := r.Dynamodb
	out := record{seq: *d.SequenceNumber, event: events.DynamoDBEventRecord{
		AWSRegion:      aws.ToString(r.AwsRegion),
		EventID:        aws.ToString(r.EventID),
		EventName:      string(r.EventName),
		EventSource:    "aws:dynamodb",
		EventVersion:   "1.1",
		EventSourceArn: arn,
		Change: events.DynamoDBStreamRecord{
			SequenceNumber: *d.SequenceNumber,
			SizeBytes:      aws.ToInt64(d.SizeBytes),
			StreamViewType: string(d.StreamViewType),
		},
	}}
	change := &out.event.Change
	change.ApproximateCreationDateTime = events.SecondsEpochTime{Time: aws.ToTime(d.ApproximateCreationDateTime).Truncate(time.Second)}
	var err error
	if change.Keys, err = image(d.Keys); err != nil {
		return record{}, err
	}
	if change.NewImage, err = image(d.NewImage); err != nil {
		return record{}, err
	}
	if change.OldImage, err = image(d.OldImage); err != nil {
		return record{}, err
	}
	if r.UserIdentity != nil {
		out.event.UserIdentity = &events.DynamoDBUserIdentity{
			Type: aws.ToString(r.UserIdentity.Type), PrincipalID: aws.ToString(r.UserIdentity.PrincipalId),
		}
	}
	text, err := json.Marshal(out.event)
	if err != nil {
		return record{}, fmt.Errorf("stream record %s: %w", out.seq, err)
	}
	if err := json.Unmarshal(text, &out.tree); err != nil {
		return record{}, fmt.Errorf("stream record %s: %w", out.seq, err)
	}
	return out, nil
}

func image(from map[string]types.AttributeValue) (map[string]events.DynamoDBAttributeValue, error) {
	if from == nil {
		return nil, nil
	}
	to := make(map[string]events.DynamoDBAttributeValue, len(from))
	for name, v := range from {
		value, err := attribute(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		to[name] = value
	}
	return to, nil
}

func attribute(v types.AttributeValue) (events.DynamoDBAttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value), nil
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value), nil
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return events.NewBooleanAttribute(v.Value), nil
	case *types.AttributeValueMemberNULL:
		return events.NewNullAttribute(), nil
	case *types.AttributeValueMemberSS:
		return events.NewStringSetAttribute(v.Value), nil
	case *types.AttributeValueMemberNS:
		return events.NewNumberSetAttribute(v.Value), nil
	case *types.AttributeValueMemberBS:
		return events.NewBinarySetAttribute(v.Value), nil
	case *types.AttributeValueMemberM:
		m, err := image(v.Value)
		return events.NewMapAttribute(m), err
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, 0, len(v.Value))
		for _, e := range v.Value {
			value, err := attribute(e)
			if err != nil {
				return events.DynamoDBAttributeValue{}, err
			}
			list = append(list, value)
		}
		return events.NewListAttribute(list), nil
	}
	return events.DynamoDBAttributeValue{}, fmt.Errorf("unknown kind of value %T", v)
}

// later tells whether sequence number a comes after b. They are decimal
// numbers of up to 40 digits; dynoxide writes them without leading zeros, so
// a longer one is later.
func later(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

package stream

import (
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Record converts a record of the stream with the given ARN to the form that Lambda
// passes to a function. With an error, it returns the part of the record that it has
// converted.
func Record(r types.Record, arn string) (out events.DynamoDBEventRecord, err error) {
	d := r.Dynamodb
	if d == nil {
		d = &types.StreamRecord{}
	}
	out = events.DynamoDBEventRecord{
		AWSRegion:      aws.ToString(r.AwsRegion),
		EventID:        aws.ToString(r.EventID),
		EventName:      string(r.EventName),
		EventSource:    "aws:dynamodb",
		EventVersion:   "1.1",
		EventSourceArn: arn,
		Change: events.DynamoDBStreamRecord{
			SequenceNumber: aws.ToString(d.SequenceNumber),
			SizeBytes:      aws.ToInt64(d.SizeBytes),
			StreamViewType: string(d.StreamViewType),
			ApproximateCreationDateTime: events.SecondsEpochTime{
				Time: aws.ToTime(d.ApproximateCreationDateTime).Truncate(time.Second)},
		},
	}
	change := &out.Change
	if change.Keys, err = lambdaImage(d.Keys); err != nil {
		return out, err
	}
	if change.NewImage, err = lambdaImage(d.NewImage); err != nil {
		return out, err
	}
	if change.OldImage, err = lambdaImage(d.OldImage); err != nil {
		return out, err
	}
	if change.SequenceNumber == "" {
		return out, fmt.Errorf("stream record %s has no sequence number", out.EventID)
	}
	if r.UserIdentity != nil {
		out.UserIdentity = &events.DynamoDBUserIdentity{
			Type: aws.ToString(r.UserIdentity.Type), PrincipalID: aws.ToString(r.UserIdentity.PrincipalId),
		}
	}
	return out, nil
}

// lambdaImage converts the attributes of an item to the form that Lambda uses.
func lambdaImage(from map[string]types.AttributeValue) (map[string]events.DynamoDBAttributeValue, error) {
	if from == nil {
		return nil, nil
	}
	to := make(map[string]events.DynamoDBAttributeValue, len(from))
	for name, v := range from {
		value, err := lambdaAttribute(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		to[name] = value
	}
	return to, nil
}

// lambdaAttribute converts one attribute to the form that Lambda uses.
func lambdaAttribute(v types.AttributeValue) (events.DynamoDBAttributeValue, error) {
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
		m, err := lambdaImage(v.Value)
		return events.NewMapAttribute(m), err
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, 0, len(v.Value))
		for _, e := range v.Value {
			value, err := lambdaAttribute(e)
			if err != nil {
				return events.DynamoDBAttributeValue{}, err
			}
			list = append(list, value)
		}
		return events.NewListAttribute(list), nil
	}
	return events.DynamoDBAttributeValue{}, fmt.Errorf("unknown kind of value %T", v)
}

// Later reports whether sequence number a comes after b. Both are decimal
// numbers of up to 40 digits without leading zeros, so a longer one is later.
func Later(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

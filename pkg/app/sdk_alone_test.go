package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/local/testkit"
)

// sdkAlone returns how much the SDK alone allocates to send recorded requests
// and read their responses.
func sdkAlone(t testing.TB, recorded []testkit.Exchange) float64 {
	t.Helper()
	wire := &oneAnswer{}
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://table.example"),
		HTTPClient:  wire,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	sum := 0.0
	for _, x := range recorded {
		send := sdkCall(t, client, x)
		wire.body = inOrder(t, x.Answer)
		sum += testkit.Allocations(func() {
			if err := send(context.Background()); err != nil {
				t.Fatalf("%s: %v", x.Operation, err)
			}
		})
	}
	return sum
}

// inOrder returns a response with its members and items sorted. The SDK copies
// strings into one block of memory while they fit. So their order, which is
// random, would change the number of allocations.
func inOrder(t testing.TB, answer []byte) []byte {
	t.Helper()
	var value any
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return encodeSorted(t, value)
}

func encodeSorted(t testing.TB, value any) []byte {
	switch v := value.(type) {
	case []any:
		slices.SortFunc(v, func(a, b any) int { return bytes.Compare(encodeSorted(t, a), encodeSorted(t, b)) })
	case map[string]any:
		for _, member := range v {
			encodeSorted(t, member)
		}
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type oneAnswer struct{ body []byte }

// Do implements aws.HTTPClient.
func (o *oneAnswer) Do(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(o.body)), ContentLength: int64(len(o.body)), Request: r}, err
}

// sdkCall makes the call that sends a recorded request.
func sdkCall(t testing.TB, client *dynamodb.Client, x testkit.Exchange) func(context.Context) error {
	t.Helper()
	var in struct {
		TableName, IndexName, KeyConditionExpression, ReturnConsumedCapacity, ClientRequestToken string
		ScanIndexForward, ConsistentRead                                                         *bool
		Limit                                                                                    *int32
		ExpressionAttributeNames                                                                 map[string]string
		ExpressionAttributeValues, Key                                                           stored
		RequestItems                                                                             map[string]struct {
			ConsistentRead *bool
			Keys           []stored
		}
		TransactItems []struct{ Put *put }
	}
	if err := json.Unmarshal(x.Request, &in); err != nil {
		t.Fatal(err)
	}
	capacity := types.ReturnConsumedCapacity(in.ReturnConsumedCapacity)
	switch x.Operation {
	case "Query":
		q := &dynamodb.QueryInput{TableName: &in.TableName, KeyConditionExpression: &in.KeyConditionExpression,
			Limit: in.Limit, ScanIndexForward: in.ScanIndexForward,
			ConsistentRead: in.ConsistentRead, ReturnConsumedCapacity: capacity,
			ExpressionAttributeNames:  in.ExpressionAttributeNames,
			ExpressionAttributeValues: in.ExpressionAttributeValues.values()}
		if in.IndexName != "" {
			q.IndexName = &in.IndexName
		}
		return func(ctx context.Context) error { _, err := client.Query(ctx, q); return err }
	case "BatchGetItem":
		b := &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: capacity, RequestItems: map[string]types.KeysAndAttributes{}}
		for table, asked := range in.RequestItems {
			keys := types.KeysAndAttributes{ConsistentRead: asked.ConsistentRead}
			for _, key := range asked.Keys {
				keys.Keys = append(keys.Keys, key.values())
			}
			b.RequestItems[table] = keys
		}
		return func(ctx context.Context) error { _, err := client.BatchGetItem(ctx, b); return err }
	case "TransactWriteItems":
		w := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: capacity, ClientRequestToken: &in.ClientRequestToken}
		for _, item := range in.TransactItems {
			if item.Put == nil {
				t.Fatalf("another operation than a put: %s", x.Request)
			}
			w.TransactItems = append(w.TransactItems, types.TransactWriteItem{Put: item.Put.input()})
		}
		return func(ctx context.Context) error { _, err := client.TransactWriteItems(ctx, w); return err }
	}
	t.Fatalf("a request sends %s", x.Operation)
	return nil
}

type put struct {
	TableName, ConditionExpression  string
	ExpressionAttributeNames        map[string]string
	ExpressionAttributeValues, Item stored
}

func (p put) input() *types.Put {
	out := &types.Put{TableName: &p.TableName, Item: p.Item.values(), ExpressionAttributeNames: p.ExpressionAttributeNames,
		ExpressionAttributeValues: p.ExpressionAttributeValues.values()}
	if p.ConditionExpression != "" {
		out.ConditionExpression = &p.ConditionExpression
	}
	return out
}

// stored is an item in the table's JSON.
type stored map[string]struct {
	S, N *string
	BOOL *bool
	SS   []string
}

func (s stored) values() map[string]types.AttributeValue {
	if s == nil {
		return nil
	}
	out := map[string]types.AttributeValue{}
	for name, v := range s {
		switch {
		case v.S != nil:
			out[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			out[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.BOOL != nil:
			out[name] = &types.AttributeValueMemberBOOL{Value: *v.BOOL}
		default:
			out[name] = &types.AttributeValueMemberSS{Value: v.SS}
		}
	}
	return out
}

package model_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc/pkg/local/testkit"
)

// DynamoDB Local does not throttle, so the model cannot be compared with it. If
// this test fails, DynamoDB Local throttles and the comparison is possible: see
// docs/model.md.
func TestDynamoDBLocalDoesNotThrottle(t *testing.T) {
	if !testkit.OnDynamoDBLocal() {
		t.Skip("about DynamoDB Local only")
	}
	const requests = 500
	db := dynamodb.New(dynamodb.Options{BaseEndpoint: aws.String(testkit.Endpoint(t)), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), Retryer: aws.NopRetryer{}})
	name, one := testkit.Fresh(), aws.Int64(1)
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &name,
		AttributeDefinitions:  []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}},
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: one, WriteCapacityUnits: one}})
	testkit.Must(t, err)
	value := &types.AttributeValueMemberS{Value: strings.Repeat("x", 900)}
	do := func(what string, one func(ctx context.Context, key map[string]types.AttributeValue) error) {
		for n := range requests {
			err := one(t.Context(), map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: strconv.Itoa(n)}})
			if refused := new(types.ProvisionedThroughputExceededException); errors.As(err, &refused) {
				t.Fatalf("%s %d is throttled: compare the model with it", what, n)
			}
			testkit.Must(t, err)
		}
	}
	do("write", func(ctx context.Context, key map[string]types.AttributeValue) error {
		item := map[string]types.AttributeValue{"pk": key["pk"], "value": value}
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item})
		return err
	})
	do("read", func(ctx context.Context, key map[string]types.AttributeValue) error {
		_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: aws.Bool(true)})
		return err
	})
}

package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Options configure the table to create.
type Options struct {
	// Name of the table; empty is DefaultName.
	Name string
	// StreamOff creates the table without its stream, for fast bulk loading.
	// EnableStream switches the stream on afterwards.
	StreamOff bool
	// KeepExpired creates the table without time to live, for writers whose
	// clock differs from the engine's. DynamoDB Local deletes expired items
	// every ten seconds, by its own clock.
	KeepExpired bool
}

// DefaultName is the table's name on a developer's machine.
const DefaultName = "svc"

// Ensured is the table that EnsureTable found or created.
type Ensured struct {
	StreamARN string // empty with StreamOff
	New       bool   // the table did not exist before
}

// EnsureTable creates the table that template.yaml describes on the engine at endpoint. If
// the table exists and its keys or indexes differ from the template, it returns an error.
// In an existing table it only switches on time to live and the stream, as the options say.
func EnsureTable(ctx context.Context, endpoint string, template []byte, o Options) (out Ensured, err error) {
	o.Name = cmp.Or(o.Name, DefaultName)
	spec, err := tableOf(template)
	if err != nil {
		return out, err
	}
	db, _ := Clients(endpoint)
	in := spec.create(o)
	_, err = db.CreateTable(ctx, in)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return out, fmt.Errorf("creating the table %s: %w", o.Name, err)
	}
	out.New = err == nil
	table, err := awaitActive(ctx, db, o.Name)
	if err != nil {
		return out, err
	}
	if err := same(in, table); err != nil {
		return out, err
	}
	if !o.KeepExpired {
		if err := ensureTTL(ctx, db, o.Name, spec.TimeToLive.AttributeName); err != nil {
			return out, err
		}
	}
	if !o.StreamOff {
		out.StreamARN, err = enableStream(ctx, db, table)
	}
	return out, err
}

// EnableStream switches the table's stream on, with new and old images, and
// returns its ARN. A stream that is already on stays the same.
func EnableStream(ctx context.Context, endpoint, name string) (streamARN string, err error) {
	db, _ := Clients(endpoint)
	table, err := awaitActive(ctx, db, name)
	if err != nil {
		return "", err
	}
	return enableStream(ctx, db, table)
}

// enableStream is EnableStream for a table whose description the caller has read.
func enableStream(ctx context.Context, db *dynamodb.Client, table *types.TableDescription) (string, error) {
	if s := table.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) && table.LatestStreamArn != nil {
		return *table.LatestStreamArn, nil
	}
	name := aws.ToString(table.TableName)
	_, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table.TableName, StreamSpecification: newAndOld})
	if err != nil {
		return "", fmt.Errorf("switching the stream of %s on: %w", name, err)
	}
	if table, err = awaitActive(ctx, db, name); err != nil {
		return "", err
	}
	if table.LatestStreamArn == nil {
		return "", fmt.Errorf("the engine gives the table %s no stream", name)
	}
	return *table.LatestStreamArn, nil
}

// Streaming reports whether the table's stream is on.
func Streaming(ctx context.Context, endpoint, name string) (bool, error) {
	db, _ := Clients(endpoint)
	table, err := awaitActive(ctx, db, name)
	if err != nil {
		return false, err
	}
	return table.StreamSpecification != nil && aws.ToBool(table.StreamSpecification.StreamEnabled), nil
}

// DisableStream switches the table's stream off. Its records are lost, because
// switching on creates a new stream.
func DisableStream(ctx context.Context, endpoint, name string) error {
	db, _ := Clients(endpoint)
	_, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
	if err != nil {
		return fmt.Errorf("switching the stream of %s off: %w", name, err)
	}
	_, err = awaitActive(ctx, db, name)
	return err
}

// newAndOld switches a stream on whose records contain the item before and after the
// change.
var newAndOld = &types.StreamSpecification{
	StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
}

// awaitActive waits until the table is active, and returns its description.
func awaitActive(ctx context.Context, db *dynamodb.Client, name string) (*types.TableDescription, error) {
	for {
		out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if err != nil {
			return nil, fmt.Errorf("describing the table %s: %w", name, err)
		}
		if out.Table.TableStatus == types.TableStatusActive {
			return out.Table, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the table %s: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ensureTTL switches on the table's time to live by the attribute. It does nothing if time
// to live is on, or if the attribute is "".
func ensureTTL(ctx context.Context, db *dynamodb.Client, name, attribute string) error {
	if attribute == "" {
		return nil
	}
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err == nil && out.TimeToLiveDescription != nil &&
		out.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusDisabled {
		return nil
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(attribute), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("time to live of the table %s: %w", name, err)
	}
	return nil
}

// same returns an error if the keys of the existing table (have) or of its indexes differ
// from those of the template (want). The order of the indexes is irrelevant.
func same(want *dynamodb.CreateTableInput, have *types.TableDescription) error {
	layout := func(name *string, keys []types.KeySchemaElement) string {
		s := aws.ToString(name)
		for _, k := range keys {
			s += " " + aws.ToString(k.AttributeName) + "/" + string(k.KeyType)
		}
		return s
	}
	wanted, got := []string{layout(nil, want.KeySchema)}, []string{layout(nil, have.KeySchema)}
	for _, g := range want.GlobalSecondaryIndexes {
		wanted = append(wanted, layout(g.IndexName, g.KeySchema))
	}
	for _, g := range have.GlobalSecondaryIndexes {
		got = append(got, layout(g.IndexName, g.KeySchema))
	}
	slices.Sort(wanted)
	slices.Sort(got)
	if !slices.Equal(wanted, got) {
		return fmt.Errorf("the existing table %s has keys and indexes %q, but template.yaml has %q; use another --data "+
			"folder or table",
			aws.ToString(have.TableName), got, wanted)
	}
	return nil
}

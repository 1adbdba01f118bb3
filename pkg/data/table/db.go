package table

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/guregu/dynamo/v2"
)

// DB is the table at one endpoint. Handles read and write it. client is the SDK's;
// dynamo and tx are guregu/dynamo's and send their requests with client.
type DB struct {
	name   string
	client *dynamodb.Client
	dynamo dynamo.Table
	tx     *dynamo.DB
}

// Options configure the connection to the table.
type Options struct {
	Table     string                                    // name of the table
	Endpoint  string                                    // URL of a local engine; "" is the endpoint that Load configures
	Load      func(context.Context) (aws.Config, error) // the SDK's configuration; nil for a local engine
	Transport func(http.RoundTripper) http.RoundTripper // wraps the transport; may be nil
	AtOnce    int                                       // requests that the process serves at once; 0 means 1
}

// retryQuota is the number of the SDK's retry tokens in a process, for each
// request that the process serves at once. A retry takes 5 or 10 tokens. A
// request that needs no retry gives back 1. With a fixed number of tokens, the
// many requests of a process would use up all of them in a short failure, and
// the SDK would not retry later requests.
const retryQuota = 500

// idleConnections is how many connections a process keeps open.
const idleConnections = 128

// Open prepares the connection to the table. It sends no request.
func Open(ctx context.Context, o Options) (*DB, error) {
	var cfg aws.Config
	if o.Load != nil {
		var err error
		if cfg, err = o.Load(ctx); err != nil {
			return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
		}
	}
	quota := ratelimit.NewTokenRateLimit(uint(retryQuota * max(1, o.AtOnce)))
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(so *retry.StandardOptions) {
			so.MaxAttempts, so.MaxBackoff, so.RateLimiter = 4, 400*time.Millisecond, quota
		})
	}
	if o.Endpoint != "" {
		cfg.Region, cfg.Credentials = cmp.Or(cfg.Region, "us-east-1"), credentials.NewStaticCredentialsProvider("local",
			"local", "")
	}
	// The SDK would keep 10 idle connections, but a process sends more requests at once.
	var transport http.RoundTripper = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConnections, idleConnections
	}).GetTransport()
	if o.Transport != nil {
		transport = o.Transport(transport)
	}
	client := dynamodb.NewFromConfig(cfg, func(do *dynamodb.Options) {
		do.HTTPClient, do.DisableValidateResponseChecksum = attempts{transport}, true // the type attempts checks it instead
		do.Protocol = protocol{do.Protocol}
		if o.Endpoint != "" {
			do.BaseEndpoint = aws.String(o.Endpoint)
		}
		do.APIOptions = append(do.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(guard(o.Table), middleware.Before)
		})
	})
	tx := dynamo.NewFromIface(client)
	return &DB{name: o.Table, client: client, dynamo: tx.Table(o.Table), tx: tx}, nil
}

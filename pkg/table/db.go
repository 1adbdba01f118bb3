package table

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/guregu/dynamo/v2"
)

// DB is the table at one endpoint. It is read and written through handles.
type DB struct {
	name   string
	client *dynamodb.Client
	dynamo dynamo.Table
	tx     *dynamo.DB
}

// Options say where the table is.
type Options struct {
	Table    string                                    // name of the table
	Endpoint string                                    // an engine that takes any credentials; "" is AWS, by Load
	Load     func(context.Context) (aws.Config, error) // nil is Environment
	Wire     func(http.RoundTripper) http.RoundTripper // wraps the transport; nil for none
}

// Environment gives the SDK's configuration as a function finds it in its
// environment. The SDK's own loader also looks for profiles and single sign-on;
// it would be a sixth of a function's size.
func Environment(context.Context) (aws.Config, error) {
	cfg := aws.Config{Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"))}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	return cfg, nil
}

// Open connects to the table. It sends nothing yet.
func Open(ctx context.Context, o Options) (*DB, error) {
	load := o.Load
	if load == nil {
		load = Environment
	}
	cfg, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTimeout(20 * time.Second).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.MaxIdleConns = 128, 256
	})
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(so *retry.StandardOptions) {
			so.MaxAttempts, so.MaxBackoff = 4, 400*time.Millisecond
		})
	}
	if o.Endpoint != "" {
		cfg.Region, cfg.Credentials = cmp.Or(cfg.Region, "us-east-1"), credentials.NewStaticCredentialsProvider("local", "local", "")
	}
	var rt http.RoundTripper = whole{cfg.HTTPClient}
	if o.Wire != nil {
		rt = o.Wire(rt)
	}
	client := dynamodb.NewFromConfig(cfg, func(do *dynamodb.Options) {
		do.HTTPClient = sender{rt}
		if o.Endpoint != "" {
			do.BaseEndpoint = aws.String(o.Endpoint)
		}
		do.APIOptions = append(do.APIOptions, func(stack *middleware.Stack) error {
			if err := stack.Initialize.Add(metering, middleware.Before); err != nil {
				return err
			}
			if err := stack.Initialize.Add(guard(o.Table), middleware.Before); err != nil {
				return err
			}
			return stack.Deserialize.Insert(takeItems, "OperationDeserializer", middleware.After)
		})
	})
	tx := dynamo.NewFromIface(client)
	return &DB{name: o.Table, client: client, dynamo: tx.Table(o.Table), tx: tx}, nil
}

// whole hands net/http the request's body as one piece: the SDK closes its own
// reader while net/http may still be writing it, which kills the connection
// now and then.
type whole struct{ next aws.HTTPClient }

func (w whole) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return w.next.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("body of a request to the table: %w", err)
	}
	again := req.Clone(req.Context())
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return w.next.Do(again)
}

// sender sends a request of the SDK over a transport.
type sender struct{ rt http.RoundTripper }

// Do implements aws.HTTPClient.
func (s sender) Do(req *http.Request) (*http.Response, error) { return s.rt.RoundTrip(req) }

package local

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// clients are unguarded clients of the engine at endpoint: for making the
// table and reading its stream, never for its items.
func clients(endpoint string) (*dynamodb.Client, *dynamodbstreams.Client) {
	cfg := aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		BaseEndpoint: aws.String(endpoint),
		HTTPClient:   client(),
	}
	return dynamodb.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)
}

// client is shared, so that many tables do not leave many connections behind.
var client = sync.OnceValue(func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{Transport: whole{transport}, Timeout: 30 * time.Second}
})

// whole hands net/http the body as one piece: the SDK closes its own reader
// while net/http may still be writing it, which kills the connection.
type whole struct{ next http.RoundTripper }

func (w whole) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return w.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("body of a request to the engine: %w", err)
	}
	again := req.Clone(req.Context())
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return w.next.RoundTrip(again)
}

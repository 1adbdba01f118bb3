package schema

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

// Clients returns clients of the engine at endpoint without the guards of package table.
// Use them to create the table and to read its stream, never to access items.
func Clients(endpoint string) (*dynamodb.Client, *dynamodbstreams.Client) {
	cfg := aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		BaseEndpoint: aws.String(endpoint),
		HTTPClient:   httpClient(),
	}
	return dynamodb.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)
}

// httpClient is shared by all clients, so that many tables do not leave many open
// connections.
var httpClient = sync.OnceValue(func() Buffered {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConnsPerHost = 16
	return Buffered{&http.Client{Transport: transport, Timeout: 5 * time.Minute}}
})

// Buffered is an HTTP client for the SDK. It reads a request's body into memory
// before net/http sends it. Without it, the SDK may close the body while net/http
// still reads it, which breaks the connection and loses the rest of the response.
type Buffered struct{ aws.HTTPClient }

// Do implements aws.HTTPClient.
func (b Buffered) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return b.HTTPClient.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("body of a request: %w", err)
	}
	again := req.Clone(req.Context())
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return b.HTTPClient.Do(again)
}

package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// AWSCall is one signed request to a service of AWS. It is for services whose
// SDK client would add a module for one call.
type AWSCall struct {
	Service string // the name in the signature, such as "ses"
	Method  string
	URL     string
	Header  map[string]string
	Body    []byte
}

// maxAWSBody is how many bytes of a response Do reads. A Lambda event of 6 MB
// fits even if JSON escapes it twice.
const maxAWSBody = 32 << 20

// awsTimeout ends a call that the caller's context does not end earlier.
const awsTimeout = 30 * time.Second

// AWSResponse is the response to an AWSCall.
type AWSResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do signs the request with the credentials of cfg, sends it, and returns the response,
// whatever its status. If an idle connection turns out to be closed, Do sends the request
// again.
func (c AWSCall) Do(ctx context.Context, cfg aws.Config) (AWSResponse, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return AWSResponse{}, fmt.Errorf("%s: %w", c.Service, err)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	who, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return AWSResponse{}, fmt.Errorf("AWS credentials: %w", err)
	}
	sum := sha256.Sum256(c.Body)
	hash := hex.EncodeToString(sum[:])
	if c.Service == "s3" {
		req.Header.Set("X-Amz-Content-Sha256", hash)
	}
	plain := func(o *v4.SignerOptions) { o.DisableURIPathEscaping = c.Service == "s3" } // S3 signs the path as it is sent
	if err := v4.NewSigner(plain).SignHTTP(ctx, who, req, hash, c.Service, cfg.Region, time.Now()); err != nil {
		return AWSResponse{}, fmt.Errorf("%s: %w", c.Service, err)
	}
	// net/http does not send this header. With it, net/http repeats a POST whose idle connection was closed.
	req.Header["Idempotency-Key"] = nil
	res, err := (&http.Client{Timeout: awsTimeout}).Do(req)
	if err != nil {
		return AWSResponse{}, fmt.Errorf("%s: %w", c.Service, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAWSBody))
	if err != nil {
		return AWSResponse{}, fmt.Errorf("%s: %w", c.Service, err)
	}
	return AWSResponse{res.StatusCode, res.Header, body}, nil
}

// Endpoint returns the base URL of a service of AWS. id is the service's id in the SDK,
// such as "cloudwatch". host is the first part of the public host name, such as
// "monitoring". The first of these that exists is taken: the environment variable
// AWS_ENDPOINT_URL_ID, with the id in capitals (read from cfg.ConfigSources);
// cfg.BaseEndpoint; the public URL.
func Endpoint(id, host string, cfg aws.Config) string {
	for _, source := range cfg.ConfigSources {
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok {
			if url, found, err := s.GetServiceBaseEndpoint(context.Background(), id); found && err == nil {
				return url
			}
		}
	}
	if cfg.BaseEndpoint != nil {
		return *cfg.BaseEndpoint
	}
	suffix := ".amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		suffix += ".cn"
	}
	return "https://" + host + "." + cfg.Region + suffix
}

package app

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"svc/pkg/background/jobs"
	"svc/pkg/edge/api"
)

// Bucket keeps files in an S3 bucket. It implements jobs.Files and api.Links.
type Bucket struct {
	Name   string
	Config aws.Config
}

// address returns the URL of a file, without its query.
func (b Bucket) address(file string) string {
	return strings.TrimSuffix(Endpoint("s3", "s3", b.Config), "/") + "/" + b.Name + "/" + file
}

// call sends a request for a file. It returns an error unless the status is 200.
func (b Bucket) call(ctx context.Context, method, file, query string, body []byte) (AWSAnswer, error) {
	answer, err := AWSCall{Service: "s3", Method: method, URL: b.address(file) + query, Body: body}.Do(ctx, b.Config)
	if err == nil && answer.Status != http.StatusOK {
		var fault struct{ Code string }
		_ = xml.Unmarshal(answer.Body, &fault) // without a code, the status says enough
		err = &s3Error{answer.Status, fault.Code}
	}
	return answer, err
}

// s3Error is a response of S3 with another status than 200.
type s3Error struct {
	status int
	code   string
}

func (e *s3Error) Error() string { return fmt.Sprintf("S3 responds %d %s", e.status, e.code) }

// Begin implements jobs.Files.
func (b Bucket) Begin(ctx context.Context, file string) (string, error) {
	answer, err := b.call(ctx, http.MethodPost, file, "?uploads=", nil)
	if err != nil {
		return "", err
	}
	var out struct{ UploadId string } // the name in S3's response
	if err := xml.Unmarshal(answer.Body, &out); err != nil || out.UploadId == "" {
		return "", errors.Join(errors.New("S3 returned no upload id"), err)
	}
	return out.UploadId, nil
}

// Part implements jobs.Files. The tag is the ETag of the part.
func (b Bucket) Part(ctx context.Context, file, upload string, n int, content []byte) (string, error) {
	q := url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {upload}}
	answer, err := b.call(ctx, http.MethodPut, file, "?"+q.Encode(), content)
	return answer.Header.Get("ETag"), err
}

// Finish implements jobs.Files. S3 returns InvalidPart if a part has another ETag.
// S3 may also report an error in a response with the status 200.
func (b Bucket) Finish(ctx context.Context, file, upload string, tags []string) error {
	type part struct {
		PartNumber int
		ETag       string
	}
	list := struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{}
	for i, tag := range tags {
		list.Part = append(list.Part, part{i + 1, tag})
	}
	body, err := xml.Marshal(list)
	if err != nil {
		return err
	}
	answer, err := b.call(ctx, http.MethodPost, file, "?"+url.Values{"uploadId": {upload}}.Encode(), body)
	var s3 *s3Error
	switch {
	case errors.As(err, &s3) && s3.code == "InvalidPart":
		return jobs.ErrParts
	case errors.As(err, &s3) && s3.code == "NoSuchUpload":
		if _, done := b.call(ctx, http.MethodHead, file, "", nil); done == nil {
			return nil // an earlier call has made the file
		}
		return jobs.ErrParts
	case err == nil && strings.Contains(string(answer.Body), "<Error>"):
		return errors.New("S3 could not make the file of its parts")
	}
	return err
}

// Put implements jobs.Files.
func (b Bucket) Put(ctx context.Context, file string, content []byte) error {
	_, err := b.call(ctx, http.MethodPut, file, "", content)
	return err
}

// Get implements jobs.Files.
func (b Bucket) Get(ctx context.Context, file string) ([]byte, error) {
	answer, err := b.call(ctx, http.MethodGet, file, "", nil)
	return answer.Body, err
}

// Link implements api.Links. An address ends earlier if the function's credentials
// do.
func (b Bucket) Link(ctx context.Context, file, as string, now time.Time) (string, error) {
	who, err := b.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("AWS credentials: %w", err)
	}
	q := url.Values{"X-Amz-Expires": {strconv.Itoa(int(api.LinkLife.Seconds()))},
		"response-cache-control":       {"no-store"},
		"response-content-disposition": {`attachment; filename="` + as + `"`}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.address(file)+"?"+q.Encode(), nil)
	if err != nil {
		return "", err
	}
	plain := func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }
	signed, _, err := v4.NewSigner(plain).PresignHTTP(ctx, who, req, "UNSIGNED-PAYLOAD", "s3",
		cmp.Or(b.Config.Region, "us-east-1"), now)
	return signed, err
}

package app

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"svc/pkg/background/jobs"
	"svc/pkg/base/timestamp"
	"svc/pkg/edge/api"
)

// Bucket stores files in an S3 bucket. It implements jobs.Files and api.Links.
type Bucket struct {
	Name   string
	Config aws.Config
}

// address returns the URL of a file, without its query.
func (b Bucket) address(file string) string {
	return strings.TrimSuffix(Endpoint("s3", "s3", b.Config), "/") + "/" + b.Name + "/" + file
}

// call sends a request for a file. It returns an error unless the status is 2xx.
func (b Bucket) call(ctx context.Context, method, file, query string, body []byte) (AWSResponse, error) {
	return b.with(ctx, nil, method, file, query, body)
}

// with sends a request for a file with the header, and returns an error unless the status
// is 2xx.
func (b Bucket) with(ctx context.Context, header map[string]string, method, file, query string, body []byte) (
	AWSResponse, error) {
	answer, err := AWSCall{Service: "s3", Method: method, URL: b.address(file) + query, Header: header, Body: body}.Do(
		ctx, b.Config)
	if err == nil && answer.Status/100 != 2 {
		var fault struct{ Code string }
		_ = xml.Unmarshal(answer.Body, &fault) // without a code, the error has the status only
		err = &s3Error{answer.Status, fault.Code}
	}
	return answer, err
}

// s3Error is a response of S3 that says that a request failed.
type s3Error struct {
	status int
	code   string
}

func (e *s3Error) Error() string { return fmt.Sprintf("S3 responds %d %s", e.status, e.code) }

// Begin implements jobs.Files. It returns S3's id of the upload.
func (b Bucket) Begin(ctx context.Context, file string) (string, error) {
	answer, err := b.call(ctx, http.MethodPost, file, "?uploads=", nil)
	if err != nil {
		return "", err
	}
	var out struct{ UploadId string } // S3's response has the id under this name
	if err := xml.Unmarshal(answer.Body, &out); err != nil || out.UploadId == "" {
		return "", errors.Join(errors.New("S3 returned no upload id"), err)
	}
	return out.UploadId, nil
}

// Part implements jobs.Files. upload is the id that Begin returned. The result is the
// ETag of the part.
func (b Bucket) Part(ctx context.Context, file, upload string, n int, content []byte) (string, error) {
	q := url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {upload}}
	answer, err := b.call(ctx, http.MethodPut, file, "?"+q.Encode(), content)
	return answer.Header.Get("ETag"), err
}

// Finish implements jobs.Files. S3 returns InvalidPart if a part does not have the ETag
// in tags. S3 may also report an error in a response with the status 200.
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
			return nil // an earlier call of Finish has made the file
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

// listed is one object in S3's response to a list request.
type listed struct {
	Key, ETag string
	Size      int64
}

// list returns at most n objects whose names begin with prefix. Stat uses it, because a
// HEAD request tells that an object is missing only to a caller who may list all objects.
func (b Bucket) list(ctx context.Context, prefix string, n int) ([]listed, error) {
	q := url.Values{"list-type": {"2"}, "prefix": {prefix}, "max-keys": {strconv.Itoa(n)}}
	answer, err := b.call(ctx, http.MethodGet, "", "?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	var out struct{ Contents []listed }
	return out.Contents, xml.Unmarshal(answer.Body, &out)
}

// Stat implements jobs.Files. It returns the size in bytes and the ETag.
func (b Bucket) Stat(ctx context.Context, file string) (int64, string, error) {
	found, err := b.list(ctx, file, 1)
	if err != nil || len(found) == 0 || found[0].Key != file {
		return 0, "", cmp.Or(err, error(fs.ErrNotExist))
	}
	return found[0].Size, found[0].ETag, nil
}

// Range implements jobs.Files. It returns jobs.ErrReplaced if the ETag of the file is not
// tag.
func (b Bucket) Range(ctx context.Context, file, tag string, from, n int64) ([]byte, error) {
	answer, err := b.with(ctx, map[string]string{"If-Match": tag, "Range": fmt.Sprintf("bytes=%d-%d", from, from+n-1)},
		http.MethodGet, file, "", nil)
	if s3, ok := errors.AsType[*s3Error](err); ok && s3.status == http.StatusPreconditionFailed {
		return nil, jobs.ErrReplaced
	}
	return answer.Body, err
}

// Remove implements jobs.Files. It deletes every object whose name begins with folder.
func (b Bucket) Remove(ctx context.Context, folder string) error {
	for {
		found, err := b.list(ctx, folder, 1000)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, one := range found {
			if _, err := b.call(ctx, http.MethodDelete, one.Key, "", nil); err != nil {
				return err
			}
		}
	}
}

// Upload implements api.Links. It returns an HTML form that uploads the file; most is the
// largest size in bytes. S3 checks the signed fields of the form
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html).
func (b Bucket) Upload(ctx context.Context, file string, most int64, now time.Time) (api.Upload, error) {
	who, err := b.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return api.Upload{}, fmt.Errorf("AWS credentials: %w", err)
	}
	day, region := now.UTC().Format("20060102"), cmp.Or(b.Config.Region, "us-east-1")
	end := now.Add(api.LinkLife)
	fields := map[string]string{"key": file, "x-amz-algorithm": "AWS4-HMAC-SHA256",
		"x-amz-credential": strings.Join([]string{who.AccessKeyID, day, region, "s3", "aws4_request"}, "/"),
		"x-amz-date":       now.UTC().Format("20060102T150405Z")}
	if who.SessionToken != "" {
		fields["x-amz-security-token"] = who.SessionToken
	}
	conditions := []any{map[string]string{"bucket": b.Name}, []any{"content-length-range", 1, most}}
	for name, value := range fields {
		conditions = append(conditions, map[string]string{name: value})
	}
	policy, err := json.Marshal(map[string]any{"expiration": end.UTC().Format(time.RFC3339), "conditions": conditions})
	if err != nil {
		return api.Upload{}, err
	}
	fields["policy"] = base64.StdEncoding.EncodeToString(policy)
	key := []byte("AWS4" + who.SecretAccessKey)
	for _, text := range []string{day, region, "s3", "aws4_request", fields["policy"]} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		key = mac.Sum(nil)
	}
	fields["x-amz-signature"] = hex.EncodeToString(key)
	return api.Upload{URL: strings.TrimSuffix(b.address(""), "/"), Fields: fields, MaxBytes: most,
		ExpiresAt: timestamp.Format(end)}, nil
}

// Link implements api.Links. It returns a URL that downloads the file under the name as.
// The URL is valid for api.LinkLife, or for less if the function's credentials expire
// earlier.
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

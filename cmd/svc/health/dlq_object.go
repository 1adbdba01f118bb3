package health

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"svc/pkg/app"
)

// object is an object in S3.
type object struct{ bucket, key string }

// inBucketName matches every name that S3 allows for a bucket. The name comes from a
// message of the queue, so it is checked: it must not lead to another host.
var inBucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// read returns the object's content, nil if the object or its bucket does not
// exist.
func (q queue) read(ctx context.Context, o object) ([]byte, error) {
	status, text, err := q.callS3(ctx, http.MethodGet, o)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, nil
	case status != http.StatusOK:
		return nil, fmt.Errorf("s3://%s/%s: S3 responds %d", o.bucket, o.key, status)
	}
	return text, nil
}

// remove deletes the object. It returns no error if the object does not exist.
func (q queue) remove(ctx context.Context, o object) error {
	if o == (object{}) {
		return nil
	}
	status, _, err := q.callS3(ctx, http.MethodDelete, o)
	if err == nil && status != http.StatusNoContent && status != http.StatusNotFound {
		err = fmt.Errorf("s3://%s/%s: S3 responds %d", o.bucket, o.key, status)
	}
	return err
}

// callS3 sends a signed request for the object, and returns the status and the body of
// the response. It returns an error if the bucket's name or the key is not valid.
func (q queue) callS3(ctx context.Context, method string, o object) (int, []byte, error) {
	if !inBucketName.MatchString(o.bucket) || o.key == "" {
		return 0, nil, fmt.Errorf("a message names the object %q in the bucket %q, which is not valid", o.key, o.bucket)
	}
	base := app.Endpoint("s3", "s3", q.cfg)
	segments := strings.Split(o.key, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.QueryEscape(s), "+", "%20") // S3 signs the path in this form
	}
	res, err := app.AWSCall{Service: "s3", Method: method,
		URL: strings.TrimSuffix(base, "/") + "/" + o.bucket + "/" + strings.Join(segments, "/")}.Do(ctx, q.cfg)
	if err != nil {
		return 0, nil, err
	}
	return res.Status, res.Body, nil
}

//go:build localstack

package app_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/background/jobs"
	"svc/pkg/edge/api"
)

// TestFilesInS3 runs against the S3 at AWS_ENDPOINT_URL, which `make localstack` starts.
// Addresses end after LinkLife and are bound to their file and its size.
func TestFilesInS3(t *testing.T) {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if endpoint == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make localstack")
	}
	ctx, now := t.Context(), time.Now()
	b := app.Bucket{Name: "svc-tried-files", Config: aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}}
	bucket := app.AWSCall{Service: "s3", Method: http.MethodPut, URL: endpoint + "/" + b.Name}
	made, err := bucket.Do(ctx, b.Config)
	testkit.Must(t, err)
	if made.Status != http.StatusOK {
		t.Fatalf("the bucket: %d %s", made.Status, made.Body)
	}
	const file, most = "imports/ten_1/imp_1.csv", 1000
	for _, tt := range []struct {
		name   string
		at     time.Time
		key    string
		size   int
		status int
	}{
		{"as signed", now, file, most, http.StatusNoContent},
		{"after its end", now.Add(-api.LinkLife - time.Minute), file, most, http.StatusForbidden},
		{"under another name", now, "imports/ten_2/imp_1.csv", most, http.StatusForbidden},
		{"of one byte too many", now, file, most + 1, http.StatusBadRequest},
		{"of nothing", now, file, 0, http.StatusBadRequest},
	} {
		to, err := b.Upload(ctx, file, most, tt.at)
		testkit.Must(t, err)
		to.Fields["key"] = tt.key
		file := bytes.Repeat([]byte("x"), tt.size)
		if status, text := testkit.Upload(t, http.DefaultClient, to, file); status != tt.status {
			t.Errorf("an upload %s: %d %s, want %d", tt.name, status, text, tt.status)
		}
	}
	size, tag, err := b.Stat(ctx, file)
	testkit.Must(t, err)
	if size != most {
		t.Errorf("the file has %d bytes, want those of the upload that was accepted", size)
	}
	part, err := b.Range(ctx, file, tag, 10, 5)
	testkit.Must(t, err)
	if string(part) != "xxxxx" {
		t.Errorf("a part is %q", part)
	}
	testkit.Must(t, b.Put(ctx, file, []byte("another file")))
	if _, err := b.Range(ctx, file, tag, 10, 5); !errors.Is(err, jobs.ErrReplaced) {
		t.Errorf("a part of a file that was replaced: %v", err)
	}
	for name, tt := range map[string]struct {
		at     time.Time
		change [2]string
		status int
	}{
		"as signed":          {now, [2]string{}, http.StatusOK},
		"after its end":      {now.Add(-api.LinkLife - time.Minute), [2]string{}, http.StatusForbidden},
		"with a later end":   {now, [2]string{"X-Amz-Expires=900", "X-Amz-Expires=9000"}, http.StatusForbidden},
		"of another file":    {now, [2]string{"ten_1", "ten_2"}, http.StatusForbidden},
		"under another name": {now, [2]string{"people.csv", "people.exe"}, http.StatusForbidden},
	} {
		link, err := b.Link(ctx, file, "people.csv", tt.at)
		testkit.Must(t, err)
		res, err := http.Get(strings.Replace(link, tt.change[0], tt.change[1], 1))
		testkit.Must(t, err)
		text, err := io.ReadAll(res.Body)
		testkit.Must(t, errors.Join(err, res.Body.Close()))
		if res.StatusCode != tt.status || (tt.status == http.StatusOK) != (string(text) == "another file") {
			t.Errorf("an address %s: %d %s, want %d", name, res.StatusCode, text, tt.status)
		}
	}
}

package app_test

import (
	"crypto/md5" // S3's ETag of a part
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/background/jobs"
	"svc/pkg/base/config"
)

// s3 responds as S3 does to the calls of a Bucket (S3 API reference, "Multipart
// upload"). A request without a signature gets 403.
type s3 struct {
	mu    sync.Mutex
	files map[string]string
	parts map[string]map[string]string // by upload and number
}

// ServeHTTP implements http.Handler.
func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}
	body, _ := io.ReadAll(r.Body) // a broken body fails the test by its content
	q, upload := r.URL.Query(), r.URL.Query().Get("uploadId")
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") ||
		r.Header.Get("X-Amz-Content-Sha256") == "":
		fail(http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodPost && q.Has("uploads"):
		id := fmt.Sprint("upload+", len(s.parts))
		s.parts[id] = map[string]string{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case upload != "" && s.parts[upload] == nil:
		fail(http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut && upload != "":
		s.parts[upload][q.Get("partNumber")] = string(body)
		w.Header().Set("ETag", etag(string(body)))
	case r.Method == http.MethodPost && upload != "":
		s.complete(w, r.URL.Path, upload, body, fail)
	case r.Method == http.MethodPut:
		s.files[r.URL.Path] = string(body)
	case s.files[r.URL.Path] == "":
		fail(http.StatusNotFound, "NoSuchKey")
	default:
		_, _ = io.WriteString(w, s.files[r.URL.Path])
	}
}

func (s *s3) complete(w http.ResponseWriter, path, upload string, body []byte, fail func(int, string)) {
	var list struct {
		Part []struct{ PartNumber, ETag string }
	}
	if err := xml.Unmarshal(body, &list); err != nil || len(list.Part) == 0 {
		fail(http.StatusBadRequest, "MalformedXML")
		return
	}
	file := ""
	for _, p := range list.Part {
		text := s.parts[upload][p.PartNumber]
		if etag(text) != p.ETag {
			fail(http.StatusBadRequest, "InvalidPart")
			return
		}
		file += text
	}
	s.files[path] = file
	delete(s.parts, upload)
	fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
}

func etag(text string) string {
	sum := md5.Sum([]byte(text))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// TestBucket: a file of several parts, its calls repeated; a part that was
// replaced is noticed; the address of a file is signed and ends.
func TestBucket(t *testing.T) {
	server := httptest.NewServer(&s3{files: map[string]string{}, parts: map[string]map[string]string{}})
	defer server.Close()
	ctx := t.Context()
	b := app.Bucket{Name: "files", Config: aws.Config{Region: "eu-central-1",
		ConfigSources: []any{config.AWS{Endpoints: map[string]string{"S3": server.URL}}},
		Credentials:   credentials.NewStaticCredentialsProvider("AKID", "secret", "session")}}
	const file = "exports/ten_1/exp_1.csv"
	upload, err := b.Begin(ctx, file)
	testkit.Must(t, err)
	var tags []string
	for n, text := range []string{"one,", "two"} {
		_, err := b.Part(ctx, file, upload, n+1, []byte("a runner that was killed"))
		testkit.Must(t, err)
		tag, err := b.Part(ctx, file, upload, n+1, []byte(text))
		testkit.Must(t, err)
		tags = append(tags, tag)
	}
	_, err = b.Part(ctx, file, upload, 2, []byte("a late runner"))
	testkit.Must(t, err)
	if err := b.Finish(ctx, file, upload, tags); !errors.Is(err, jobs.ErrParts) {
		t.Errorf("with a replaced part: %v", err)
	}
	_, err = b.Part(ctx, file, upload, 2, []byte("two"))
	testkit.Must(t, err)
	for range 2 { // the response to the first call is lost
		testkit.Must(t, b.Finish(ctx, file, upload, tags))
	}
	text, err := b.Get(ctx, file)
	testkit.Must(t, err)
	if string(text) != "one,two" {
		t.Errorf("the file is %q", text)
	}
	if err := b.Finish(ctx, "exports/ten_1/other.csv", upload, tags); !errors.Is(err, jobs.ErrParts) {
		t.Errorf("of an upload that is gone: %v", err)
	}
	testkit.Must(t, b.Put(ctx, file+".tail", []byte("rest")))
	link, err := b.Link(ctx, file, "trips.csv", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	testkit.Must(t, err)
	u, err := url.Parse(link)
	testkit.Must(t, err)
	q := u.Query()
	if u.Path != "/files/"+file || q.Get("X-Amz-Expires") != "900" || q.Get("X-Amz-Date") != "20260301T120000Z" ||
		q.Get("X-Amz-Signature") == "" || q.Get("X-Amz-Security-Token") != "session" ||
		q.Get("response-content-disposition") != `attachment; filename="trips.csv"` || strings.Contains(link, "secret") {
		t.Errorf("the address is %s", link)
	}
}

package stream_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"svc/pkg/data/stream"
)

// streamOf returns a client of a stream whose only shard has the pages. After
// them, it has empty pages without end, as an open shard may have.
func streamOf(t *testing.T, pages ...string) *dynamodbstreams.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "GetShardIterator") {
			_, _ = io.WriteString(w, `{"ShardIterator": "i"}`)
			return
		}
		page := ""
		if len(pages) > 0 {
			page, pages = pages[0], pages[1:]
		}
		_, _ = io.WriteString(w, `{"NextShardIterator": "i", "Records": [`+page+`]}`)
	}))
	t.Cleanup(server.Close)
	return dynamodbstreams.New(dynamodbstreams.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// TestReadRange: the result has every record of the range, or the error says
// that the range cannot be read. Otherwise a replay would drop a letter of which
// it processed only a part.
func TestReadRange(t *testing.T) {
	record := func(number string) string { return `{"dynamodb": {"SequenceNumber": "` + number + `"}}` }
	for name, tt := range map[string]struct {
		pages   []string
		trimmed bool
	}{
		"complete":                    {[]string{record("1"), "", record("2") + "," + record("3")}, false},
		"the last record is missing":  {[]string{record("1") + "," + record("4")}, false},
		"the shard shows a part only": {[]string{record("1")}, true},
		"the shard shows nothing":     {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := stream.ReadRange(t.Context(), streamOf(t, tt.pages...), stream.Range{Stream: "s", Shard: "h",
				First: "1", Last: "3"})
			if errors.Is(err, stream.ErrTrimmed) != tt.trimmed || err != nil && !tt.trimmed {
				t.Errorf("%d records, %v", len(records), err)
			}
		})
	}
}

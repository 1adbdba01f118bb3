package health

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestEveryMessageOfAQueue: messages that become visible again, because the
// queue is long, hide no message that was not seen yet. If only seen messages
// come, the reading ends.
func TestEveryMessageOfAQueue(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		first := 0 // the same ten messages again and again
		if requests == 3 {
			first = 10
		}
		var messages []map[string]string
		for i := first; i < first+10; i++ {
			id := fmt.Sprint("m", i)
			messages = append(messages, map[string]string{"MessageId": id, "ReceiptHandle": id, "Body": "text"})
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_ = json.NewEncoder(w).Encode(map[string]any{"Messages": messages})
	}))
	defer server.Close()
	q := queue{url: server.URL + "/1/q", sqs: sqs.New(sqs.Options{Region: "us-east-1",
		BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		DisableMessageChecksumValidation: true})}
	seen := map[string]int{}
	err := q.each(t.Context(), 30, func(m message) (bool, error) {
		seen[m.id]++
		return false, nil
	})
	if err != nil || len(seen) != 20 || seen["m0"] != 1 {
		t.Errorf("%d of 20 messages, %v: %v", len(seen), err, seen)
	}
	if requests > 20 {
		t.Errorf("%d requests", requests)
	}
}

// keeping is an HTTP client that still reads a request's body after it has
// returned the response, as net/http may.
type keeping struct{ body io.Reader }

func (k *keeping) Do(req *http.Request) (*http.Response, error) {
	k.body = req.Body
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{}`)), Request: req}, nil
}

// TestNoResponseOfAQueueIsLost: the SDK does not close a body that net/http still
// writes. That would break the connection before the response was read, and the
// received messages would stay invisible.
func TestNoResponseOfAQueueIsLost(t *testing.T) {
	client := &keeping{}
	q := newQueue("https://sqs.us-east-1.amazonaws.com/1/q", aws.Config{Region: "us-east-1", HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	if err := q.each(t.Context(), 30, func(message) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(client.body)
	if err != nil || !strings.Contains(string(body), "QueueUrl") {
		t.Errorf("the rest of the request: %q, %v", body, err)
	}
}

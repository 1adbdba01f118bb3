package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"svc/internal/test/testkit"
	"svc/pkg/domain/webhook"
)

// TestQueueOfWebhooksIsFair: each message has its tenant as its group, so a fair queue
// keeps one tenant's flood from delaying the others. What goes to persons' agents has
// a group of its own. SQS takes ten messages at a time.
func TestQueueOfWebhooksIsFair(t *testing.T) {
	groups, requests, refuse := map[string]int{}, 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Entries []sqsEntry }
		testkit.Must(t, json.NewDecoder(r.Body).Decode(&in))
		requests++
		if len(in.Entries) > perBatch {
			t.Errorf("%d messages in one request", len(in.Entries))
		}
		for _, e := range in.Entries {
			if groups[e.MessageGroupId]++; e.DelaySeconds != 5 {
				t.Errorf("a delay of %d s", e.DelaySeconds)
			}
		}
		if refuse {
			_, _ = io.WriteString(w, `{"Failed": [{"Code": "InternalError"}]}`)
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	defer server.Close()
	cfg := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
	put, err := sqsQueue(t.Context(), "webhooks", "queue", func(context.Context) (aws.Config, error) { return cfg, nil },
		webhook.Message.Group)
	testkit.Must(t, err)
	flood := make([]webhook.Message, 25)
	for i := range flood {
		flood[i].Tenant = "ten_1"
	}
	flood[3].Tenant, flood[4].Person = "ten_2", "cus_1"
	testkit.Must(t, put(t.Context(), 5*time.Second, flood...))
	if requests != 3 || groups["ten_1"] != 23 || groups["ten_2"] != 1 || groups["ten_1-persons"] != 1 {
		t.Errorf("%d requests, groups %v", requests, groups)
	}
	refuse = true
	if put(t.Context(), 5*time.Second, flood[0]) == nil {
		t.Error("a refused message is no error")
	}
}

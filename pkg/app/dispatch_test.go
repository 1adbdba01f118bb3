package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/background/dispatch"
)

// The queue gets at most ten messages with each signed request, and its delay. A
// message that SQS refuses is an error, so the stream delivers its record again.
func TestQueue(t *testing.T) {
	type request struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			ID           string `json:"Id"`
			MessageBody  string
			DelaySeconds int
		}
	}
	var got []request
	status, answer := http.StatusOK, `{"Successful":[]}`
	sqs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in request
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &in); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" ||
			r.Header.Get("Content-Type") != "application/x-amz-json-1.0" ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/sqs/aws4_request") {
			t.Errorf("%v: %s %v", err, body, r.Header)
		}
		got = append(got, in)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer sqs.Close()
	load := func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "eu-west-1", BaseEndpoint: &sqs.URL,
			Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")}, nil
	}
	send, err := app.SQS(t.Context(), "https://sqs.example/1/dispatch", load)
	testkit.Must(t, err)
	many := make([]dispatch.Message, 12)
	for i := range many {
		many[i] = dispatch.Message{Tenant: "ten_1", Trip: "trp_1"}
	}
	testkit.Must(t, send(t.Context(), 16*time.Second, many...))
	if len(got) != 2 || len(got[0].Entries) != 10 || len(got[1].Entries) != 2 {
		t.Fatalf("%+v", got)
	}
	want := request{QueueURL: "https://sqs.example/1/dispatch"}
	want.Entries = append(want.Entries, struct {
		ID           string `json:"Id"`
		MessageBody  string
		DelaySeconds int
	}{"0", `{"tenant":"ten_1","trip":"trp_1"}`, 16})
	got[1].Entries = got[1].Entries[:1]
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []struct {
		status int
		answer string
	}{{http.StatusOK, `{"Failed":[{"Id":"0","Code":"InternalError"}]}`}, {http.StatusForbidden, `{}`},
		{http.StatusInternalServerError, ``}} {
		status, answer = bad.status, bad.answer
		if send(t.Context(), 0, many[0]) == nil {
			t.Errorf("%d %s is no error", bad.status, bad.answer)
		}
	}
}

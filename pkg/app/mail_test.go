package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/mail"
	"svc/pkg/app"
)

// A mail is one signed request of SendEmail; an error names no address.
func TestSES(t *testing.T) {
	var got *http.Request
	var body []byte
	status := http.StatusOK
	ses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Amzn-ErrorType", "MessageRejected")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"Email address is not verified: ana@metro.example"}`)
	}))
	defer ses.Close()
	load := func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "eu-west-1", BaseEndpoint: &ses.URL,
			Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "session")}, nil
	}
	send, err := app.SES(t.Context(), "no-reply@svc.example", "reports", load)
	testkit.Must(t, err)
	testkit.Must(t, send(t.Context(), "ana@metro.example", "Crea una contraseña", "Hola\n"))
	if got.Method != http.MethodPost || got.URL.Path != "/v2/email/outbound-emails" ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	signature := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/[0-9]{8}/eu-west-1/ses/aws4_request, SignedHeaders=[a-z0-9;-]*content-type;host;[a-z0-9;-]*, Signature=[0-9a-f]{64}$`)
	if !signature.MatchString(got.Header.Get("Authorization")) || got.Header.Get("X-Amz-Security-Token") != "session" {
		t.Errorf("signed as %v", got.Header)
	}
	var sent, want any
	testkit.Must(t, json.Unmarshal(body, &sent))
	testkit.Must(t,
		json.Unmarshal([]byte(`{"FromEmailAddress":"no-reply@svc.example","ConfigurationSetName":"reports","Destination":{"ToAddresses":["ana@metro.example"]},
		"Content":{"Simple":{"Subject":{"Data":"Crea una contraseña","Charset":"UTF-8"},
		"Body":{"Text":{"Data":"Hola\n","Charset":"UTF-8"}}}}}`), &want))
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	status = http.StatusBadRequest
	err = send(t.Context(), "ana@metro.example", "s", "t")
	if err == nil || strings.Contains(err.Error(), "ana@") || !strings.Contains(err.Error(), "MessageRejected") {
		t.Errorf("a refusal: %v", err)
	}
}

// TestReportsOfMails: DeliverFunction gets the reports of SES from a topic, beside the
// messages of its queue. No address is logged.
func TestReportsOfMails(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	wire := &testkit.Wire{}
	p := &app.Runtime{DB: testkit.TableOnWire(t, wire), Now: time.Now,
		Logger: slog.New(slog.NewJSONHandler(&logs, nil))}
	handle, err := app.Delivering(p, app.Deliver)
	testkit.Must(t, err)
	report := func(message string) error {
		body, err := json.Marshal(map[string]any{"Records": []any{map[string]any{"EventSource": "aws:sns",
			"EventVersion": "1.0", "Sns": map[string]any{"Type": "Notification", "MessageId": "m1", "Message": message}}}})
		testkit.Must(t, err)
		_, err = lambda.NewHandler(handle).Invoke(t.Context(), body)
		return err
	}
	const bounced = `{"eventType":"Bounce","bounce":{"bounceType":"Permanent","bouncedRecipients":[` +
		`{"emailAddress":"ana@metro.example","diagnosticCode":"smtp; 550 5.1.1 <ana@metro.example>"}]},` +
		`"mail":{"destination":["ana@metro.example"]}}`
	wire.Break()
	if err := report(bounced); err == nil {
		t.Error("a report is lost while the table is unavailable")
	}
	wire.Restore()
	testkit.Must(t, report(bounced))
	testkit.Must(t, report("Successfully validated SNS topic for Amazon SES event publishing."))
	found, err := mail.NewStops(p.DB, p.Now).Find(t.Context(), "ANA@metro.example")
	if testkit.Must(t, err); found == nil || found.Reason != mail.Bounce {
		t.Errorf("blocked: %+v", found)
	}
	if _, err := lambda.NewHandler(handle).Invoke(t.Context(), []byte(`{"Records":[{"messageId":"q1","body":"x",`+
		`"eventSource":"aws:sqs"}]}`)); err != nil {
		t.Errorf("a message of the queue: %v", err)
	}
	if text := logs.String(); strings.Contains(text, "ana@") || !strings.Contains(text, `"addresses":1`) ||
		!strings.Contains(text, `"id":"q1"`) {
		t.Errorf("logged %s", text)
	}
}

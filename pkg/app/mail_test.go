package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/app"
	"svc/pkg/local/testkit"
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
	mail, err := app.SES(t.Context(), "no-reply@svc.example", load)
	testkit.Must(t, err)
	testkit.Must(t, mail(t.Context(), "ana@metro.example", "Crea una contraseña", "Hola\n"))
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
		json.Unmarshal([]byte(`{"FromEmailAddress":"no-reply@svc.example","Destination":{"ToAddresses":["ana@metro.example"]},
		"Content":{"Simple":{"Subject":{"Data":"Crea una contraseña","Charset":"UTF-8"},
		"Body":{"Text":{"Data":"Hola\n","Charset":"UTF-8"}}}}}`), &want))
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	status = http.StatusBadRequest
	err = mail(t.Context(), "ana@metro.example", "s", "t")
	if err == nil || strings.Contains(err.Error(), "ana@") || !strings.Contains(err.Error(), "MessageRejected") {
		t.Errorf("a refusal: %v", err)
	}
}

package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"svc/internal/test/testkit"
	"svc/pkg/app"
)

// A service of AWS closes connections that were idle for a while. A function that was
// frozen meanwhile learns of it only from its next request, which then gets no response.
func TestAWSCallOnConnectionThatWasClosed(t *testing.T) {
	type requests struct{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(requests{}).(*atomic.Int64).Add(1) > 1 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		_, _ = io.Copy(w, r.Body)
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, requests{}, new(atomic.Int64))
	}
	server.Start()
	defer server.Close()
	cfg := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodPost} {
		got, err := app.AWSCall{Service: "s3", Method: method, URL: server.URL, Body: []byte("part")}.Do(t.Context(), cfg)
		testkit.Must(t, err)
		if got.Status != http.StatusOK || string(got.Body) != "part" {
			t.Errorf("%s: %d %q", method, got.Status, got.Body)
		}
	}
}

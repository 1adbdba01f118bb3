package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"

	"svc/pkg/edge/gateway"
)

// urlEvent is the event of a function URL. A direct call has no apiId.
func urlEvent(method, apiID string) json.RawMessage {
	text, _ := json.Marshal(map[string]any{"version": "2.0", "routeKey": "$default", "rawPath": "/a%2",
		"headers": map[string]string{"x-a": "1,2"}, "cookies": []string{"b=2"}, "requestContext": map[string]any{
			"apiId": apiID, "domainName": "x.lambda-url.us-east-1.on.aws", "stage": "$default", "requestId": "r1",
			"http": map[string]any{"method": method, "path": "/a%2", "sourceIp": "192.0.2.1"}}})
	return text
}

func streamed(t *testing.T, event json.RawMessage, h http.HandlerFunc) *lambda.LambdaFunctionURLStreamingResponse {
	t.Helper()
	got, err := gateway.Streamed(h)(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	res, ok := got.(*lambda.LambdaFunctionURLStreamingResponse)
	if !ok {
		t.Fatalf("%T %s", got, got)
	}
	return res
}

func bodyOf(t *testing.T, res *lambda.LambdaFunctionURLStreamingResponse) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		text = append(text, err.Error()...)
	}
	if err := res.Close(); err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestStreamed: a piece can be read before the handler ends, and what follows the
// status changes no header.
func TestStreamed(t *testing.T) {
	more := make(chan struct{})
	res := streamed(t, urlEvent("GET", "x"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Got", r.URL.Path+" "+r.Header.Get("X-A")+" "+r.Header.Get("Cookie"))
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, "one ")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-more
		_, _ = io.WriteString(w, "two")
	})
	piece := make([]byte, 100)
	n, err := res.Body.Read(piece)
	if err != nil || string(piece[:n]) != "one " {
		t.Errorf("%q, %v", piece[:n], err)
	}
	close(more)
	if got := bodyOf(t, res); got != "two" || res.StatusCode != http.StatusTeapot ||
		res.Headers["X-Got"] != "/a%2 1,2 b=2" || res.Headers["X-Late"] != "" || len(res.Cookies) != 2 {
		t.Errorf("%q, %+v", got, res)
	}
}

// TestStreamedFailures: a panic before the status is a 500, a later one breaks the
// response off, and neither ends the process. HEAD has no body.
func TestStreamedFailures(t *testing.T) {
	res := streamed(t, urlEvent("GET", "x"), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Secret", "1")
		panic("a bug")
	})
	if got := bodyOf(t, res); res.StatusCode != 500 || !strings.Contains(got, `"server_error"`) ||
		res.Headers["X-Request-Id"] != "req_r1" || res.Headers["X-Secret"] != "" {
		t.Errorf("%q, %+v", got, res)
	}
	res = streamed(t, urlEvent("GET", "x"), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one ")
		panic("a bug")
	})
	if got := bodyOf(t, res); got != "one the handler failed" {
		t.Errorf("%q", got)
	}
	res = streamed(t, urlEvent("HEAD", "x"), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one")
	})
	if got := bodyOf(t, res); got != "" || res.StatusCode != 200 ||
		!strings.HasPrefix(res.Headers["Content-Type"], "text/plain") {
		t.Errorf("HEAD: %q, %+v", got, res)
	}
	res = streamed(t, urlEvent("GET", "x"), func(http.ResponseWriter, *http.Request) {})
	if got := bodyOf(t, res); got != "" || res.StatusCode != 200 {
		t.Errorf("nothing: %q, %+v", got, res)
	}
	res = streamed(t, json.RawMessage(`{"version":"2.0","requestContext":{"apiId":"x"}}`), nil)
	if res.StatusCode != 400 || !strings.Contains(bodyOf(t, res), `"invalid_request"`) {
		t.Errorf("malformed: %+v", res)
	}
}

// TestStreamedReaders: a reader that goes, or does not read, ends the handler.
func TestStreamedReaders(t *testing.T) {
	ended := make(chan error, 1)
	res := streamed(t, urlEvent("GET", "x"), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		<-r.Context().Done()
		_, err := io.WriteString(w, "one")
		ended <- err
	})
	if err := res.Close(); err != nil {
		t.Errorf("gone: %v", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("gone: %v", err)
		}
	default:
		t.Error("Close does not wait for the handler")
	}
	res = streamed(t, urlEvent("GET", "x"), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Millisecond))
		_, err := io.WriteString(w, "one")
		ended <- err
	})
	if err := <-ended; err == nil {
		t.Error("a reader that does not read holds the handler")
	}
	if _, err := io.ReadAll(res.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// TestStreamedDirect: a direct call, as of the smoke test, gets the response of Handler.
func TestStreamedDirect(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !gateway.Direct(r.Context()) {
			t.Error("it is not direct")
		}
		_, _ = io.WriteString(w, "one")
		if http.NewResponseController(w).Flush() == nil {
			t.Error("it can be flushed")
		}
	})
	got, err := gateway.Streamed(h)(context.Background(), urlEvent("GET", ""))
	want, _ := gateway.Handler(h)(context.Background(), urlEvent("GET", ""))
	if text, ok := got.(json.RawMessage); !ok || err != nil || string(text) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

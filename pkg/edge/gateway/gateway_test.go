package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/edge/gateway"
)

var update = flag.Bool("update", false, "write the golden answers again")

const events = "../../../events/gateway"

// seen is a request as a handler receives it.
type seen struct {
	Method        string
	RequestURI    string
	Path          string
	RawQuery      string
	Query         map[string][]string
	Host          string
	RemoteAddr    string
	Header        http.Header
	ContentLength int64
	Body          string // quoted if it is not UTF-8
	SourceIP      string
	BaseURL       string
}

type golden struct {
	Request *seen // null if the handler was not called
	Answer  any
}

// decoded returns the response as API Gateway reads it. It fails the test for a
// member that the gateway does not know.
func decoded(t *testing.T, answer []byte) (response any) {
	t.Helper()
	response = new(lambdaevents.APIGatewayProxyResponse)
	if bytes.Contains(answer, []byte(`"cookies":`)) { // payload 2.0
		response = new(lambdaevents.APIGatewayV2HTTPResponse)
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(response); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return response
}

// witness records what it receives and responds according to the last part of
// the path.
func witness(s **seen) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*s = &seen{
			Method: r.Method, RequestURI: r.RequestURI, Path: r.URL.Path, RawQuery: r.URL.RawQuery, Query: r.URL.Query(),
			Host: r.Host, RemoteAddr: r.RemoteAddr, Header: r.Header, ContentLength: r.ContentLength, Body: text(body),
			SourceIP: gateway.SourceIP(r.Context()), BaseURL: gateway.BaseURL(r.Context()),
		}
		w.Header().Set("X-Request-Id", "req_1")
		switch filepath.Base(r.URL.Path) {
		case "set-cookies":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", HttpOnly: true, Secure: true})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "x,y", Path: "/oauth"})
			w.Header().Add("Vary", "Accept")
			w.Header().Add("Vary", "Accept-Language")
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusTeapot)       // too late
			w.Header().Set("X-Late", "not to see") // too late
		case "binary":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte{0x89, 'P', 'N', 'G', 0xff, 0x00})
		case "nothing":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNoContent)
			_, _ = w.Write([]byte("not to see"))
		case "redirect":
			w.Header().Set("Location", "/next?a=b\r\nX-Injected: c")
			w.WriteHeader(http.StatusSeeOther)
		case "panic":
			panic("a secret")
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "999")
			_, _ = io.WriteString(w, `{"ok":true,"text":"ä<&>"}`)
		}
	})
}

func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	quoted, _ := json.Marshal(b)
	return string(quoted)
}

func quiet(t *testing.T) {
	t.Helper()
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(old) })
}

func TestEvents(t *testing.T) {
	quiet(t)
	files, err := filepath.Glob(events + "/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("events/gateway holds %d events (%v); it is part of the repository", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			answer, err := gateway.Handler(witness(&g.Request)).Invoke(context.Background(), raw)
			if err != nil {
				t.Fatalf("the function failed: %v", err)
			}
			g.Answer = decoded(t, answer)
			compare(t, filepath.Join(events, "golden", name+".json"), g)
		})
	}
}

func compare(t *testing.T, file string, g golden) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(g); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; `go test ./pkg/edge/gateway -update` writes it", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-golden +got)\n%s", diff)
	}
}

func TestPanicIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	raw, err := os.ReadFile(events + "/v2-panic.json")
	if err != nil {
		t.Fatal(err)
	}
	var s *seen
	if _, err := gateway.Handler(witness(&s))(context.Background(), raw); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "panic in a handler") || strings.Contains(log.String(), "a secret") {
		t.Errorf("logged: %s", log.String())
	}
}

func TestLazy(t *testing.T) {
	quiet(t)
	raw, err := os.ReadFile(events + "/v2-stage.json")
	if err != nil {
		t.Fatal(err)
	}
	var bases []string
	f := gateway.Lazy("", func(_ context.Context, base string) (http.Handler, error) {
		bases = append(bases, base)
		if len(bases) == 1 {
			return nil, io.ErrUnexpectedEOF
		}
		return http.NotFoundHandler(), nil
	})
	var statuses []int
	for range 3 {
		answer, err := f(context.Background(), raw)
		if err != nil {
			t.Fatal(err)
		}
		var a struct{ StatusCode int }
		_ = json.Unmarshal(answer, &a)
		statuses = append(statuses, a.StatusCode)
	}
	const base = "https://abc123.execute-api.eu-central-1.amazonaws.com/dev"
	if diff := cmp.Diff([]string{base, base}, bases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{500, 404, 404}, statuses); diff != "" {
		t.Error(diff)
	}
}

// A request gets three tenths of the function's time. The response is then sent
// before the gateway times out.
func TestTimeOfARequest(t *testing.T) {
	quiet(t)
	raw, err := os.ReadFile(events + "/v2-stage.json")
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, timeout := range []time.Duration{15 * time.Minute, 24 * time.Hour} {
		end := time.Now().Add(timeout)
		ctx, cancel := context.WithDeadline(t.Context(), end)
		defer cancel()
		from := func(began time.Time) time.Time { return began.Add(end.Sub(began) * 3 / 10) }
		earliest := from(time.Now())
		f := gateway.Lazy("", func(context.Context, string) (http.Handler, error) {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				requests++
				got, ok := r.Context().Deadline()
				if latest := from(time.Now()); !ok || got.Before(earliest.Add(-time.Second)) || got.After(latest.Add(time.Second)) {
					t.Errorf("the request ends at %v (%v), want %v to %v", got, ok, earliest, latest)
				}
			}), nil
		})
		if _, err := f(ctx, raw); err != nil {
			t.Error(err)
		}
	}
	if requests != 2 {
		t.Errorf("%d requests were handled", requests)
	}
}

// The first caller and its domain do not decide the address of the service: a
// tenant's domain never becomes the issuer for all tenants.
func TestLazyByCustomDomain(t *testing.T) {
	raw, err := os.ReadFile(events + "/v2-stage.json")
	if err != nil {
		t.Fatal(err)
	}
	custom := strings.NewReplacer(`"domainName": "abc123.execute-api.eu-central-1.amazonaws.com"`,
		`"domainName": "ride.nova.example"`,
		`"domainPrefix": "abc123"`, `"domainPrefix": "ride"`).Replace(string(raw))
	for _, c := range []struct{ event, region, want string }{
		{string(raw), "eu-central-1", "https://abc123.execute-api.eu-central-1.amazonaws.com/dev"},
		{custom, "eu-central-1", "https://abc123.execute-api.eu-central-1.amazonaws.com/dev"},
		{custom, "cn-north-1", "https://abc123.execute-api.cn-north-1.amazonaws.com.cn/dev"},
		{strings.Replace(custom, `"stage": "dev"`, `"stage": "$default"`, 1), "eu-central-1",
			"https://abc123.execute-api.eu-central-1.amazonaws.com"},
	} {
		got := ""
		f := gateway.Lazy(c.region, func(_ context.Context, base string) (http.Handler, error) {
			got = base
			return http.NotFoundHandler(), nil
		})
		if _, err := f(context.Background(), json.RawMessage(c.event)); err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
}

// TestLazyWithoutGateway: an event that no gateway sent gets a handler of its
// own address, in a new process and in one that has served a gateway. The
// address does not become the issuer of the gateway's events.
func TestLazyWithoutGateway(t *testing.T) {
	raw, err := os.ReadFile(events + "/v2-stage.json")
	if err != nil {
		t.Fatal(err)
	}
	invoked := strings.NewReplacer(`"apiId": "abc123"`, `"apiId": ""`, "abc123.execute-api", "smoke").Replace(string(raw))
	var bases []string
	f := gateway.Lazy("", func(_ context.Context, base string) (http.Handler, error) {
		bases = append(bases, base)
		return http.NotFoundHandler(), nil
	})
	for _, event := range []string{invoked, invoked, string(raw), invoked, string(raw)} {
		if _, err := f(context.Background(), json.RawMessage(event)); err != nil {
			t.Fatal(err)
		}
	}
	const first, own = "https://smoke.eu-central-1.amazonaws.com/dev",
		"https://abc123.execute-api.eu-central-1.amazonaws.com/dev"
	if diff := cmp.Diff([]string{first, first, own, first}, bases); diff != "" {
		t.Error(diff)
	}
}

// TestDirect: a payload 2.0 that names no gateway is a direct invocation. Every
// event of a gateway names the gateway, and a load balancer sends another payload.
func TestDirect(t *testing.T) {
	direct := func(raw string) (yes bool) {
		t.Helper()
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { yes = gateway.Direct(r.Context()) })
		if _, err := gateway.Handler(h)(context.Background(), json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	quiet(t)
	files, _ := filepath.Glob(events + "/v*.json")
	if len(files) == 0 {
		t.Fatal("there are no events")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if direct(string(raw)) {
			t.Errorf("%s passes for an event without a gateway", filepath.Base(file))
		}
	}
	const balancer = `{"requestContext": {"elb": {"targetGroupArn": "arn"}}, "httpMethod": "GET", "path": "/health",
		"headers": {}, "body": "", "isBase64Encoded": false}`
	const lattice = `{"version": "2.0", "method": "GET", "path": "/health", "headers": {},
		"requestContext": {"serviceArn": "arn"}}`
	const invoked = `{"version": "2.0", "rawPath": "/health", "requestContext": {"http": {"method": "GET"}}}`
	for raw, want := range map[string]bool{balancer: false, lattice: false, invoked: true,
		strings.Replace(invoked, `"2.0"`, `"1.0"`, 1): false, strings.Replace(invoked, `"version": "2.0", `, "", 1): false,
		strings.Replace(invoked, `{"http"`, `{"apiId": "a", "http"`, 1): false} {
		if got := direct(raw); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
	if gateway.Direct(context.Background()) {
		t.Error("a request without an event passes for one without a gateway")
	}
}

func FuzzEvent(f *testing.F) {
	files, err := filepath.Glob(events + "/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("events/gateway is empty (%v); it is part of the repository", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s *seen
		answer, err := gateway.Handler(witness(&s))(context.Background(), raw)
		if err != nil {
			t.Fatalf("the function failed: %v", err)
		}
		var a struct {
			StatusCode int
			Headers    map[string]string
		}
		if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode < 200 || a.StatusCode > 599 {
			t.Fatalf("status %d (%v): %s", a.StatusCode, err, answer)
		}
		if s == nil {
			return
		}
		for name, values := range s.Header {
			if strings.HasPrefix(name, "X-Forwarded") || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("header %q reached the handler", name)
			}
		}
		if !strings.HasPrefix(s.Path, "/") {
			t.Errorf("path %q", s.Path)
		}
	})
}

func BenchmarkHandler(b *testing.B) {
	raw, err := os.ReadFile(events + "/v2-plain.json")
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"ok":true}`)
	f := gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f(context.Background(), raw)
	}
}

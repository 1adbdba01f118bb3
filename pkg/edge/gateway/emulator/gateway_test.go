package emulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/edge/gateway"
	"svc/pkg/edge/gateway/emulator"
)

func TestEvent(t *testing.T) {
	g, calls := newSmall(t, `{"statusCode":200}`)
	send(g, "POST", "http://rides.example:8080/a%20b%3Fc/%C3%A9?q=1&q=2%2C3&e=&n&bad=%zz&p=a+b",
		strings.NewReader(`{"a":"ä"}`), "Content-Type: application/json; charset=utf-8", "Idempotency-Key: a,b",
		"Accept: text/html", "Accept: */*;q=0.1", "Cookie: a=1; b=2", "Cookie: c=3", "X-Forwarded-For: 10.0.0.1",
		"X-Forwarded-Proto: https", "User-Agent: test")
	want := `{
		"version": "2.0", "routeKey": "$default", "rawPath": "/a b?c/é",
		"rawQueryString": "q=1&q=2%2C3&e=&n&bad=%zz&p=a+b", "cookies": ["a=1", "b=2", "c=3"],
		"headers": {"accept": "text/html,*/*;q=0.1", "content-type": "application/json; charset=utf-8",
			"idempotency-key": "a,b", "host": "rides.example:8080", "user-agent": "test",
			"x-forwarded-for": "10.0.0.1, 192.0.2.1", "x-forwarded-port": "8080", "x-forwarded-proto": "http"},
		"queryStringParameters": {"q": "1,2,3", "e": "", "n": "", "bad": "%zz", "p": "a b"},
		"requestContext": {
			"accountId": "123456789012", "apiId": "local", "domainName": "rides.example", "domainPrefix": "rides",
			"http": {"method": "POST", "path": "/a b?c/é", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "test"},
			"requestId": "id-1", "routeKey": "$default", "stage": "$default",
			"time": "01/Mar/2026:12:00:00 +0000", "timeEpoch": 1772366400000},
		"body": "{\"a\":\"ä\"}", "isBase64Encoded": false}`
	var w, got map[string]any
	if err := errors.Join(json.Unmarshal([]byte(want), &w), json.Unmarshal((*calls)[0].Raw, &got)); err != nil {
		t.Fatal(err)
	}
	delete(got["requestContext"].(map[string]any), "authentication") // of client certificates
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBodies(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, body, want string
		base64                  bool
	}{
		"JSON":                   {"application/json", `{"a":1}`, `{"a":1}`, false},
		"text":                   {"text/plain", "ä", "ä", false},
		"a form":                 {"application/x-www-form-urlencoded", "a=b", "YT1i", true},
		"no type":                {"", "plain", "plain", false},
		"no type, no text":       {"", "\xff\x00", "/wA=", true},
		"JSON that is not UTF-8": {"application/json", "\"\xff\"", "Iv8i", true},
		"a malformed type":       {"a/b/c;;", "x", "eA==", true},
		"none":                   {"application/json", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g, calls := newSmall(t, `{"statusCode":200}`)
			var headers []string
			if c.contentType != "" {
				headers = []string{"Content-Type: " + c.contentType}
			}
			send(g, "POST", "/x", strings.NewReader(c.body), headers...)
			e := (*calls)[0].Event
			if e.Body != c.want || e.IsBase64Encoded != c.base64 {
				t.Errorf("got %q, base64 %t", e.Body, e.IsBase64Encoded)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	const failed = `{"message":"Internal Server Error"}`
	for name, c := range map[string]struct {
		answer string
		status int
		header http.Header // headers to compare
		body   string
	}{
		"everything": {
			`{"statusCode":201,"headers":{"Content-Type":"text/html","x-a":"1,2"},"cookies":["a=1","b=2"],"body":"hi"}`,
			201, http.Header{"Content-Type": {"text/html"}, "X-A": {"1,2"}, "Set-Cookie": {"a=1", "b=2"}}, "hi"},
		"base64":  {`{"statusCode":200,"isBase64Encoded":true,"body":"/wA="}`, 200, nil, "\xff\x00"},
		"no body": {`{"statusCode":204}`, 204, http.Header{"Content-Type": nil}, ""},
		"no type": {`{"statusCode":200,"body":"<b>"}`, 200,
			http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "<b>"},
		"status as text": {`{"statusCode":"404","body":"x"}`, 500, nil, failed},
		"no status":      {`{"a":1}`, 500, nil, failed},
		"a text":         {`"hello"`, 500, nil, failed},
		"payload 1.0's headers": {`{"statusCode":200,"multiValueHeaders":{"X-A":["1"]},"body":""}`, 200,
			http.Header{"X-A": nil}, ""},
		"the gateway's headers": {
			`{"statusCode":200,"headers":{"Content-Length":"99","Transfer-Encoding":"x","a b":"c"},"body":"x"}`,
			200, http.Header{"Transfer-Encoding": nil, "Content-Length": nil}, "x"},
		"not JSON":                {`{`, 500, nil, failed},
		"nothing":                 {``, 500, nil, failed},
		"a status that is none":   {`{"statusCode":99}`, 500, nil, failed},
		"a status of wrong type":  {`{"statusCode":{}}`, 500, nil, failed},
		"a body of wrong type":    {`{"statusCode":200,"body":{}}`, 500, nil, failed},
		"base64 that is none":     {`{"statusCode":200,"isBase64Encoded":true,"body":"?"}`, 500, nil, failed},
		"headers of a wrong kind": {`{"statusCode":200,"headers":[]}`, 500, nil, failed},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := newSmall(t, c.answer)
			r := send(g, "GET", "/x", nil)
			if r.StatusCode != c.status {
				t.Errorf("status %d, want %d", r.StatusCode, c.status)
			}
			for name, want := range c.header {
				if diff := cmp.Diff(want, r.Header[name]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if got := body(t, r); got != c.body {
				t.Errorf("body %q, want %q", got, c.body)
			}
			if id := r.Header.Get("Apigw-Requestid"); id != "id-1" {
				t.Errorf("id %q", id)
			}
		})
	}
}

func TestFunctionsThatFail(t *testing.T) {
	late := make(chan struct{})
	defer close(late)
	for name, f := range map[string]emulator.Function{
		"an error": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("broken") },
		"a panic":  func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("broken") },
		"no end":   func(context.Context, json.RawMessage) (json.RawMessage, error) { <-late; return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			hasty := strings.Replace(small, "Timeout: 60", "Timeout: 1", 1)
			g, err := emulator.New([]byte(hasty), map[string]emulator.Function{"Pets": f, "Rest": f})
			if err != nil {
				t.Fatal(err)
			}
			freeze(g)
			r := send(g, "GET", "/", nil, "Origin: https://app.example")
			if got := body(t, r); r.StatusCode != 500 || got != `{"message":"Internal Server Error"}` {
				t.Errorf("%d %s", r.StatusCode, got)
			}
			if r.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Error("no CORS headers")
			}
		})
	}
}

func TestFunctionOutlivesItsClient(t *testing.T) {
	f := func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		if err := ctx.Err(); err != nil {
			t.Errorf("the function was cancelled: %v", err)
		}
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the function has no deadline")
		}
		return json.RawMessage(`{"statusCode":204}`), nil
	}
	g, err := emulator.New([]byte(small), map[string]emulator.Function{"Pets": f, "Rest": f})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
}

func TestLimits(t *testing.T) {
	g, calls := newSmall(t, `{"statusCode":204}`)
	unknownLength := func(n int) io.Reader { return io.MultiReader(bytes.NewReader(make([]byte, n))) }
	for name, c := range map[string]struct {
		body   io.Reader
		header string
		status int
	}{
		"the largest body":              {bytes.NewReader(make([]byte, emulator.MaxBody)), "", 204},
		"a byte more":                   {bytes.NewReader(make([]byte, emulator.MaxBody+1)), "", 413},
		"a byte more, length not given": {unknownLength(emulator.MaxBody + 1), "", 413},
		"headers too large":             {nil, strings.Repeat("x", emulator.MaxHeader), 431},
	} {
		t.Run(name, func(t *testing.T) {
			*calls = nil
			r := send(g, "POST", "/x", c.body, "X-Large: "+c.header)
			if r.StatusCode != c.status || (len(*calls) == 1) != (c.status == 204) {
				t.Errorf("status %d after %d calls", r.StatusCode, len(*calls))
			}
		})
	}
}

func TestCORS(t *testing.T) {
	ok := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"statusCode":200,"headers":{"access-control-allow-origin":"https://evil.example"}}`), nil
	}
	g := newReal(t, ok)
	const exposed = "X-Request-Id,ETag,Idempotent-Replayed,Retry-After,WWW-Authenticate,Allow,Deprecation,Sunset"
	for name, c := range map[string]struct {
		method  string
		headers []string
		status  int
		want    map[string]string
	}{
		"preflight": {"OPTIONS", []string{"Origin: https://app.example", "Access-Control-Request-Method: PATCH"}, 204,
			map[string]string{
				"Access-Control-Allow-Origin":   "*",
				"Access-Control-Allow-Methods":  "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS",
				"Access-Control-Allow-Headers":  "*,Authorization",
				"Access-Control-Max-Age":        "3600",
				"Access-Control-Expose-Headers": "", "Access-Control-Allow-Credentials": "",
			}},
		"a request of another origin": {"GET", []string{"Origin: https://app.example"}, 200, map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed, "Access-Control-Allow-Credentials": "",
		}},
		"a request of no origin": {"GET", nil, 200, map[string]string{
			"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := send(g, c.method, "/api/v1/trips", nil, c.headers...)
			if r.StatusCode != c.status {
				t.Errorf("status %d", r.StatusCode)
			}
			for name, want := range c.want {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

// A handler receives exactly what the client sends, through both gateways.
func TestThereAndBack(t *testing.T) {
	var got *http.Request
	var gotBody []byte
	g := newReal(t, emulator.Function(gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		gotBody, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(gotBody)
	}))))
	server := httptest.NewServer(g)
	defer server.Close()
	client := &http.Client{Timeout: 5 * time.Minute}
	check := func(id, name, value, header string, content []byte) bool {
		id, header = strings.ToValidUTF8(id, ""), clean(header)
		r, err := http.NewRequest("PUT", server.URL, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = "/api/v1/trips/" + id
		q := r.URL.Query()
		q.Add(name, value)
		q.Add(name, "")
		r.URL.RawQuery = q.Encode()
		r.Header.Set("Idempotency-Key", header)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		back, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == 200 && bytes.Equal(back, content) && bytes.Equal(gotBody, content) &&
			got.URL.Path == r.URL.Path && cmp.Equal(got.URL.Query(), q) && got.Header.Get("Idempotency-Key") == header &&
			got.Host == server.Listener.Addr().String() && gateway.SourceIP(got.Context()) == "127.0.0.1"
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 300, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
}

// clean returns a header value made from s. It contains a comma, and begins and
// ends with a letter, so trimming does not change it.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r > 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > 1000 {
		s = strings.ToValidUTF8(s[:1000], "")
	}
	return "a, b" + s + "c"
}

func TestHEAD(t *testing.T) {
	g := newReal(t, emulator.Function(gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = io.WriteString(w, `{"error":"method_not_allowed"}`)
	}))))
	server := httptest.NewServer(g)
	defer server.Close()
	r, err := http.Head(server.URL + "/docs")
	if err != nil {
		t.Fatal(err)
	}
	if got := body(t, r); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET" || got != "" {
		t.Errorf("%d %v %q", r.StatusCode, r.Header, got)
	}
}

func TestHostileRequests(t *testing.T) {
	g := newReal(t, emulator.Function(gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ip := gateway.SourceIP(r.Context()); ip != "192.0.2.1" {
			t.Errorf("the address is %q", ip)
		}
		w.WriteHeader(http.StatusNoContent)
	}))))
	for _, target := range []string{
		"/..%2f..%2fetc", "//evil.example/%2e%2e", "/%00", "/%ff%fe", "/a?%", "/?=&&;=%00", "/?a[]=1&__proto__=2",
		"/api/v1/trips/" + strings.Repeat("a/", 2000), "http://[::1]:1/x", "/%0d%0aX-A:%20b", "/api/v1/trips/$default",
		"/api/v1/trips/{id}", "/oauth/{proxy+}",
	} {
		r := send(g, "GET", target, nil, "X-Forwarded-For: 10.9.9.9", "Forwarded: for=10.9.9.9", "X-Real-Ip: 10.9.9.9",
			"Cookie: ;;=;\"", "Origin: null", "Content-Type: text/\xff")
		if r.StatusCode != http.StatusNoContent {
			t.Errorf("%s: status %d", target, r.StatusCode)
		}
	}
}

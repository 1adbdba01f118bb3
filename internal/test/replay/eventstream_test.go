package replay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/local/demo"
	"svc/pkg/local/service"
	"svc/pkg/oauth/flow"
)

const (
	streamPath = "/api/v1/events/stream"
	secret     = "the secret of a distribution, 32 characters or more"
)

// screen is a running service, and the built function that streams its events.
type screen struct {
	*testing.T
	*service.Service
	db     *table.DB
	tokens flow.Tokens // of an operator
	output *log
	*replay.Process
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	testkit.Long(t)
	dir, err := bootstraps()
	testkit.Must(t, err)
	rt := &app.Runtime{Sealer: signing.NewSealer(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		ReadPhone: plans.Read}
	s := &screen{T: t, output: &log{}}
	s.Service, err = service.Start(t.Context(), service.Options{Data: t.TempDir(), Memory: true, Table: testkit.Fresh(),
		Template: testkit.Template(240), Engine: io.Discard, Log: rt.Logger,
		Build: func(ctx context.Context, at service.Environment) (service.App, error) {
			return localapp.Build(ctx, at, rt, nil)
		}})
	testkit.Must(t, err)
	t.Cleanup(s.Service.Close)
	s.db = rt.DB
	_, err = demo.Load(t.Context(), rt.DB, time.Now())
	testkit.Must(t, err)
	testkit.Must(t, s.Poller.Drain(t.Context()))
	s.tokens = s.signIn()
	s.run(dir)
	return s
}

func (s *screen) signIn() flow.Tokens {
	s.Helper()
	tokens, err := flow.Token(s.Context(), flow.Options{BaseURL: s.BaseURL, Tenant: "metro", Audience: "dashboard",
		Email: "operator@metro.example", Password: demo.Password})
	testkit.Must(s, err)
	return tokens
}

// run starts the function.
func (s *screen) run(dir string) {
	s.Helper()
	sum := sha256.Sum256([]byte(secret))
	p, err := replay.Start(app.Events, filepath.Join(dir, "events"), []string{"TABLE_NAME=" + s.Table,
		"AWS_ENDPOINT_URL_DYNAMODB=" + s.Endpoint, "BASE_URL=" + s.BaseURL, "EVENT_STREAMS=8",
		"ORIGIN_SECRET_SHA256=" + hex.EncodeToString(sum[:])}, &lines{log: s.output})
	testkit.Must(s, err)
	s.Process = p
	s.Cleanup(p.Stop)
}

// call is a request as CloudFront makes it.
type call struct {
	method, path, query, token, last, secret string
}

// event returns the event of the function URL.
func (c call) event() json.RawMessage {
	headers := map[string]string{"host": "abcdefg.lambda-url.us-east-1.on.aws", "accept": "text/event-stream",
		"x-forwarded-host": "evil.example", "x-forwarded-for": "203.0.113.9", "user-agent": "Amazon CloudFront"}
	for name, value := range map[string]string{"authorization": c.token, "last-event-id": c.last,
		"x-origin-secret": c.secret} {
		if value != "" {
			headers[name] = value
		}
	}
	text, _ := json.Marshal(map[string]any{"version": "2.0", "routeKey": "$default", "rawPath": c.path,
		"rawQueryString": c.query, "headers": headers, "isBase64Encoded": false,
		"requestContext": map[string]any{"accountId": "anonymous", "apiId": "abcdefg",
			"domainName": "abcdefg.lambda-url.us-east-1.on.aws", "domainPrefix": "abcdefg", "stage": "$default",
			"requestId": "11111111-2222-4333-8444-555555555555", "routeKey": "$default",
			"http": map[string]any{"method": c.method, "path": c.path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1",
				"userAgent": "Amazon CloudFront"}}})
	return text
}

func (s *screen) open(c call, limit time.Duration) *replay.Streaming {
	s.Helper()
	if c.method == "" {
		c.method, c.path, c.secret = "GET", streamPath, secret
	}
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
	defer cancel()
	out, err := s.Stream(ctx, c.event(), limit)
	if err != nil {
		s.Fatalf("%v\n%s", err, s.output.tail())
	}
	return out
}

// change makes an event.
func (s *screen) change(token, name string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPatch, s.BaseURL+
		"/api/v1/services/svt_01JMETR0000000000000000001", strings.NewReader(fmt.Sprintf(`{"description": %q}`, name)))
	testkit.Must(s, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	testkit.Must(s, err)
	defer func() { _ = res.Body.Close() }()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		s.Fatalf("%d %s", res.StatusCode, text)
	}
}

// message is one server-sent event, or a comment.
type message struct{ kind, id, data, retry string }

// next reads a message. ok is false at the end of the stream.
func next(t *testing.T, in *replay.Streaming) (m message, ok bool) {
	t.Helper()
	for {
		line, err := in.Body.ReadString('\n')
		if err != nil {
			return m, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "" && strings.HasPrefix(line, ":"):
			m.kind = "comment"
		case name == "retry":
			m.retry = value
		case name == "event":
			m.kind = value
		case name == "id":
			m.id = value
		case name == "data":
			m.data = value
		case name == "" && m != (message{}):
			return m, true
		}
	}
}

// until reads messages up to the first one of a kind; "" is an event.
func until(t *testing.T, in *replay.Streaming, kind string) message {
	t.Helper()
	for {
		switch m, ok := next(t, in); {
		case !ok:
			t.Fatalf("the stream ended without %q", kind)
		case m.kind == kind:
			return m
		}
	}
}

// TestEventStream: the built function streams. What happens while a stream is open
// arrives before its end, a silent stream has a heartbeat, and a client that comes
// back misses nothing and gets nothing twice. A stream ends when the token is revoked,
// and in time before Lambda would end it.
func TestEventStream(t *testing.T) {
	s := newScreen(t)
	s.refuses()
	bearer := "Bearer " + s.tokens.AccessToken
	live := s.open(call{token: bearer}, 15*time.Minute)
	if live.StatusCode != 200 || live.Headers["Content-Type"] != "text/event-stream" ||
		live.Headers["X-Request-Id"] != "req_11111111-2222-4333-8444-555555555555" {
		t.Fatalf("%+v", live)
	}
	start, _ := next(t, live)
	if start.kind != "cursor" || start.retry == "" || start.id == "" || start.data != "{}" {
		t.Errorf("it begins with %+v", start)
	}
	s.change(s.tokens.AccessToken, "one")
	one := until(t, live, "")
	if !strings.Contains(one.data, `"settings.updated"`) {
		t.Errorf("the change is %+v", one)
	}
	until(t, live, "comment")
	revoke(s, s.tokens)
	if m := until(t, live, "refused"); !strings.Contains(m.data, `"unauthorized"`) {
		t.Errorf("%+v", m)
	}
	if m, more := next(t, live); more {
		t.Errorf("%+v follows", m)
	}
	testkit.Must(t, live.Close())
	s.resumes(start.id, one)
	s.ends()
}

// resumes checks that a client that comes back gets what followed its last message,
// once.
func (s *screen) resumes(start string, one message) {
	t := s.T
	t.Helper()
	s.tokens = s.signIn()
	bearer := "Bearer " + s.tokens.AccessToken
	s.change(s.tokens.AccessToken, "two")
	for last, wantsOne := range map[string]bool{start: true, one.id: false} {
		again := s.open(call{token: bearer, last: last}, 15*time.Minute)
		got := until(t, again, "")
		if (got.data == one.data) != wantsOne {
			t.Errorf("after %s comes %s", last, got.data)
		}
		if wantsOne && until(t, again, "").data == one.data {
			t.Error("the first event comes twice")
		}
		revoke(s, s.tokens) // ends the stream
		until(t, again, "refused")
		testkit.Must(t, again.Close())
		s.tokens = s.signIn()
		bearer = "Bearer " + s.tokens.AccessToken
	}
}

// ends checks that a stream ends by itself, as the time in Lambda comes to its end: with
// a retry, and not cut off.
func (s *screen) ends() {
	t := s.T
	t.Helper()
	short := s.open(call{token: "Bearer " + s.tokens.AccessToken}, 9*time.Second)
	until(t, short, "cursor")
	if rest, err := io.ReadAll(short.Body); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("after the cursor: %q %v", rest, err)
	}
	testkit.Must(t, short.Close())
}

// refuses checks that what is no stream gets the response of the API: the same status,
// headers and bytes. Without the origin secret, nothing else is looked at.
func (s *screen) refuses() {
	s.Helper()
	bearer := "Bearer " + s.tokens.AccessToken
	for name, c := range map[string]call{
		"no token":       {"GET", streamPath, "", "", "", secret},
		"a bad token":    {"GET", streamPath, "", "Bearer x.y.z", "", secret},
		"a bad cursor":   {"GET", streamPath, "", bearer, "nothing", secret},
		"a bad query":    {"GET", streamPath, "type=x&y=1", bearer, "", secret},
		"another method": {"DELETE", streamPath, "", bearer, "", secret},
	} {
		got := s.open(c, time.Minute)
		body, err := io.ReadAll(got.Body)
		testkit.Must(s, err)
		testkit.Must(s, got.Close())
		want, text := s.asked(c)
		if got.StatusCode != want.StatusCode || got.StatusCode < 400 || string(body) != text {
			s.Errorf("%s: %d %s, want %d %s", name, got.StatusCode, body, want.StatusCode, text)
		}
		for _, header := range []string{"Content-Type", "Www-Authenticate", "Allow", "Cache-Control", "Retry-After"} {
			if got.Headers[header] != want.Header.Get(header) {
				s.Errorf("%s: %s is %q, want %q", name, header, got.Headers[header], want.Header.Get(header))
			}
		}
	}
	for name, c := range map[string]call{"no secret": {"GET", streamPath, "", bearer, "", ""},
		"another secret": {"GET", streamPath, "", bearer, "", secret + "x"},
		"two secrets":    {"GET", streamPath, "", bearer, "", secret + "," + secret},
		"another path":   {"GET", "/api/v1/events", "", bearer, "", ""}} {
		got := s.open(c, time.Minute)
		body, err := io.ReadAll(got.Body)
		testkit.Must(s, err)
		testkit.Must(s, got.Close())
		if got.StatusCode != 403 || !strings.Contains(string(body), "Call the service at its public address.") {
			s.Errorf("%s: %d %s", name, got.StatusCode, body)
		}
	}
	if log := s.output.tail(); !strings.Contains(log, `"function":"Events","status":403`) {
		s.Errorf("a request without the secret is not logged: %s", log)
	}
	if got := s.open(call{"GET", "/api/v1/events", "", bearer, "", secret}, time.Minute); got.StatusCode != 404 {
		s.Errorf("another path: %d", got.StatusCode)
	} else {
		testkit.Must(s, got.Close())
	}
	direct, err := s.Invoke(s.Context(), bytes.Replace(call{"GET", streamPath, "", "Bearer x.y.z", "", ""}.event(),
		[]byte(`"apiId":"abcdefg",`), nil, 1)) // as the smoke test calls
	if err != nil || !strings.HasPrefix(string(direct), `{"statusCode":401,`) {
		s.Errorf("a direct call: %s, %v", direct, err)
	}
	head := s.open(call{"HEAD", streamPath, "", bearer, "", secret}, time.Minute)
	if body, _ := io.ReadAll(head.Body); head.StatusCode != 200 || len(body) > 0 {
		s.Errorf("HEAD: %d %q", head.StatusCode, body)
	}
	testkit.Must(s, head.Close())
}

// asked makes the same request to the gateway.
func (s *screen) asked(c call) (*http.Response, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), c.method, s.BaseURL+c.path+"?"+c.query, nil)
	testkit.Must(s, err)
	for name, value := range map[string]string{"Authorization": c.token, "Last-Event-ID": c.last} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	testkit.Must(s, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	testkit.Must(s, err)
	return res, string(text)
}

func revoke(s *screen, tokens flow.Tokens) {
	s.Helper()
	res, err := http.PostForm(s.BaseURL+"/oauth/revoke", map[string][]string{"token": {tokens.AccessToken},
		"client_id": {tokens.ClientID}})
	testkit.Must(s, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		s.Fatalf("revoking: %d", res.StatusCode)
	}
}

package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/folder"
	"svc/pkg/local/schema"
	"svc/pkg/local/service"
)

// someApp returns functions that respond to every route of the template with
// the function's name.
func someApp(t *testing.T) service.App {
	t.Helper()
	routes, err := emulator.Routes(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	app := service.App{Functions: map[string]emulator.Function{}}
	for _, r := range routes {
		app.Functions[r.Function] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(map[string]any{"statusCode": 200, "body": r.Function})
		}
	}
	return app
}

func options(t *testing.T) service.Options {
	t.Helper()
	return service.Options{
		Data: t.TempDir(), Memory: true, Template: svc.Template,
		Build: func(context.Context, service.Environment) (service.App, error) { return someApp(t), nil },
	}
}

func startService(t *testing.T, o service.Options) *service.Service {
	t.Helper()
	s, err := service.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func drain(t *testing.T, s *service.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := s.Poller.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestServiceIsFoundWhileItRuns(t *testing.T) {
	o := options(t)
	if _, err := folder.Find(t.Context(), o.Data); !errors.Is(err, folder.ErrNotRunning) {
		t.Fatalf("before: %v", err)
	}
	s := startService(t, o)
	r, err := folder.Find(t.Context(), o.Data)
	if err != nil {
		t.Fatal(err)
	}
	if r.BaseURL != s.BaseURL || r.Table != schema.DefaultName || r.Pid != os.Getpid() || !r.Memory {
		t.Errorf("found %+v", r)
	}
	fi, err := os.Stat(filepath.Join(o.Data, "dev.json"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("dev.json: %v, %v", fi, err)
	}
	if got := get(t, s.BaseURL+"/health"); got != "DocsFunction" {
		t.Errorf("GET /health: %s", got)
	}
	s.Close()
	s.Close()
	if _, err := os.Stat(filepath.Join(o.Data, "dev.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dev.json after Close: %v", err)
	}
	if _, err := folder.Find(t.Context(), o.Data); !errors.Is(err, folder.ErrNotRunning) {
		t.Errorf("after: %v", err)
	}
}

// Only who knows the address in dev.json, and is no web page, reaches the database.
func TestDatabaseDoesNotAnswerWebPages(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	o := options(t)
	o.Memory = false
	startService(t, o)
	r, err := folder.Find(t.Context(), o.Data)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(r.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"": http.StatusOK, "https://evil.example": http.StatusForbidden,
		"stranger": http.StatusForbidden} {
		to := r.Endpoint
		if name == "stranger" {
			name, to = "", "http://"+at.Host
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for header, value := range map[string]string{"X-Amz-Target": "DynamoDB_20120810.ListTables",
			"X-Amz-Date":   "20260101T000000Z",
			"Content-Type": "application/x-amz-json-1.0",
			"Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/" +
				"dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"} {
			req.Header.Set(header, value)
		}
		if name != "" {
			req.Header.Set("Origin", name)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != want || strings.Contains(string(text), "TableNames") != (want == http.StatusOK) {
			t.Errorf("origin %q: %d %s", name, res.StatusCode, text)
		}
	}
	files, err := filepath.Glob(filepath.Join(o.Data, "dynoxide.db*"))
	if err != nil || (len(files) == 0 && !testkit.OnDynamoDBLocal()) {
		t.Fatalf("data files: %v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// The dev.json of a killed service does not count as a running service.
func TestStaleDevJSON(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"lock", "dev.json"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(`{"baseUrl":"http://127.0.0.1:9","pid":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := folder.Find(t.Context(), dir); !errors.Is(err, folder.ErrNotRunning) {
		t.Errorf("FindRunning: %v", err)
	}
}

func TestServiceKeepsItsData(t *testing.T) {
	o := options(t)
	o.Memory = false
	runs := 0
	var projected []string
	o.Build = func(_ context.Context, p service.Environment) (service.App, error) {
		app := someApp(t)
		app.Streams = map[string]emulator.Function{"ProjectionFunction": func(_ context.Context,
			payload json.RawMessage) (json.RawMessage, error) {
			var event events.DynamoDBEvent
			err := json.Unmarshal(payload, &event)
			for _, r := range event.Records {
				projected = append(projected, r.Change.Keys["sk"].String())
			}
			return nil, err
		}}
		app.Scheduled = map[string]func(context.Context) error{
			"KeysFunction": func(context.Context) error { runs++; return nil }}
		db, err := table.Open(t.Context(), table.Options{Table: p.Table, Endpoint: p.Endpoint})
		if err != nil || runs > 0 {
			return app, err
		}
		tn := db.Tenant("t")
		for _, one := range [][2]string{{"a", "trip"}, {"b", "trip"}, {"c", "audit"}} { // no filter passes the last
			err = errors.Join(err, tn.Load(t.Context(), table.Item{Key: tn.Key(one[0], one[0]), Type: one[1]}))
		}
		return app, err
	}
	s := startService(t, o)
	drain(t, s)
	s.Close()
	s = startService(t, o)
	drain(t, s)
	s.Close()
	if got := strings.Join(projected, " "); got != "a b" {
		t.Errorf("projected: %q", got)
	}
	if runs != 2 {
		t.Errorf("the scheduled function ran %d times", runs)
	}
}

func TestServiceStandsInNobodysWay(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := options(t)
	running := startService(t, busy)
	tests := []struct {
		name   string
		change func(*service.Options)
		want   []string
	}{
		{"taken port", func(o *service.Options) { o.Port = taken.Addr().(*net.TCPAddr).Port }, []string{"port", "taken",
			"--port"}},
		{"folder in use", func(o *service.Options) { o.Data = busy.Data }, []string{busy.Data, "in use", running.BaseURL,
			"--data"}},
		{"folder is a file", func(o *service.Options) { o.Data = filepath.Join(busy.Data, "lock") }, []string{"data folder"}},
		{"no template", func(o *service.Options) { o.Template = []byte("Resources: {}") }, []string{"template"}},
		{"build fails", func(o *service.Options) {
			o.Build = func(context.Context, service.Environment) (service.App, error) {
				return service.App{}, errors.New("no keys")
			}
		}, []string{"no keys"}},
		{"schedule fails", func(o *service.Options) {
			o.Build = func(context.Context, service.Environment) (service.App, error) {
				app := someApp(t)
				app.Scheduled = map[string]func(context.Context) error{"KeysFunction": func(context.Context) error {
					return errors.New("no seal")
				}}
				return app, nil
			}
		}, []string{"KeysFunction", "no seal"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			data := o.Data
			tc.change(&o)
			s, err := service.Start(t.Context(), o)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
			if _, err := folder.Find(t.Context(), data); !errors.Is(err, folder.ErrNotRunning) {
				t.Errorf("left behind: %v", err)
			}
		})
	}
	if _, err := folder.Find(t.Context(), busy.Data); err != nil {
		t.Errorf("the first service: %v", err)
	}
}

func TestServiceEndsWhenItsEngineDies(t *testing.T) {
	s := startService(t, options(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx); err != nil {
		t.Errorf("Wait under a cancelled context: %v", err)
	}
	s.KillEngine()
	if err := s.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "engine") {
		t.Errorf("Wait without an engine: %v", err)
	}
}

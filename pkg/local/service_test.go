package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/pkg/gateway/emulator"
	"svc/pkg/local"
)

// someApp answers every route of the template with the function's name.
func someApp(t *testing.T) local.App {
	t.Helper()
	routes, err := emulator.Routes(svc.Template)
	if err != nil {
		t.Fatal(err)
	}
	app := local.App{Functions: map[string]emulator.Function{}}
	for _, r := range routes {
		app.Functions[r.Function] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(map[string]any{"statusCode": 200, "body": r.Function})
		}
	}
	return app
}

func options(t *testing.T) local.ServiceOptions {
	t.Helper()
	return local.ServiceOptions{
		Data: t.TempDir(), Memory: true, Template: svc.Template,
		Build: func(context.Context, local.Place) (local.App, error) { return someApp(t), nil },
	}
}

func startService(t *testing.T, o local.ServiceOptions) *local.Service {
	t.Helper()
	s, err := local.StartService(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
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
	if _, err := local.FindRunning(t.Context(), o.Data); !errors.Is(err, local.ErrNotRunning) {
		t.Fatalf("before: %v", err)
	}
	s := startService(t, o)
	r, err := local.FindRunning(t.Context(), o.Data)
	if err != nil {
		t.Fatal(err)
	}
	if r.BaseURL != s.BaseURL || r.Endpoint != s.Endpoint || r.Table != local.DefaultTable || r.Pid != os.Getpid() || !r.Memory {
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
	if _, err := local.FindRunning(t.Context(), o.Data); !errors.Is(err, local.ErrNotRunning) {
		t.Errorf("after: %v", err)
	}
}

// What a killed service left behind does not count as running.
func TestStaleDevJSON(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"lock", "dev.json"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(`{"baseUrl":"http://127.0.0.1:9","pid":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := local.FindRunning(t.Context(), dir); !errors.Is(err, local.ErrNotRunning) {
		t.Errorf("FindRunning: %v", err)
	}
}

func TestServiceKeepsItsData(t *testing.T) {
	o := options(t)
	o.Memory = false
	runs := 0
	var recorded recorder
	o.Build = func(_ context.Context, p local.Place) (local.App, error) {
		app := someApp(t)
		app.Streams = map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){"ProjectionFunction": recorded.invoke}
		app.Scheduled = map[string]func(context.Context) error{"KeysFunction": func(context.Context) error { runs++; return nil }}
		db, _ := local.Clients(p.Endpoint)
		place := &place{t: t, table: p.Table, db: db}
		if runs == 0 {
			place.put("trip", "a", "b")
			place.put("audit", "c") // passes no filter of the template
		}
		return app, nil
	}
	s := startService(t, o)
	drain(t, s.Poller)
	s.Close()
	s = startService(t, o)
	drain(t, s.Poller)
	s.Close()
	if got := strings.Join(recorded.all(), " "); got != "a b" {
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
		change func(*local.ServiceOptions)
		want   []string
	}{
		{"taken port", func(o *local.ServiceOptions) { o.Port = taken.Addr().(*net.TCPAddr).Port }, []string{"port", "taken", "--port"}},
		{"folder in use", func(o *local.ServiceOptions) { o.Data = busy.Data }, []string{busy.Data, "in use", running.BaseURL, "--data"}},
		{"folder is a file", func(o *local.ServiceOptions) { o.Data = filepath.Join(busy.Data, "lock") }, []string{"data folder"}},
		{"no template", func(o *local.ServiceOptions) { o.Template = []byte("Resources: {}") }, []string{"template"}},
		{"build fails", func(o *local.ServiceOptions) {
			o.Build = func(context.Context, local.Place) (local.App, error) { return local.App{}, errors.New("no keys") }
		}, []string{"no keys"}},
		{"schedule fails", func(o *local.ServiceOptions) {
			o.Build = func(context.Context, local.Place) (local.App, error) {
				app := someApp(t)
				app.Scheduled = map[string]func(context.Context) error{"KeysFunction": func(context.Context) error { return errors.New("no seal") }}
				return app, nil
			}
		}, []string{"KeysFunction", "no seal"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			data := o.Data
			tc.change(&o)
			s, err := local.StartService(t.Context(), o)
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
			if _, err := local.FindRunning(t.Context(), data); !errors.Is(err, local.ErrNotRunning) {
				t.Errorf("left behind: %v", err)
			}
		})
	}
	if _, err := local.FindRunning(t.Context(), busy.Data); err != nil {
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

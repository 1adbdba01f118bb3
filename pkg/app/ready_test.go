package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
)

const readyBody, tableFailed, keysFailed = `{"status":"ok"}`, `{"status":"unavailable","failed":"table"}`,
	`{"status":"unavailable","failed":"keys"}`

// TestReady: /health/ready names the table while it fails, and /health/live
// still returns 200. Neither response may be cached.
func TestReady(t *testing.T) {
	testkit.Long(t)
	t.Parallel() // it waits for time limits
	s := newSuite(t)
	look := func(path string, status int, body string) {
		t.Helper()
		s.Clock.Advance(2 * time.Second) // past the kept result
		a := s.Do(t, apptest.Request{Method: "GET", Path: path})
		if a.Status != status || string(a.Body) != body || a.Header.Get("Cache-Control") != "no-store" ||
			(a.Header.Get("Retry-After") != "") != (status == 503) || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %s, want %d %s", path, a.Status, a.Header, a.Body, status, body)
		}
	}
	look("/health/ready", 200, readyBody)
	for name, begin := range outages {
		t.Run(name, func(t *testing.T) {
			begin(s.Wire)
			look("/health/ready", 503, tableFailed)
			look("/health/live", 200, readyBody)
			look("/health", 200, readyBody)
			s.Wire.Restore()
			look("/health/ready", 200, readyBody)
		})
	}
	s.Wire.Silence(t, testkit.Silence{Every: 1})
	look("/health/ready", 503, tableFailed)
	s.Do(t, apptest.Request{Method: "POST", Path: "/health/ready"}).Must(t, 405)
}

// stubborn is a key service that counts its calls, and fails or waits.
type stubborn struct {
	signing.Sealer
	asked  *atomic.Int64
	silent bool
	err    error
}

// Open implements signing.Sealer.
func (s stubborn) Open(ctx context.Context, id string, sealed []byte) ([]byte, error) {
	s.asked.Add(1)
	if s.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.Sealer.Open(ctx, id, sealed)
}

// TestReadyAsksTheKeyService: the response names a key service that fails or
// does not respond. Many callers at once cause one check.
func TestReadyAsksTheKeyService(t *testing.T) {
	t.Parallel() // it waits for a time limit
	s := newSuite(t)
	s.Clock.Hold()
	for name, c := range map[string]struct {
		silent bool
		err    error
		want   string
	}{
		"works":   {want: readyBody},
		"refuses": {err: errors.New("access denied"), want: keysFailed},
		"silent":  {silent: true, want: keysFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			h, err := (&app.Runtime{DB: s.DB, BaseURL: s.URL, Now: s.Clock.Now, Logger: slog.New(slog.DiscardHandler),
				Sealer: stubborn{s.Runtime.Sealer, &asked, c.silent, c.err}}).Handler(app.OAuth)
			testkit.Must(t, err)
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health/ready", nil))
					if w.Body.String() != c.want {
						t.Errorf("%d %s, want %s", w.Code, w.Body, c.want)
					}
				})
			}
			group.Wait()
			if n := asked.Load(); n != 1 {
				t.Errorf("the key service was asked %d times", n)
			}
		})
	}
}

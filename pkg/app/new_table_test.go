package app_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/app/localapp"
	"svc/pkg/local/service"
)

// sweeps has the earliest hour that was read of each book of due tasks.
type sweeps struct {
	next http.RoundTripper
	mu   sync.Mutex
	from map[string]string
}

var hourOfBook = regexp.MustCompile(`DUE#([a-z0-9-]+)#([0-9]{10})#`)

// RoundTrip implements http.RoundTripper.
func (s *sweeps) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	for _, m := range hourOfBook.FindAllStringSubmatch(string(body), -1) {
		if known := s.from[m[1]]; known == "" || m[2] < known {
			s.from[m[1]] = m[2]
		}
	}
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}

// TestNewTableIsNotSweptBack: a service on a table that it has just created looks for nothing
// that was due before, in any book: that is a hundred requests for each.
func TestNewTableIsNotSweptBack(t *testing.T) {
	read := &sweeps{from: map[string]string{}}
	rt := &app.Runtime{Sealer: signing.NewSealer(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	began := time.Now().Add(-10 * time.Minute).UTC().Format("2006010215")
	s, err := service.Start(t.Context(), service.Options{Data: t.TempDir(), Memory: true, Endpoint: testkit.Endpoint(t),
		Table: testkit.Fresh(), Template: testkit.Template(240), Log: slog.New(slog.DiscardHandler),
		Build: func(ctx context.Context, at service.Environment) (service.App, error) {
			return localapp.Build(ctx, at, rt, func(next http.RoundTripper) http.RoundTripper {
				read.next = next
				return read
			})
		}})
	testkit.Must(t, err)
	defer s.Close()
	for _, name := range []string{app.Deliver, app.Dispatch, app.Jobs} { // Start may return before they end
		testkit.Must(t, rt.Scheduled()[name](t.Context()))
	}
	read.mu.Lock()
	defer read.mu.Unlock()
	for book, hour := range read.from {
		if hour < began {
			t.Errorf("the first sweep of %s begins at %s: add the book to localapp", book, hour)
		}
	}
	if len(read.from) < 8 {
		t.Errorf("%d books were swept: %v", len(read.from), read.from)
	}
}

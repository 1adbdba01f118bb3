package table_test

import (
	"net/http"
	"os"
	"sync"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/local/schema"
)

// failFirst fails the first left requests, as soon as all of them have arrived.
// It passes on the others.
type failFirst struct {
	next http.RoundTripper
	all  chan struct{}

	mu   sync.Mutex
	left int
}

func (f *failFirst) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	fails := f.left > 0
	f.left--
	if f.left == 0 {
		close(f.all)
	}
	f.mu.Unlock()
	if fails {
		<-f.all
		return nil, os.ErrDeadlineExceeded
	}
	return f.next.RoundTrip(r)
}

// If all requests that a process serves at once fail, each of them is retried,
// also when this happens several times.
func TestRetryQuotaIsEachRequestsOwn(t *testing.T) {
	const atOnce, times = 64, 4
	f := &failFirst{}
	db, err := table.Open(t.Context(), table.Options{Table: testkit.Name(t, schema.Options{StreamOff: true}),
		Endpoint: testkit.Endpoint(t), AtOnce: atOnce,
		Transport: func(next http.RoundTripper) http.RoundTripper { f.next = next; return f }})
	testkit.Must(t, err)
	p := db.Platform("QUOTA")
	for range times {
		f.mu.Lock()
		f.left, f.all = atOnce, make(chan struct{})
		f.mu.Unlock()
		var wait sync.WaitGroup
		for range atOnce {
			wait.Go(func() {
				if _, err := p.Get(t.Context(), p.Key("QUOTA", "x", "y", "QUOTA")); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
}

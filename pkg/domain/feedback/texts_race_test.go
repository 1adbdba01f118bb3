package feedback

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/local/schema"
)

// meeting delays requests to the table until the expected number has arrived.
type meeting struct {
	next http.RoundTripper

	mu   sync.Mutex
	due  int
	full chan struct{}
}

func (m *meeting) set(due int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due, m.full = due, make(chan struct{})
}

func (m *meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	full := m.full
	if m.due--; m.due == 0 {
		close(full)
	}
	wait := m.due >= 0
	m.mu.Unlock()
	if wait {
		select {
		case <-full:
		case <-time.After(10 * time.Minute): // one search waits for another's read
		}
	}
	return m.next.RoundTrip(r)
}

// Searches of one process read the table at the same time, and each finds
// everything.
func TestSearchesAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name, m := testkit.Name(t, schema.Options{StreamOff: true}), &meeting{}
	db, err := table.Open(t.Context(), table.Options{Table: name, Endpoint: testkit.Endpoint(t),
		Transport: func(next http.RoundTripper) http.RoundTripper { m.next = next; return m }})
	testkit.Must(t, err)
	p := db.Platform(Kinds...)
	loadTexts(t, testkit.Open(t, name, nil).Platform(Kinds...), now, 500, "ordinary text")
	const searches = 8
	for _, bytes := range []int{textMemory, 50_000} {
		x := &texts{partition: textPartition(UnderReview), maxBytes: bytes}
		_, err = x.matching(t.Context(), p, now, "load")
		testkit.Must(t, err)
		m.set(searches)
		var wait sync.WaitGroup
		for range searches {
			wait.Go(func() {
				if found, err := x.matching(t.Context(), p, now, "ordinary"); err != nil || len(found) != 500 {
					t.Errorf("%d bytes: %d found, %v", bytes, len(found), err)
				}
			})
		}
		wait.Wait()
		m.mu.Lock()
		if m.due > 0 {
			t.Errorf("%d bytes: %d searches read nothing", bytes, m.due)
		}
		m.due = 0
		m.mu.Unlock()
	}
}

// A search that waits for another search's first read stops waiting when its
// own request ends.
func TestSearchWaitsNoLongerThanItsRequest(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name, m := testkit.Name(t, schema.Options{StreamOff: true}), &meeting{}
	db, err := table.Open(t.Context(), table.Options{Table: name, Endpoint: testkit.Endpoint(t),
		Transport: func(next http.RoundTripper) http.RoundTripper { m.next = next; return m }})
	testkit.Must(t, err)
	p := db.Platform(Kinds...)
	loadTexts(t, testkit.Open(t, name, nil).Platform(Kinds...), now, 1, "ordinary text")
	x := &texts{partition: textPartition(UnderReview), maxBytes: textMemory}
	m.set(2)
	var first sync.WaitGroup
	first.Go(func() {
		if found, err := x.matching(t.Context(), p, now, "ordinary"); err != nil || len(found) != 1 {
			t.Errorf("the first search: %v, %v", found, err)
		}
	})
	held := func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.due == 1 }
	for !held() {
		time.Sleep(time.Millisecond)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := x.matching(ended, p, now, "ordinary"); !errors.Is(err, context.Canceled) {
		t.Errorf("the second search: %v", err)
	}
	close(m.full)
	first.Wait()
}

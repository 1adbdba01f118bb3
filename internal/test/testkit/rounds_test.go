package testkit_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// Requests that do not wait for one another are in one round, even if a
// goroutine reaches its request late.
func TestRoundWaitsForLateRequests(t *testing.T) {
	wire := &testkit.Wire{}
	tn := testkit.TableOnWire(t, wire).Tenant("ten_1")
	wire.Rounds(true)
	ctx, meter := table.Metered(t.Context())
	var both sync.WaitGroup
	for _, late := range []time.Duration{0, 300 * time.Millisecond} {
		both.Go(func() {
			for begin := time.Now(); time.Since(begin) < late; { // busy before its request
			}
			if _, err := tn.Get(ctx, tn.Key("A", "A")); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if u := meter.Usage(); u.Requests != 2 || u.Sequential != 1 {
		t.Errorf("%d requests, %d in sequence", u.Requests, u.Sequential)
	}
}

// The next round begins when every response of the round has arrived, even if
// one of them is slow.
func TestRoundWaitsForSlowResponses(t *testing.T) {
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(100 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	wire := &testkit.Wire{}
	wire.Rounds(true)
	client := &http.Client{Transport: wire.Over(server.Client().Transport)}
	var both sync.WaitGroup
	for _, first := range []string{"/fast", "/slow"} {
		both.Go(func() {
			for _, path := range []string{first, "/second"} {
				res, err := client.Get(server.URL + path)
				if err != nil {
					t.Error(err)
					return
				}
				_ = res.Body.Close()
			}
		})
	}
	both.Wait()
	if want := []string{"/fast", "/slow", "/second", "/second"}; !slices.Equal(paths, want) {
		t.Errorf("%v were sent, want %v", paths, want)
	}
}

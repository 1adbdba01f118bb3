package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/app"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/oauth/flow"
)

// outage is a key service that may be out. It counts its calls and how many of
// them wait at a time.
type outage struct {
	signing.Sealer
	out                  atomic.Bool
	calls, waiting, most atomic.Int64
}

// Open implements signing.Sealer.
func (o *outage) Open(ctx context.Context, keyID string, sealed []byte) ([]byte, error) {
	o.calls.Add(1)
	if n := o.waiting.Add(1); n > o.most.Load() {
		o.most.Store(n)
	}
	defer o.waiting.Add(-1)
	if o.out.Load() {
		time.Sleep(5 * time.Millisecond) // so that callers could meet
		return nil, errors.New("the key service is out")
	}
	return o.Sealer.Open(ctx, keyID, sealed)
}

// instance returns the address of a new instance of the service, with its own key
// service.
func (s *suite) instance(t *testing.T, keys *outage) string {
	t.Helper()
	rt := &app.Runtime{DB: s.DB, BaseURL: s.URL, Sealer: keys, Logger: s.Runtime.Logger, Limits: s.Runtime.Limits,
		Now: s.Clock.Now}
	made, err := rt.Functions()
	testkit.Must(t, err)
	functions := map[string]emulator.Function{}
	for name, f := range made {
		functions[name] = f
	}
	gateway, err := emulator.New(svc.Template, functions)
	testkit.Must(t, err)
	server := httptest.NewServer(gateway)
	t.Cleanup(server.Close)
	return server.URL
}

// everybody lets everybody call the API and refresh, at once, and returns the statuses
// of the refreshes.
func everybody(t *testing.T, base string, held []flow.Tokens) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	var group sync.WaitGroup
	for i := range held {
		access := held[i].AccessToken // the other goroutine replaces held[i]
		group.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/me", nil)
			testkit.Must(t, err)
			r.Header.Set("Authorization", "Bearer "+access)
			res, err := http.DefaultClient.Do(r)
			testkit.Must(t, err)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("a valid token: %d", res.StatusCode)
			}
		})
		group.Go(func() {
			res, err := http.PostForm(base+"/oauth/token", url.Values{"grant_type": {"refresh_token"},
				"refresh_token": {held[i].RefreshToken}, "client_id": {held[i].ClientID}})
			testkit.Must(t, err)
			defer func() { _ = res.Body.Close() }()
			mu.Lock()
			statuses[res.StatusCode]++
			mu.Unlock()
			if res.StatusCode == http.StatusOK {
				client := held[i].ClientID
				testkit.Must(t, json.NewDecoder(res.Body).Decode(&held[i]))
				held[i].ClientID = client
			}
		})
	}
	group.Wait()
	return statuses
}

// TestKeyServiceOutUnderLoad: while the key service is out, an instance that has
// its keys goes on, also after it read the key set anew. A new instance checks
// tokens, issues none, answers 503 and asks the key service once at a time. No
// refresh token is used up by that.
func TestKeyServiceOutUnderLoad(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := newSuite(t)
	rider := s.actors[authz.Rider]
	const load = 32
	held := make([]flow.Tokens, load)
	for i := range held {
		held[i] = s.SignIn(t, rider)
	}
	want := func(what string, statuses map[int]int, status int) {
		t.Helper()
		if len(statuses) != 1 || statuses[status] != load {
			t.Errorf("%s: refreshes were answered with %v, want %d", what, statuses, status)
		}
	}

	warmKeys, newKeys := &outage{Sealer: s.Runtime.Sealer}, &outage{Sealer: s.Runtime.Sealer}
	warm := s.instance(t, warmKeys)
	want("before the outage", everybody(t, warm, held), http.StatusOK)
	warmKeys.out.Store(true)
	newKeys.out.Store(true)
	want("an instance with its keys", everybody(t, warm, held), http.StatusOK)
	s.Clock.Advance(signing.Reread + time.Second)
	want("an instance with its keys, which reads the key set anew", everybody(t, warm, held), http.StatusOK)
	fresh := s.instance(t, newKeys)
	want("a new instance", everybody(t, fresh, held), http.StatusServiceUnavailable)
	if newKeys.calls.Load() == 0 || newKeys.most.Load() > 2 { // two algorithms
		t.Errorf("the key service was asked %d times, %d at a time", newKeys.calls.Load(), newKeys.most.Load())
	}
	newKeys.out.Store(false)
	want("a new instance after the outage", everybody(t, fresh, held), http.StatusOK)
}

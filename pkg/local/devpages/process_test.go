package devpages

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// The page shows the goroutines and the live heap, and only under this
// machine's own host names.
func TestProcess(t *testing.T) {
	h := (&Pages{}).Wrap(http.NotFoundHandler())
	get := func(host string) (held Held, status int) {
		r := httptest.NewRequest(http.MethodGet, Process, nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			if err := json.Unmarshal(w.Body.Bytes(), &held); err != nil {
				t.Error(err)
			}
		}
		return held, w.Code
	}
	runtime.GC()
	before, status := get("localhost:8080")
	if status != http.StatusOK || before.Goroutines == 0 || before.Heap == 0 {
		t.Fatalf("%d %+v", status, before)
	}
	end, kept := make(chan struct{}), make([]byte, 64<<20)
	for range 100 {
		go func() { <-end }()
	}
	runtime.GC()
	after, _ := get("localhost:8080")
	close(end)
	if after.Goroutines < before.Goroutines+90 || after.Heap < before.Heap+60<<20 {
		t.Errorf("100 goroutines and %d bytes more: %+v, then %+v", len(kept), before, after)
	}
	runtime.KeepAlive(kept)
	if _, status := get("evil.example"); status != http.StatusForbidden {
		t.Errorf("a foreign name: %d", status)
	}
}

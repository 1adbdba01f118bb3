package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
)

// TestRobots: after the first start, robots drive in the sandbox, also after the
// service was killed. In the other companies nothing moves. What has ended is
// settled exactly.
func TestRobots(t *testing.T) {
	testkit.Long(t)
	program := detachedProgram(t)
	w := &world{T: t, data: filepath.Join(t.TempDir(), "data")}
	begin := func() (end func()) {
		p := startDev(t, program, w.data, "")
		w.base = p.await(t)
		end = func() { _ = p.cmd.Process.Kill(); <-p.ended }
		t.Cleanup(end)
		return end
	}
	end := begin()
	w.moves()
	end()
	end = begin()
	still := w.driven("metro")
	w.moves()
	if now := w.driven("metro"); !maps.Equal(still, now) {
		t.Errorf("in metro something moved: %v, then %v", still, now)
	}
	end()
	base, _, stop := devFor(t, w.data, isRunning) // without robots
	w.base = base
	still = w.driven("sandbox")
	w.ok("verify")
	if now := w.driven("sandbox"); !maps.Equal(still, now) || len(still) == 0 {
		t.Errorf("without robots something moved: %v, then %v", still, now)
	}
	stop()
}

// moves waits until a robot is seen at two places.
func (w *world) moves() {
	w.Helper()
	seen := map[string]string{}
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(time.Second) {
		for id, place := range w.driven("sandbox") {
			if was, ok := seen[id]; ok && was != place {
				return
			}
			seen[id] = place
		}
	}
	w.Fatal("no robot moves")
}

// driven returns where the drivers with a ride are.
func (w *world) driven(slug string) map[string]string {
	w.Helper()
	token := w.ok("token", "get", "--tenant", slug, "--audience", "dashboard", "--email", "operator@"+slug+".example",
		"--password", demo.Password)
	type one struct {
		ID, Status, DriverID   string
		CurrentLat, CurrentLng json.Number
	}
	read := func(path string) []one {
		r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.base+"/api/v1/"+path, nil)
		testkit.Must(w, err)
		r.Header.Set("Authorization", "Bearer "+token[:len(token)-1])
		res, err := http.DefaultClient.Do(r)
		testkit.Must(w, err)
		defer func() { _ = res.Body.Close() }()
		var page struct{ Items []one }
		testkit.Must(w, json.NewDecoder(res.Body).Decode(&page))
		return page.Items
	}
	drive := map[string]bool{}
	for _, one := range read("trips?limit=200") {
		if one.Status == "ASSIGNED" || one.Status == "IN_PROGRESS" {
			drive[one.DriverID] = true
		}
	}
	out := map[string]string{}
	for _, one := range read("drivers?limit=200") {
		if drive[one.ID] {
			out[one.ID] = string(one.CurrentLat + " " + one.CurrentLng)
		}
	}
	return out
}

package app_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/tenant"
)

// traffic is what riders have created so far: trips by id, with their status.
type traffic struct {
	mu    sync.Mutex
	trips map[string]string
}

func (r *traffic) set(id, status string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips[id] = status
}

func (r *traffic) soFar() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.trips)
}

// TestShardsUnderTraffic raises a tenant's shards, first for reads and then
// for writes, while riders request and cancel trips and others read lists. A
// reader of a list sees every item that existed at the start exactly once, and
// the report is exact in the end.
func TestShardsUnderTraffic(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	operator := s.Token(t, s.actors[authz.Dashboard])
	made, stop := &traffic{trips: map[string]string{}}, make(chan struct{})
	var group sync.WaitGroup
	for _, name := range []string{"rosa", "rita"} {
		rider := s.Token(t, s.Rider(t, "metro", name))
		group.Go(func() { ridesUntil(t, s.Service, rider, made, stop) })
	}
	group.Go(func() {
		for ended := false; !ended && !t.Failed(); {
			select {
			case <-stop:
				ended = true // once more, at rest
			default:
			}
			walk(t, s.Service, operator, made.soFar())
		}
	})
	more := func(n int) {
		for want, deadline := len(made.soFar())+n, time.Now().Add(10*time.Minute); len(made.soFar()) < want &&
			!t.Failed(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("the traffic stands still")
			}
		}
	}
	more(20)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.ReadShards = 4 })
	more(20)
	s.Clock.Advance(tenant.SettleShards + time.Second)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.WriteShards = 4 })
	more(60)
	close(stop)
	group.Wait()
	s.Drain(t)
	s.Clock.Advance(time.Second) // the window of a report ends before now
	want := map[string]int{}
	for _, status := range made.soFar() {
		want[status]++
	}
	report := apptest.JSON[struct{ TripsByStatus map[string]int }](t, s.Get(t, operator, "/api/v1/reports/summary").Must(t,
		200))
	for status, n := range report.TripsByStatus {
		if n != want[status] {
			t.Errorf("%d trips are %s, the report counts %d", want[status], status, n)
		}
		delete(want, status)
	}
	if len(want) > 0 {
		t.Errorf("the report does not count %v", want)
	}
}

// ridesUntil requests rides until stop is closed, and cancels some.
func ridesUntil(t *testing.T, s *apptest.Service, rider string, made *traffic, stop chan struct{}) {
	t.Helper()
	for n := 0; !t.Failed(); n++ {
		select {
		case <-stop:
			return
		default:
		}
		a := s.Post(t, rider, "/api/v1/me/trips", ride)
		if a.Status == 503 { // busy: nothing was made
			continue
		}
		if a.Status != 201 {
			t.Errorf("requesting: %d %s", a.Status, a.Body)
			return
		}
		id := apptest.JSON[struct{ ID string }](t, a).ID
		made.set(id, "PENDING")
		if n%3 == 0 {
			if a := s.Post(t, rider, "/api/v1/me/trips/"+id+"/cancel", ""); a.Status == 200 {
				made.set(id, "CANCELLED")
			} else if a.Status != 503 {
				t.Errorf("cancelling: %d %s", a.Status, a.Body)
			}
		}
	}
}

// walk reads the tenant's trips page by page. It checks that it sees each trip in
// there exactly once.
func walk(t *testing.T, s *apptest.Service, operator string, there map[string]string) {
	t.Helper()
	seen := map[string]int{}
	for path := "/api/v1/trips?limit=20"; path != ""; {
		a := s.Get(t, operator, path)
		if a.Status != 200 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
			return
		}
		page := apptest.JSON[struct {
			Items []struct{ ID string }
			Next  string `json:"next_cursor"`
		}](t, a)
		for _, one := range page.Items {
			seen[one.ID]++
		}
		if path = ""; page.Next != "" {
			path = "/api/v1/trips?limit=20&cursor=" + page.Next
		}
	}
	for id := range there {
		if seen[id] != 1 {
			t.Errorf("%s was there before the walk, which saw it %d times", id, seen[id])
		}
	}
}

package location_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
)

// TestSlowClock: a driver whose phone's clock is slow by any lag is found after a few
// reports. Positions that a phone kept without a network are late, whatever their number,
// and do not say where the driver is now.
func TestSlowClock(t *testing.T) {
	for _, c := range []struct {
		name        string
		every, step time.Duration // between reports, and between their positions
		lag         time.Duration
		found       bool
	}{
		{"five minutes slow", 5 * time.Second, 5 * time.Second, 5*time.Minute + time.Second, true},
		{"two hours slow, every second", time.Second, time.Second, 2 * time.Hour, true},
		{"with jitter", 4 * time.Second, 5 * time.Second, 10 * time.Minute, true},
		{"kept for ten minutes, sent at once", 100 * time.Millisecond, 5 * time.Second, 10 * time.Minute, false},
		{"kept, sent one a second", time.Second, 5 * time.Second, 30 * time.Minute, false},
		{"a day and more", 5 * time.Second, 5 * time.Second, 25 * time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			id, token := w.driver(t, driver.Online)
			recorded := w.Now().Add(-c.lag)
			var got location.Reported
			for i := range 6 {
				w.Want(http.StatusOK, &got, http.MethodPut, path, token, body(40.7, -74, recorded))
				if !got.Stored || i == 0 && (!got.Late || got.ServerTime == "") {
					t.Errorf("report %d: %+v", i, got)
				}
				w.Advance(c.every)
				recorded = recorded.Add(c.step)
				if c.name == "with jitter" && i%2 == 1 {
					recorded = recorded.Add(-2 * time.Second)
				}
			}
			if found := len(w.near(t, "40.7", "-74", 5)) == 1; found != c.found || got.Late == c.found {
				t.Errorf("driver %s is found: %v; the last report: %+v", id, found, got)
			}
		})
	}
}

// TestSentAt: a report that says when the phone sent it is taken by the server's clock at
// once, if the phone's clock is wrong. What the phone kept stays as old as it is.
func TestSentAt(t *testing.T) {
	const ahead = 10 * time.Minute
	for _, c := range []struct {
		name            string
		measured, sent  time.Duration // before now, by the phone's clock
		age             time.Duration // of the stored position
		late, notStored bool
	}{
		{"five minutes slow", 5*time.Minute + 2*time.Second, 5 * time.Minute, 2 * time.Second, false, false},
		{"two hours slow", 2 * time.Hour, 2 * time.Hour, 0, false, false},
		{"ten minutes fast", -ahead + time.Second, -ahead, time.Second, false, false},
		{"kept for ten minutes", 10 * time.Minute, 0, 10 * time.Minute, true, false},
		{"kept for ten minutes, sent for half a minute", 10 * time.Minute, 30 * time.Second, 10 * time.Minute, true, false},
		{"kept for ten minutes, and an hour slow", 70 * time.Minute, time.Hour, 10 * time.Minute, true, false},
		{"measured by a satellite, the phone slow", 3 * time.Second, 5 * time.Minute, 3 * time.Second, false, false},
		{"measured by a satellite, the phone fast", 3 * time.Second, -ahead, 3 * time.Second, false, false},
		{"sent before it was measured", 6 * time.Minute, 8 * time.Minute, 6 * time.Minute, true, false},
		{"two days slow", 48 * time.Hour, 48 * time.Hour, 48 * time.Hour, true, false},
		{"fast without more", -ahead, time.Minute, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			_, token := w.driver(t, driver.Online)
			now := w.Now()
			report := strings.TrimSuffix(body(40.7, -74, now.Add(-c.measured)), "}") +
				`,"sentAt":"` + timestamp.Format(now.Add(-c.sent)) + `"}`
			var got location.Reported
			if c.notStored {
				w.Want(http.StatusBadRequest, nil, http.MethodPut, path, token, report)
				return
			}
			w.Want(http.StatusOK, &got, http.MethodPut, path, token, report)
			at, err := timestamp.Parse(got.RecordedAt)
			testkit.Must(t, err)
			if off := now.Sub(at) - c.age; off.Abs() > time.Second || got.Late != c.late || !got.Stored {
				t.Errorf("at %s: %+v", timestamp.Format(now), got)
			}
			if found := len(w.near(t, "40.7", "-74", 5)) == 1; found == c.late {
				t.Errorf("found: %v", found)
			}
		})
	}
	w := newWorld(t)
	_, token := w.driver(t, driver.Online)
	w.Want(http.StatusBadRequest, nil, http.MethodPut, path, token, strings.TrimSuffix(body(40.7, -74, w.Now()), "}")+
		`,"sentAt":"soon"}`)
}

// TestRelist: a driver who reported a position and then comes online is found, and one who
// left is not listed. A position that is not fresh lists nobody.
func TestRelist(t *testing.T) {
	w := newWorld(t)
	id, token := w.driver(t, driver.Offline)
	set := func(status string, found bool) {
		t.Helper()
		w.Want(http.StatusOK, nil, http.MethodPatch, "/api/v1/me/status", token, `{"status": "`+status+`"}`)
		for range 2 { // the stream may tell of a change again
			testkit.Must(t, location.Relist(t.Context(), w.tn, id, w.Now()))
		}
		if got := len(w.near(t, "40.7", "-74", 5)) == 1; got != found {
			t.Errorf("%s: found %v", status, got)
		}
		it, err := w.tn.Get(t.Context(), location.ListingKey(w.tn, id))
		testkit.Must(t, err)
		if listed := it.Found() && it.R != ""; listed != found {
			t.Errorf("%s: listed %v", status, listed)
		}
	}
	set(driver.Online, false)
	set(driver.Offline, false)
	w.Want(http.StatusOK, nil, http.MethodPut, path, token, body(40.7, -74, w.Now()))
	set(driver.Online, true)
	set(driver.Busy, false)
	set(driver.Online, true)
	set(driver.Offline, false)
	w.Advance(location.Fresh + time.Second)
	set(driver.Online, false)
}

package trip_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// begin lets time pass, and gives everybody new tokens.
func (w *office) begin(in time.Duration) {
	w.t.Helper()
	w.Advance(in)
	w.token = w.Token(w.tenant, authz.Dashboard, w.boss, "VIEW_TRIPS", "CREATE_TRIPS", "DELETE_TRIPS")
	for id := range w.tokens {
		audience := authz.Driver
		if strings.HasPrefix(id, ids.Customer) {
			audience = authz.Rider
		}
		w.tokens[id] = w.Token(w.tenant, audience, id)
	}
}

// early sets how early a booked ride may begin.
func (w *office) early(minutes int) {
	w.t.Helper()
	tx := w.tenant.Write()
	tenant.SetFlags(tx, w.tenant, map[string]any{tenant.EarlyMinutes: minutes})
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// given books a ride for a time from now, and gives it to the first driver.
func (w *office) given(in time.Duration, more string) trip.Trip {
	w.t.Helper()
	tr := w.book(fmt.Sprintf(`,"scheduledFor":%q`, timestamp.Format(w.Now().Add(in))) + more)
	if a := w.do(tr.ID, "assign", w.to(0)); a.Status != 200 {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	return tr
}

// TestEarlyArrival: nobody arrives or starts earlier before the booked time than the
// company allows, and the 409 names the time from which it is allowed.
func TestEarlyArrival(t *testing.T) {
	for minutes, lead := range map[any]time.Duration{nil: 2 * time.Hour, 0: 0, 15: 15 * time.Minute,
		1440: 24 * time.Hour} {
		t.Run(fmt.Sprint(minutes), func(t *testing.T) {
			w := newOffice(t, 1, 1)
			if minutes != nil {
				w.early(minutes.(int))
			}
			tr := w.given(48*time.Hour, "")
			from := timestamp.Format(w.Now().Add(48*time.Hour - lead))
			early := func() {
				t.Helper()
				for by, a := range map[string]func() (int, string){
					"driver": func() (int, string) { a := w.act(tr.ID, "arrived", w.driver(), ""); return a.Status, a.Body },
					"office": func() (int, string) { a := w.do(tr.ID, "arrived", ""); return a.Status, a.Body }} {
					if status, body := a(); status != 409 || !strings.Contains(body, from) ||
						!strings.Contains(body, "invalid_state") {
						t.Errorf("%s: %d %s, expected a 409 that names %s", by, status, body, from)
					}
				}
			}
			early()
			w.begin(48*time.Hour - lead - time.Millisecond)
			early()
			w.begin(time.Millisecond)
			if a := w.act(tr.ID, "arrived", w.driver(), ""); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			w.early(0) // the company's rule of now holds
			if a := w.act(tr.ID, "start", w.driver(), ""); (a.Status == 200) != (lead == 0) {
				t.Errorf("start: %d %s", a.Status, a.Body)
			}
			w.begin(lead)
			if a := w.act(tr.ID, "start", w.driver(), ""); lead != 0 && a.Status != 200 {
				t.Errorf("start in time: %d %s", a.Status, a.Body)
			}
		})
	}
}

// TestEarlyArrivalIsASetting: the setting holds for the next arrival, and null resets it.
func TestEarlyArrivalIsASetting(t *testing.T) {
	w := newOffice(t, 1, 1)
	tr := w.given(3*time.Hour, "")
	for i, tt := range []struct{ minutes, want int }{{200, 200}, {tenant.DefaultEarlyMinutes, 409}} {
		_, err := settings.Set(t.Context(), w.tenant, audit.By{Who: "svc:test", At: w.Now()},
			func(d *settings.Document) error { d.Dispatch.EarlyArrival = tt.minutes; return nil })
		testkit.Must(t, err)
		if a := w.act(tr.ID, "arrived", w.driver(), ""); a.Status != tt.want {
			t.Errorf("%d minutes: %d %s", tt.minutes, a.Status, a.Body)
		}
		if i == 0 {
			tr = w.given(3*time.Hour, "")
		}
	}
}

// TestWaitingOfABookedRide: waiting costs from the booked time or from the arrival,
// whichever is later.
func TestWaitingOfABookedRide(t *testing.T) {
	w := newOffice(t, 1, 1)
	by := audit.By{Who: "svc:test", At: w.Now()}
	_, err := settings.Set(t.Context(), w.tenant, by, func(d *settings.Document) error {
		d.Pricing.WaitingPerMinute, d.Pricing.FreeWaitingMinutes = "0.5", 4
		return nil
	})
	testkit.Must(t, err)
	s, err := settings.AddService(t.Context(), w.tenant, by, settings.Service{ServiceType: settings.ServiceType{
		Name: "Car", BaseFare: "10", Capacity: 4, Active: true}})
	testkit.Must(t, err)
	w.begin(2 * time.Second)
	for name, tt := range map[string]struct {
		arrives, starts time.Duration // after the booked time
		fare            string
	}{
		"early, starts in time":       {-16 * time.Minute, 0, "10"},
		"early, and waits":            {-16 * time.Minute, 10 * time.Minute, "13"},
		"early, starts early":         {-100 * time.Minute, -30 * time.Minute, "10"},
		"late, counts the arrival":    {20 * time.Minute, 26 * time.Minute, "11"},
		"in time, free minutes alone": {0, 4 * time.Minute, "10"},
	} {
		tr := w.given(2*time.Hour, fmt.Sprintf(`,"serviceTypeId":%q`, s.ID))
		at := w.Now()
		for _, step := range []struct {
			action, body string
			when         time.Duration
		}{{"arrived", "", tt.arrives}, {"start", "", tt.starts},
			{"complete", `{"actualDistance":1,"actualDuration":60}`, tt.starts + time.Minute}} {
			w.begin(at.Add(2 * time.Hour).Add(step.when).Sub(w.Now()))
			if a := w.act(tr.ID, step.action, w.driver(), step.body); a.Status != 200 {
				t.Fatalf("%s: %s: %d %s", name, step.action, a.Status, a.Body)
			}
		}
		if got := w.stored(tr.ID).FinalFare; got == nil || string(*got) != tt.fare {
			t.Errorf("%s: the fare is %v, want %s", name, got, tt.fare)
		}
	}
}

package receipt_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// later lets time pass, and gives everybody new tokens.
func (w *world) later(d time.Duration) {
	w.Advance(d)
	w.tokens[w.driver] = w.Token(w.tenant, authz.Driver, w.driver)
	w.tokens[w.rider] = w.Token(w.tenant, authz.Rider, w.rider)
	w.tokens[""] = w.Token(w.tenant, authz.Dashboard, ids.New(ids.Person, apitest.Start), "MANAGE_WALLETS", "VIEW_WALLETS",
		"VIEW_TRIPS", "CREATE_TRIPS")
}

// TestNoShow: the driver ends the ride once waiting is no longer free. The rider owes the
// company's fee, which the driver gets less the commission; the operator may waive it.
func TestNoShow(t *testing.T) {
	for name, tt := range map[string]struct {
		cancellation string // "" if it is not charged
		own          string // noShowFee, "" for null
		waive        bool
		fee          string // that the rider pays, "" for none
	}{
		"the cancellation fee":    {"5", "", false, "5"},
		"a fee of its own":        {"5", "7.5", false, "7.5"},
		"no cancellation fee":     {"", "7.5", false, "7.5"},
		"no fee":                  {"5", "0", false, ""},
		"nothing is set":          {"", "", false, ""},
		"waived":                  {"5", "7.5", true, ""},
		"waived, the common fee":  {"5", "", true, ""},
		"waived, nothing was set": {"", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "USD")
			service := w.charging(tt.cancellation)
			rules := settings.Default
			rules.Pricing.CancellationFee, rules.Pricing.ChargeCancellation = "3", false
			if tt.cancellation != "" {
				rules.Pricing.CancellationFee, rules.Pricing.ChargeCancellation = money.Amount(tt.cancellation), true
			}
			if tt.own != "" {
				rules.Pricing.NoShowFee = ptr(money.Amount(tt.own))
			}
			w.load(settings.Kind.Item(w.tenant, "", rules))
			w.later(2 * time.Second)
			tr := w.requested(service, "accept", "arrived")
			path, token, body := "/api/v1/me/trips/"+tr.ID+"/no-show", w.driver, ""
			if tt.waive {
				path, token, body = "/api/v1/trips/"+tr.ID+"/no-show", "", `{"waive":true}`
			}
			free := timestamp.Format(w.Now().Add(5 * time.Minute))
			for _, wait := range []time.Duration{5*time.Minute - time.Millisecond, time.Millisecond} {
				if a := w.Insist("POST", path, w.tokens[token], body); a.Status != 409 || !strings.Contains(a.Body, free) {
					t.Errorf("too early: %d %s, expected a 409 that names %s", a.Status, a.Body, free)
				}
				w.later(wait)
			}
			w.Want(200, nil, "POST", path, w.tokens[token], body)
			w.noShow(tr.ID, tt.fee)
		})
	}
}

// noShow checks a trip that ended as a no-show for a fee, and settles it.
func (w *world) noShow(id, fee string) {
	w.t.Helper()
	now := w.now(id)
	if now.Status != trip.Cancelled || now.CancelReason == nil || *now.CancelReason != "no_show" || now.NoShowFee != nil ||
		(now.CancellationFee != nil) != (fee != "") {
		w.t.Fatalf("the trip is %+v", now)
	}
	log := now.Log()
	if last := log[len(log)-1]; last.Type != trip.EventCancelled || last.Actor.Type == string(authz.Rider) {
		w.t.Errorf("the log ends with %+v", last)
	}
	if fee == "" {
		if now.Settles() {
			w.t.Error("a waived fee settles")
		}
		return
	}
	for range 2 {
		testkit.Must(w.t, settle(w, now))
	}
	share := map[string]string{"5": "4", "7.5": "6"}[fee]
	if rider, driver := w.balance(w.rider), w.balance(w.driver); rider != "-"+fee || driver != share {
		w.t.Errorf("rider %s, driver %s", rider, driver)
	}
	if a := w.post(w.rider, "REFUND", fee, `, "tripId": "`+id+`"`); a.Status != 201 || w.balance(w.rider) != "0" {
		w.t.Errorf("given back: %d %s", a.Status, a.Body)
	}
}

// TestNoShowOf: only a ride whose driver has arrived ends as a no-show, by its own driver
// or the company, once. Waiting of a booked ride begins at its time.
func TestNoShowOf(t *testing.T) {
	w := newWorld(t, "USD")
	service := w.charging("5")
	w.later(0)
	other := ids.New(ids.Driver, apitest.Start)
	w.people(other, ids.New(ids.Customer, apitest.Start))
	for name, steps := range map[string][]string{"pending": nil, "on the way": {"accept"},
		"under way": {"accept", "arrived", "start"}, "driven": {"accept", "arrived", "start", "complete"}} {
		tr := w.requested(service, steps...)
		for path, token := range map[string]string{"/api/v1/me/trips/": w.driver, "/api/v1/trips/": ""} {
			if a := w.Insist("POST", path+tr.ID+"/no-show", w.tokens[token], ""); a.Status != 409 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
	}
	tr := w.requested(service, "accept", "arrived")
	w.later(5 * time.Minute)
	w.tokens[other] = w.Token(w.tenant, authz.Driver, other)
	if a := w.Insist("POST", "/api/v1/me/trips/"+tr.ID+"/no-show", w.tokens[other], ""); a.Status != 404 {
		t.Errorf("another driver: %d %s", a.Status, a.Body)
	}
	if a := w.Insist("POST", "/api/v1/me/trips/"+tr.ID+"/no-show", w.tokens[w.rider], ""); a.Status != 403 {
		t.Errorf("the rider: %d %s", a.Status, a.Body)
	}
	for i, want := range []int{200, 409} {
		if a := w.Insist("POST", "/api/v1/me/trips/"+tr.ID+"/no-show", w.tokens[w.driver], ""); a.Status != want {
			t.Errorf("%d: %d %s", i, a.Status, a.Body)
		}
	}
	booked := w.requested(service, "accept", "arrived")
	now := w.now(booked.ID)
	now.ScheduledFor = timestamp.Ptr(w.Now().Add(30 * time.Minute))
	w.load(now.Item(w.tenant, 1))
	w.later(34 * time.Minute)
	free := timestamp.Format(w.Now().Add(time.Minute))
	path := "/api/v1/me/trips/" + booked.ID + "/no-show"
	if a := w.Insist("POST", path, w.tokens[w.driver], ""); a.Status != 409 || !strings.Contains(a.Body, free) {
		t.Errorf("before the end of the free time: %d %s", a.Status, a.Body)
	}
	w.later(time.Minute)
	w.Want(200, nil, "POST", path, w.tokens[w.driver], "")
}

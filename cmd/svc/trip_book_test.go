package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// TestBookedBySvc: a caller becomes a rider without a mail address, whom the next call
// finds, whom svc can disable, and who signs in as soon as an address is set.
func TestBookedBySvc(t *testing.T) {
	w := share(t)
	book := func(more ...string) trip.Trip {
		t.Helper()
		return read[trip.Trip](w, append([]string{"trip", "book", "metro", "--from", "12 Harbour Street", "--at",
			"40.7128,-74.006"}, more...)...)
	}
	first := book("--phone", "+1 212 555 0177", "--name", "Cal Ler")
	again := book("--phone", "(212) 555-0177", "--to", "40.7306,-73.9866") // the demo's companies have a country
	if first.CustomerID != again.CustomerID || first.Status != trip.Pending {
		t.Errorf("booked %+v, then %+v", first, again)
	}
	service := read[[]settings.ManagedService](w, "service", "list", "metro")[0].ID
	for _, more := range [][]string{nil, {"--service", service}} {
		out := w.ok(append([]string{"trip", "book", "metro", "--phone", "+1 212 555 0177", "--from", "1 Street", "--at",
			"40.7,-74"}, more...)...)
		if strings.Contains(out, "settles at 0") != (more == nil) {
			t.Errorf("%q says %s", more, out)
		}
	}
}

// TestCancelForFeeBySvc: with --fee the rider owes the cancellation fee, where a driver
// has the trip and the company charges one.
func TestCancelForFeeBySvc(t *testing.T) {
	w := share(t)
	ride := func() string {
		t.Helper()
		return read[trip.Trip](w, "trip", "book", "metro", "--phone", "+1 212 555 0171", "--from", "1 Street", "--at",
			"40.7,-74").ID
	}
	w.ok("tenant", "settings", "metro", "pricing.chargeCancellation=true", "pricing.cancellationFee=4.5")
	defer w.ok("tenant", "settings", "metro", "pricing.chargeCancellation=false")
	w.ok("driver", "add", "metro", "waits@metro.example", "--first", "Waits", "--password", "a long password 1")
	for id, fee := range map[string]bool{ride(): true, ride(): false} {
		if _, errs, code := w.run("trip", "cancel", "metro", id, "--reason", "x", "--fee"); code != 1 ||
			!strings.Contains(errs, "owes no fee") {
			t.Errorf("without a driver: %d %s", code, errs)
		}
		w.ok("trip", "hand-over", "metro", id, "--driver", "waits@metro.example")
		args := []string{"trip", "cancel", "metro", id, "--reason", "The rider did not come"}
		if fee {
			args = append(args, "--fee")
		}
		w.ok(args...)
		if got := read[tripWithLog](w, "trip", "show", "metro", id); got.Owes() != fee || got.Status != trip.Cancelled {
			t.Errorf("fee %v: %+v", fee, got.Trip)
		}
	}
}

// TestNoShowBySvc: a ride whose rider does not come ends as a no-show once waiting is no
// longer free, for the company's fee or, with --waive, for none.
func TestNoShowBySvc(t *testing.T) {
	w := share(t)
	w.ok("tenant", "settings", "metro", "pricing.noShowFee=3.5", "pricing.freeWaitingMinutes=5")
	defer w.ok("tenant", "settings", "metro", "pricing.noShowFee=null", "pricing.freeWaitingMinutes=0")
	w.ok("driver", "add", "metro", "stands@metro.example", "--first", "Stands", "--password", "a long password 1")
	for more, fee := range map[string]bool{"": true, "--waive": false} {
		id := read[trip.Trip](w, "trip", "book", "metro", "--phone", "+1 212 555 0172", "--from", "1 Street", "--at",
			"40.7,-74").ID
		end := append([]string{"trip", "no-show", "metro", id}, strings.Fields(more)...)
		w.ok("tenant", "settings", "metro", "pricing.freeWaitingMinutes=5")
		w.ok("trip", "hand-over", "metro", id, "--driver", "stands@metro.example")
		for _, move := range []string{"ASSIGNED", "DRIVER_ARRIVED"} {
			want := map[string]string{"ASSIGNED": "ASSIGNED", "DRIVER_ARRIVED": "waiting is free for 5 minutes"}[move]
			if move == "DRIVER_ARRIVED" {
				w.ok("trip", "move", "metro", id, move)
			}
			if _, errs, code := w.run(end...); code != 1 || !strings.Contains(errs, want) {
				t.Errorf("while it is %s: %d %s", move, code, errs)
			}
		}
		w.ok("tenant", "settings", "metro", "pricing.freeWaitingMinutes=0")
		w.ok(end...)
		got := read[tripWithLog](w, "trip", "show", "metro", id)
		if got.Status != trip.Cancelled || got.CancelReason == nil || *got.CancelReason != trip.NoShowReason ||
			got.Owes() != fee || fee && *got.CancellationFee != "3.5" {
			t.Errorf("%q: %+v", more, got.Trip)
		}
		if log := w.ok("audit", "metro", "--json"); !strings.Contains(log, id) {
			t.Errorf("the audit log has nothing of %s", id)
		}
		if last := got.Log[len(got.Log)-1]; !strings.HasPrefix(last.Actor.ID, "svc:") {
			t.Errorf("the log names %+v", last.Actor)
		}
	}
}

// TestRiderWithoutAddress: what svc does with riders works for one without an address.
func TestRiderWithoutAddress(t *testing.T) {
	w := share(t)
	made := read[trip.Trip](w, "trip", "book", "metro", "--phone", "+1 212 555 0178", "--from", "1 Street", "--at",
		"40.7,-74")
	id := made.CustomerID
	for _, args := range [][]string{{"rider", "edit", "metro", id, "--disable"},
		{"rider", "edit", "metro", id, "--disable=false"}, {"wallet", "show", "metro", id, "--side", "rider"},
		{"trip", "list", "metro", "--rider", id}, {"rider", "list", "metro"}} {
		w.ok(args...)
	}
	if _, errs, code := w.run("rider", "edit", "metro", id, "--email", "nobody"); code == 0 {
		t.Errorf("no address: %s", errs)
	}
	w.ok("rider", "edit", "metro", id, "--email", "caller@metro.example")
	w.ok("rider", "edit", "metro", "caller@metro.example", "--disable")
	got := read[customer.Customer](w, "rider", "edit", "metro", id, "--disable=false")
	if got.Email != "caller@metro.example" || got.Name != "+12125550178" {
		t.Errorf("%+v", got)
	}
	if _, errs, code := w.run("rider", "edit", "metro", id, "--email", ""); code == 0 {
		t.Errorf("the address is gone: %s", errs)
	}
	for _, args := range [][]string{{"--phone", "+1 212 555 0178", "--rider", id}, {"--from", "x"},
		{"--phone", "+1 212 555 0178", "--from", "x", "--at", "40.7"}} {
		if _, errs, code := w.run(append([]string{"trip", "book", "metro"}, args...)...); code != 2 ||
			!strings.Contains(errs, "--at") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

// TestImportOfACaller: a file with phones as its key changes the rider whom a booking
// made, and makes no second one. A rider who has another number by now is left alone.
func TestImportOfACaller(t *testing.T) {
	w := share(t)
	book := func(phone string) string {
		t.Helper()
		return read[trip.Trip](w, "trip", "book", "metro", "--phone", phone, "--from", "1 Street", "--at",
			"40.7,-74").CustomerID
	}
	stays, moved := book("+1 212 555 0166"), book("+1 212 555 0167")
	w.ok("rider", "edit", "metro", moved, "--phone", "+1 212 555 0168")
	file := filepath.Join(t.TempDir(), "callers.csv")
	testkit.Must(t, os.WriteFile(file, []byte("phone,name\n+12125550166,Known Caller\n+12125550167,New Owner\n"), 0o600))
	w.ok("import", file, "--tenant", "metro", "--kind", "customers", "--key", "phone")
	for id, want := range map[string]string{stays: "Known Caller", moved: "+12125550167"} {
		if got := read[customer.Customer](w, "rider", "edit", "metro", id, "--disable"); got.Name != want {
			t.Errorf("the rider of %s is %s", want, got.Name)
		}
	}
	if got := book("+1 212 555 0167"); got == moved {
		t.Error("the number that was given up still finds its rider")
	}
}

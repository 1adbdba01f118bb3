package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/background/feed"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/background/settlement"
	"svc/pkg/base/money"
	"svc/pkg/domain/feedback"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

const tripsHead = "email,tripId,driverEmail,status,requestedAt,completedAt," +
	"originAddress,originLat,originLng,fare,paymentType\r\n"

func exact(t *testing.T, s *apptest.Service) {
	t.Helper()
	run := &reconcile.Run{Compared: func(string, int) {}, Found: func(d reconcile.Difference) {
		t.Errorf("svc verify: %+v", d)
	}}
	tn := s.Tenant("metro")
	counts := projection.Check{Run: run, Step: projection.Step{Now: s.Clock.Now, RankRows: feedback.RankRows}}
	testkit.Must(t, counts.Tenant(t.Context(), tn))
	ledger := settlement.Check{Run: run, Now: s.Clock.Now}
	testkit.Must(t, ledger.Tenant(t.Context(), tn))
	events := feed.Check{Run: run, Now: s.Clock.Now}
	testkit.Must(t, events.Tenant(t.Context(), tn))
}

// TestImportOfTrips: past rides are listed and counted in reports, with their fares.
// They move no money, get no receipt and make no event. The same file again changes
// nothing, and a ride with another fare is a fault.
func TestImportOfTrips(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	anna, dan := s.Rider(t, "metro", "anna"), s.Driver(t, "metro", "dan")
	var file strings.Builder
	file.WriteString(tripsHead)
	for n := range 40 {
		fmt.Fprintf(&file, "%s,R-%d,%s,,2024-03-%02d 08:00,2024-03-%02dT08:30:00-05:00,%d Old Street,40.7,-74,10.25,%s\r\n",
			anna.Email, n, map[bool]string{true: dan.Email}[n%2 == 0], n%28+1, n%28+1, n,
			map[bool]string{true: "card"}[n%3 == 0])
	}
	fmt.Fprintf(&file, "%s,R-90,,CANCELLED,2024-04-01T08:00:00Z,,7 Old Street,40.7,-74,,\r\n", anna.Email)
	good := file.String()
	job := imported(t, s, boss, `{"kind": "trips"}`, []byte(good))
	if counts(job) != "DONE 41/0/0/0" {
		t.Fatalf("the import is %s: %+v", counts(job), job)
	}
	s.Drain(t)
	for range 2 {
		if again := imported(t, s, boss, `{"kind": "trips"}`, []byte(good)); counts(again) != "DONE 0/0/41/0" {
			t.Errorf("the same file again: %s", counts(again))
		}
	}
	other := strings.Replace(good, "10.25", "11", 1)
	if again := imported(t, s, boss, `{"kind": "trips"}`, []byte(other)); counts(again) != "DONE 0/0/40/1" {
		t.Errorf("another fare: %s", counts(again))
	}
	s.Drain(t)
	got := apptest.JSON[struct {
		CompletedTrips int
		Revenue        money.Amount
	}](t, s.Get(t, boss, "/api/v1/reports/summary?from=2024-03-01&to=2024-04-30").Must(t, 200))
	if got.CompletedTrips != 40 || got.Revenue != "410" {
		t.Errorf("the report is %+v", got)
	}
	movedNothing(t, s, boss, anna, dan)
	exact(t, s)
}

// TestImportOfForgottenTrips: past rides that are older than the company keeps
// addresses lose them, although the company's newer trips were looked at before.
func TestImportOfForgottenTrips(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	s := apptest.New(t)
	anna, boss := s.Rider(t, "metro", "anna"), s.Operator(t, "metro", "boss")
	line := anna.Email + ",R-%d,,CANCELLED,%s,,%s Street,40.7,-74,,\r\n"
	bring := func(n int, at, name string) trip.Trip {
		t.Helper()
		file := tripsHead + fmt.Sprintf(line, n, at, name)
		if job := imported(t, s, s.SignIn(t, boss).AccessToken, `{"kind": "trips"}`, []byte(file)); job.Failed > 0 {
			t.Fatalf("the import is %+v", job)
		}
		testkit.Must(t, s.Runtime.Scheduled()["JobsFunction"](t.Context()))
		it, err := s.Tenant("metro").Get(t.Context(), trip.Key(s.Tenant("metro"),
			trip.FormerID(s.Tenant("metro"), fmt.Sprint("R-", n))))
		testkit.Must(t, err)
		tr, err := trip.FromItem(it)
		testkit.Must(t, err)
		return tr
	}
	if tr := bring(1, "2024-03-01T08:00:00Z", "Early"); tr.OriginAddress != "Early Street" {
		t.Errorf("the trip is %+v", tr)
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.Retain.Addresses = 30 })
	for n, at := range []string{"2024-04-01T08:00:00Z", "2024-02-01T08:00:00Z"} {
		if tr := bring(2+n, at, "Old"); tr.OriginAddress != "" || tr.OriginLat != "40.7" {
			t.Errorf("of %s there is %+v", at, tr)
		}
	}
}

// movedNothing checks that 40 past rides of the two moved no money, have no receipt and
// made no event.
func movedNothing(t *testing.T, s *apptest.Service, boss string, anna, dan apptest.Actor) {
	t.Helper()
	for _, one := range []apptest.Actor{anna, dan} {
		wallet := string(s.Get(t, s.Token(t, one), "/api/v1/me/wallet").Must(t, 200).Body)
		if !strings.Contains(wallet, `"balance":0`) {
			t.Errorf("the wallet is %s", wallet)
		}
	}
	list := apptest.JSON[struct{ Items []trip.Trip }](t,
		s.Get(t, boss, "/api/v1/trips?status=COMPLETED&limit=50").Must(t, 200))
	if len(list.Items) != 40 || list.Items[0].FinalFare == nil {
		t.Fatalf("%d trips are listed", len(list.Items))
	}
	for _, call := range []apptest.Request{
		{Method: http.MethodPost, Path: "/api/v1/trips/" + list.Items[0].ID + "/fare",
			Body: `{"finalFare": 5, "reason": "typo"}`},
		{Method: http.MethodGet, Path: "/api/v1/trips/" + list.Items[0].ID + "/receipt"}} {
		call.Token = boss
		if a := s.Do(t, call); a.Status != 409 && a.Status != 404 {
			t.Errorf("%s: %d %s", call.Path, a.Status, a.Body)
		}
	}
	events := string(s.Get(t, boss, "/api/v1/events?after=earliest&limit=200").Must(t, 200).Body)
	if strings.Contains(events, `"trip.`) {
		t.Errorf("the feed tells of past rides: %s", events)
	}
	swept, err := settlement.Sweep(context.Background(), s.Tenant("metro"), s.Clock.Now().AddDate(-5, 0, 0), s.Clock.Now)
	if err != nil || len(swept.Settled) > 0 {
		t.Errorf("the sweep settled %v, %v", swept.Settled, err)
	}
}

// TestImportOfTripsWithFaults: each wrong row is named, and nothing of it is stored.
func TestImportOfTripsWithFaults(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	boss := s.Token(t, s.Operator(t, "metro", "boss"))
	anna, abroad := s.Rider(t, "metro", "anna"), s.Rider(t, "harbor", "zoe")
	row := func(values ...string) string {
		cells := map[string]string{"email": anna.Email, "tripId": "R", "requestedAt": "2024-03-01T08:00:00Z",
			"completedAt": "2024-03-01T08:30:00Z", "originAddress": "A", "originLat": "40", "originLng": "-74", "fare": "5"}
		for i := 0; i < len(values); i += 2 {
			cells[values[i]] = values[i+1]
		}
		var out []string
		for _, name := range strings.Split(strings.TrimSpace(tripsHead), ",") {
			out = append(out, cells[name])
		}
		return strings.Join(out, ",") + "\r\n"
	}
	wrong := [][]string{{"tripId", ""}, {"fare", "5.001"}, {"fare", "-1"}, {"fare", ""}, {"fare", "99999999"},
		{"fare", "abc"},
		{"paymentType", "WALLET"}, {"status", "PENDING"}, {"requestedAt", "01/03/2024"}, {"requestedAt", "2999-01-01"},
		{"completedAt", "2024-02-01"}, {"completedAt", ""}, {"originLat", "95"}, {"originLng", ""}, {"originAddress", ""},
		{"email", "nobody@metro.example"}, {"email", abroad.Email}, {"driverEmail", "nobody@metro.example"},
		{"status", "CANCELLED"}}
	file := tripsHead + row("tripId", "right")
	for n, one := range wrong {
		file += row(append([]string{"tripId", fmt.Sprint("R-", n)}, one...)...)
	}
	file += row("tripId", "right")
	job := imported(t, s, boss, `{"kind": "trips"}`, []byte(file))
	path := "/api/v1/imports/" + job.ID + "/errors?limit=50"
	faults := apptest.JSON[struct{ Items []imports.Fault }](t, s.Get(t, boss, path).Must(t, 200)).Items
	if job.Created != 1 || len(faults) != len(wrong)+1 {
		t.Errorf("%s: %+v", counts(job), faults)
	}
	for n, one := range wrong {
		if n < len(faults) && faults[n].Column != one[0] && one[0] != "status" {
			t.Errorf("%v: %+v", one, faults[n])
		}
	}
	s.Drain(t)
	exact(t, s)
}

package docspage

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/person"
)

// TestConsoleInDriversPlace: an operator marks a driver as arrived and takes the trip back. What the operator may not
// do any more, or decided about a trip that another has changed meanwhile, is not done, and the question says why.
func TestConsoleInDriversPlace(t *testing.T) {
	testkit.Long(t)
	for device, width := range widths {
		t.Run(device, func(t *testing.T) {
			s := apptest.New(t)
			dan, eve := s.Driver(t, "metro", "dan"), s.Driver(t, "metro", "eve")
			for _, driver := range []apptest.Actor{dan, eve} {
				s.Patch(t, s.Token(t, driver, "driver.status:write"), "/api/v1/me/status", `{"status":"ONLINE"}`).Must(t, 200)
			}
			trip, olga := rides(t, s, 1)[0], s.Operator(t, "metro", "olga")
			path := "/api/v1/trips/" + trip
			otto := s.Token(t, s.Operator(t, "metro", "otto"), "tenant.trips:write", "tenant.trips:read")
			is := func(status, driver string) {
				t.Helper()
				got := apptest.JSON[struct{ Status, DriverID string }](t, s.Get(t, otto, path).Must(t, 200))
				if got.Status != status || got.DriverID != driver {
					t.Errorf("the trip is %s with the driver %q, not %s with %q", got.Status, got.DriverID, status, driver)
				}
			}
			give := func(to apptest.Actor) { s.Post(t, otto, path+"/assign", `{"driverId":"`+to.ID+`"}`).Must(t, 200) }
			give(dan)
			ctx := browser(t)
			run(t, ctx, size(width, 844, "light"))
			signInToConsole(t, ctx, s, olga)
			run(t, ctx, open("trips/"+trip, `//button[.="Driver arrived"]`)...)
			yes, faster := browsing.Click(button("Yes, do it")), sees(`//dialog//p[contains(., "Somebody else was faster")]`)

			run(t, ctx, browsing.Click(button("Driver arrived")), sees(`//dialog//h2[.="Mark the driver as arrived?"]`))
			people := person.Store{DB: s.DB}
			_, err := people.Revoke(t.Context(), s.Tenant("metro"), s.By(), olga.ID, "CREATE_TRIPS")
			testkit.Must(t, err)
			run(t, ctx, yes, sees(`//dialog//p[contains(., "CREATE_TRIPS")]`))
			fits(t, ctx, "the refusal")
			is("ASSIGNED", dan.ID)
			_, err = people.Grant(t.Context(), s.Tenant("metro"), s.By(), olga.ID, "CREATE_TRIPS")
			testkit.Must(t, err)
			run(t, ctx, yes, sees(`//h1/span[.="Driver arrived"]`), sees(`//li/b[.="Arrived"]`),
				browsing.WaitNotPresent(button("Driver arrived")), browsing.WaitNotPresent(chromedp.CSS("dialog")))
			is("DRIVER_ARRIVED", dan.ID)

			run(t, ctx, browsing.Click(button("Take back")), sees(`//dialog//h2[.="Take this trip from its driver?"]`),
				typing("dialog input", "The car broke down"))
			give(eve)
			run(t, ctx, yes, faster)
			is("ASSIGNED", eve.ID)
			run(t, ctx, yes, sees(`//h1/span[.="Searching"]`), sees(`//li[b="Taken back"]/q[.="The car broke down"]`),
				browsing.WaitVisible(button("Assign")), browsing.WaitNotPresent(button("Take back")),
				browsing.WaitNotPresent(chromedp.CSS("dialog")))
			is("SEARCHING", "")

			give(dan)
			run(t, ctx, browsing.WaitVisible(button("Driver arrived")), browsing.Click(button("Driver arrived")),
				sees(`//dialog//h2[.="Mark the driver as arrived?"]`))
			s.Post(t, otto, path+"/cancel", `{"reason":"Nobody comes"}`).Must(t, 200)
			run(t, ctx, yes, faster, sees(`//h1/span[.="Cancelled"]`), browsing.Click(button("No, leave it")),
				browsing.WaitNotPresent(chromedp.CSS("dialog")), browsing.WaitNotPresent(button("Driver arrived")))
			is("CANCELLED", dan.ID)
			noFaults(t, ctx)
		})
	}
}

// TestConsoleFollows: the page of a trip under way shows its driver move, and reads the position as often as the map
// does, though no event tells of it. It is counted in readings of the feed, every 1.5 seconds. The driver's page says
// when the position was measured.
func TestConsoleFollows(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	dan, trip := s.Driver(t, "metro", "dan"), rides(t, s, 1)[0]
	comeOnline(t, s, dan, 40.71, time.Minute)
	s.Post(t, s.Token(t, s.Operator(t, "metro", "otto"), "tenant.trips:write"), "/api/v1/trips/"+trip+"/assign",
		`{"driverId":"`+dan.ID+`"}`).Must(t, 200)
	s.Drain(t)
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"), inject(seen))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, open("trips/"+trip, `//a[.="Dan Driver"]`)...)
	const read = `performance.getEntriesByType("resource").filter(e => e.name.includes("/api/v1/%s")).length`
	run(t, ctx, browsing.WaitReady(chromedp.JSPath(fmt.Sprintf(read, "events?")+` > 12 ? document.body : null`)))
	if n := get[int](t, ctx, fmt.Sprintf(read, "trips/"+trip)); n < 4 {
		t.Errorf("while the feed was read 13 times, the position was read %d times", n)
	}
	run(t, ctx, chromedp.Evaluate[chromedp.Void](`void (movements = 0)`))
	s.Do(t, apptest.Request{Method: "PUT", Path: "/api/v1/me/location", Token: s.Token(t, dan, "driver.status:write"),
		Body: fmt.Sprintf(`{"lat":40.72,"lng":-74.0,"recordedAt":%q}`, timestamp.Format(s.Clock.Now()))}).Must(t, 200)
	run(t, ctx, browsing.WaitReady(chromedp.JSPath(`movements > 3 ? document.body : null`)))
	run(t, ctx, open("drivers/"+dan.ID, `//dt[.="Position"]`)...)
	if told := get[string](t, ctx, `[...document.querySelectorAll("dt")].find(e => e.textContent === "Position")
		.nextSibling.textContent`); told == "never" {
		t.Error("the driver's page knows no position")
	}
	noFaults(t, ctx)
}

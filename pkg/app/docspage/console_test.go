package docspage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/person"
)

// signInToConsole opens the console as the operator.
func signInToConsole(t *testing.T, ctx context.Context, s *apptest.Service, a apptest.Actor) {
	t.Helper()
	run(t, ctx, watch(), chromedp.Navigate(s.URL+"/console/"), browsing.Click(button("Sign in")),
		browsing.WaitVisible(chromedp.CSS("#password")), browsing.SetValue(chromedp.CSS("#email"), a.Email),
		browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+kb.Enter),
		browsing.WaitVisible(button("Sign out"))) // no consent: it is the platform's own
}

// rides requests rides of the metro's rider rita, and returns their ids.
func rides(t *testing.T, s *apptest.Service, n int) (ids []string) {
	t.Helper()
	rita := s.Token(t, s.Rider(t, "metro", "rita"), "rider.trips:create")
	for i := range n {
		made := apptest.JSON[struct{ ID string }](t, s.Post(t, rita, "/api/v1/me/trips", fmt.Sprintf(
			`{"originAddress":"%d Harbour Street","originLat":%.4f,"originLng":%.4f,"destAddress":"1 Station Square",`+
				`"destLat":%.4f,"destLng":%.4f}`, i+1, 40.712+float64(i*7%12)/400, -74.012+float64(i*5%12)/300,
			40.712+float64(i*11%12)/400, -74.012+float64((i*7+5)%12)/300)).Must(t, 201))
		ids = append(ids, made.ID)
	}
	return ids
}

// open shows a view of the console and waits for an element of it.
func open(view, selector string) []step {
	return []step{chromedp.Evaluate[chromedp.Void](`location.hash = "#/` + view + `"`), browsing.WaitVisible(chromedp.Search(selector))}
}

// TestConsole uses the console as an operator would: it signs in, sees a ride that is
// requested meanwhile, gives it to a driver and cancels it. It loads nothing from another
// origin, and its policy blocks nothing.
func TestConsole(t *testing.T) {
	s := apptest.New(t)
	dan := s.Driver(t, "metro", "dan")
	online := s.Token(t, dan, "driver.status:write")
	s.Patch(t, online, "/api/v1/me/status", `{"status":"ONLINE"}`).Must(t, 200)
	drives := s.Token(t, dan, "driver.trips:accept", "driver.trips:complete")
	first := rides(t, s, 2)
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, open("trips", `//h1[.="Trips"]`)...)
	run(t, ctx, browsing.WaitVisible(chromedp.Search(`//td[.="2 Harbour Street"]`)))
	rides(t, s, 3) // by somebody else: the third shows by itself
	s.Drain(t)
	run(t, ctx, browsing.WaitVisible(chromedp.Search(`//td[.="3 Harbour Street"]`)))
	run(t, ctx, open("trips/"+first[0], `//button[.="Assign"]`)...)
	run(t, ctx, browsing.Click(button("Assign")), browsing.WaitReady(chromedp.CSS("dialog select option:nth-child(2)")),
		chromedp.Evaluate[chromedp.Void](`(() => { const s = document.querySelector("dialog select"); s.selectedIndex = 1;
			s.dispatchEvent(new Event("change", {bubbles: true})) })()`),
		browsing.Click(button("Yes, do it")), browsing.WaitVisible(chromedp.Search(`//h1/span[.="Assigned"]`)),
		browsing.WaitVisible(button("Hand over")))
	run(t, ctx, browsing.Click(button("Cancel trip")), browsing.WaitVisible(chromedp.CSS("dialog input")),
		browsing.SendKeys(chromedp.CSS("dialog input"), "The car broke down"), browsing.Click(button("Yes, do it")),
		browsing.WaitVisible(chromedp.Search(`//h1/span[.="Cancelled"]`)),
		browsing.WaitVisible(chromedp.Search(`//q[.="The car broke down"]`)))
	s.Ride(t, "", drives, script.Ride{ID: first[1], Fare: "180"})
	s.Drain(t)
	run(t, ctx, open("trips/"+first[1], `//caption[.="Receipt, version 1"]`)...)
	run(t, ctx, browsing.Click(button("Correct fare")), browsing.WaitVisible(chromedp.CSS("dialog input")),
		browsing.SendKeys(chromedp.CSS("dialog input:not([type=number])"), "A zero too many"),
		browsing.SetValue(chromedp.CSS("dialog input[type=number]"), "18"),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("dialog input[type=number]").dispatchEvent(new Event("input", {bubbles: true}))`),
		browsing.Click(button("Yes, do it")), browsing.WaitVisible(chromedp.Search(`//caption[.="Receipt, version 2"]`)))
	run(t, ctx, open("drivers/"+dan.ID, `//button[.="Disable"]`)...)
	run(t, ctx, browsing.Click(button("Disable")), browsing.WaitVisible(button("Yes, do it")),
		browsing.Click(button("Yes, do it")), browsing.WaitVisible(button("Enable")))
	s.Get(t, online, "/api/v1/me").Must(t, 401)
	for _, fault := range get[[]string](t, ctx, `faults.concat(performance.getEntriesByType("resource")
		.map(e => e.name).filter(name => !name.startsWith(location.origin + "/")))`) {
		t.Error(fault)
	}
}

// TestConsoleChangesAsItShows: an address that changes at the very moment at which the page shows is not missed.
func TestConsoleChangesAsItShows(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"), command(page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			new MutationObserver((_, observer) => {
				if (!document.querySelector("header nav")) return
				observer.disconnect()
				location.hash = "#/trips"
			}).observe(document, {childList: true, subtree: true})`}))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, browsing.WaitVisible(chromedp.Search(`//h1[.="Trips"]`)),
		browsing.WaitVisible(chromedp.Search(`//td[.="1 Harbour Street"]`)))
}

// TestConsoleInTrouble: the network is cut and comes back, and the operator loses a permission, while
// the console is open. Each is said, and what comes later shows without a new sign-in.
func TestConsoleInTrouble(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	olga := s.Operator(t, "metro", "olga")
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"), command(network.Enable, network.EnableParams{}))
	signInToConsole(t, ctx, s, olga)
	run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
	const noConnection = `//p[contains(., "No connection")]`
	run(t, ctx, offline(true), browsing.WaitVisible(chromedp.Search(noConnection)),
		browsing.WaitVisible(chromedp.Search(`//td[.="1 Harbour Street"]`)))
	rides(t, s, 2)
	s.Drain(t)
	run(t, ctx, offline(false), browsing.WaitVisible(chromedp.Search(`//td[.="2 Harbour Street"]`)),
		browsing.WaitNotPresent(chromedp.Search(noConnection)))
	_, err := person.Store{DB: s.DB}.Revoke(t.Context(), s.Tenant("metro"), s.By(), olga.ID, "VIEW_CUSTOMERS")
	testkit.Must(t, err)
	run(t, ctx, open("customers", `//p[contains(., "VIEW_CUSTOMERS")]`)...)
	run(t, ctx, open("trips", `//td[.="2 Harbour Street"]`)...)
}

// TestConsoleLooks: every view of the console fits its screen and is accessible, light
// and dark, on a phone and on a desktop.
func TestConsoleLooks(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	trip, rita := rides(t, s, 12)[0], s.Rider(t, "metro", "rita")
	olga := s.Operator(t, "metro", "olga")
	s.Post(t, s.Token(t, olga, "tenant.settings:write"), "/api/v1/zones", `{"name":"Downtown","area":{"type":"Polygon",`+
		`"coordinates":[[[-74.016,40.709],[-73.992,40.707],[-73.984,40.722],[-73.998,40.733],[-74.016,40.727],`+
		`[-74.016,40.709]]]}}`).Must(t, 201)
	for i := range 8 {
		driver := s.Token(t, s.Driver(t, "metro", fmt.Sprint("dan", i)), "driver.status:write")
		s.Patch(t, driver, "/api/v1/me/status", `{"status":"ONLINE"}`).Must(t, 200)
		s.Do(t, apptest.Request{Method: "PUT", Path: "/api/v1/me/location", Token: driver, Body: fmt.Sprintf(
			`{"lat":%.4f,"lng":%.4f,"recordedAt":%q}`, 40.710+float64(i*5%8)/360, -74.013+float64(i*3%8)/320,
			timestamp.Format(s.Clock.Now()))}).Must(t, 200)
	}
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"))
	signInToConsole(t, ctx, s, olga)
	for _, scheme := range []string{"light", "dark"} {
		for device, width := range map[string]int64{"desktop": 1280, "phone": 390, "narrow": 320, "wide": 2560} {
			run(t, ctx, size(width, 900, scheme))
			for _, view := range [][2]string{{"map", `//canvas`}, {"trips", `//td[.="1 Harbour Street"]`},
				{"trips/" + trip, `//h2[.="What happened"]`}, {"drivers", `//h1[.="Drivers"]`},
				{"customers", `//h1[.="Customers"]`}, {"customers/" + rita.ID, `//h2[.="Wallet"]`}, {"reports", `//h2[.="Trips by status"]`}} {
				name := strings.ReplaceAll(view[0], "trips/"+trip, "trip")
				run(t, ctx, open(view[0], view[1])...)
				if over := get[float64](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s, %s %s: %v px wider than the screen", name, scheme, device, over)
				}
				if device == "narrow" || device == "wide" {
					continue
				}
				for _, fault := range axe(t, ctx) {
					t.Errorf("%s, %s %s: %s", name, scheme, device, fault)
				}
				savePicture(t, ctx, "console-"+strings.ReplaceAll(name, "/", "-")+"-"+scheme+"-"+device)
				if *screenshots && (name == "map" || name == "trips" || name == "trip" || name == "reports") {
					picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
					testkit.Must(t, err)
					testkit.Must(t, os.WriteFile("../../../docs/screenshots/console-"+name+"-"+scheme+"-"+device+".png",
						picture, 0o600))
				}
			}
		}
	}
	noFaults(t, ctx)
}

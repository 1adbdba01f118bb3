package docspage

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
)

// widths are those of a phone and of a desktop.
var widths = map[string]int64{"phone": 390, "desktop": 1280}

// fits reports what is wider than the screen or not accessible.
func fits(t *testing.T, ctx context.Context, what string) {
	t.Helper()
	if over := get[float64](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("%s: %v px wider than the screen", what, over)
	}
	for _, fault := range axe(t, ctx) {
		t.Errorf("%s: %s", what, fault)
	}
}

// conditions are the parameters of Network.emulateNetworkConditionsByRule in the protocols of Chromium up to 147, which
// has offline at the top, and of later ones, which have it in each rule. Neither minds the member of the other.
type conditions struct {
	network.EmulateNetworkConditionsByRuleParams
	Offline bool `json:"offline"`
}

// offline cuts the network of the page, or connects it again.
func offline(is bool) step {
	return command(cdp.Command[conditions, network.EmulateNetworkConditionsByRuleResult]{
		Method: network.CommandEmulateNetworkConditionsByRule}, conditions{Offline: is,
		EmulateNetworkConditionsByRuleParams: network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}}})
}

// comeOnline makes the driver go online at a place, measured so long ago.
func comeOnline(t *testing.T, s *apptest.Service, driver apptest.Actor, lat float64, ago time.Duration) {
	t.Helper()
	token := s.Token(t, driver, "driver.status:write")
	s.Patch(t, token, "/api/v1/me/status", `{"status":"ONLINE"}`).Must(t, 200)
	s.Do(t, apptest.Request{Method: "PUT", Path: "/api/v1/me/location", Token: token, Body: fmt.Sprintf(
		`{"lat":%.4f,"lng":-74.0,"recordedAt":%q}`, lat, timestamp.Format(s.Clock.Now().Add(-ago)))}).Must(t, 200)
}

// dots counts the drivers that are drawn full and hollow in the last frame, and shifts the page's clock.
const dots = `(() => {
	window.full = window.hollow = 0
	const real = Date
	window.shift = 0
	window.Date = class extends real {
		constructor(...given) { given.length ? super(...given) : super(real.now() + shift) }
		static now() { return real.now() + shift }
	}
	const proto = CanvasRenderingContext2D.prototype, arc = proto.arc, fill = proto.fill, clear = proto.fillRect
	let round = false
	proto.fillRect = function (...given) {
		if (given[0] === 0 && given[1] === 0) full = hollow = 0
		return clear.apply(this, given)
	}
	proto.arc = function (...given) { round = true; return arc.apply(this, given) }
	proto.fill = function (...given) {
		if (round) this.fillStyle === "#f2efe9" ? hollow++ : full++
		round = false
		return fill.apply(this, given)
	}
})()`

// TestConsoleAges: a driver whose position is ten minutes old is drawn as such and counted. A position also
// ages while nothing is received. A distant driver who is away does not make the map zoom out.
func TestConsoleAges(t *testing.T) {
	testkit.Long(t)
	for device, width := range widths {
		t.Run(device, func(t *testing.T) {
			s := apptest.New(t)
			comeOnline(t, s, s.Driver(t, "metro", "dan"), 40.71, 10*time.Minute)
			comeOnline(t, s, s.Driver(t, "metro", "eve"), 40.72, 0)
			ctx := browser(t)
			run(t, ctx, size(width, 844, "light"), inject(dots), command(network.Enable, network.EnableParams{}))
			signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
			silent := func(n int) step {
				return sees(fmt.Sprintf(`//span[contains(., "No position for 5 minutes")]/b[.="%d"]`, n))
			}
			drawn := func(full, hollow int) step {
				return browsing.WaitReady(chromedp.JSPath(fmt.Sprintf(`full === %d && hollow === %d ? document.body : null`, full, hollow)))
			}
			run(t, ctx, open("map", `//canvas`)...)
			// Before the drivers have come, there is nothing to show. dan is beyond the screen.
			run(t, ctx, silent(1), browsing.Click(button("Show everything")), drawn(1, 0))
			run(t, ctx, chromedp.Evaluate[chromedp.Void](`for (let i = 0; i < 9; i++) document.querySelector(".controls button:nth-child(2)").click()`),
				drawn(1, 1))
			fits(t, ctx, "the map")
			run(t, ctx, offline(true), chromedp.Evaluate[chromedp.Void](`shift = 360000`), silent(2), drawn(0, 2), offline(false))
			noFaults(t, ctx)
		})
	}
}

// filling puts a text into the field that has the label, as if a person had typed it.
func filling(label, text string) step {
	return browsing.WaitReady(chromedp.JSPath(fmt.Sprintf(`(field => {
		if (field) field.value = %q
		field?.dispatchEvent(new Event("input", {bubbles: true}))
		return field
	})([...document.querySelectorAll("dialog label")].find(label => label.firstChild.textContent === %q)
		?.querySelector("input"))`,
		text, label)))
}

// TestConsoleBooks: an operator books a ride with places set on the map, and one with typed places. However often the
// button is pressed, the ride is booked once.
func TestConsoleBooks(t *testing.T) {
	testkit.Long(t)
	for device, width := range widths {
		t.Run(device, func(t *testing.T) {
			s := apptest.New(t)
			s.Rider(t, "metro", "rita")
			comeOnline(t, s, s.Driver(t, "metro", "dan"), 40.71, 0)
			olga := s.Operator(t, "metro", "olga")
			ctx := browser(t)
			run(t, ctx, size(width, 844, "light"))
			signInToConsole(t, ctx, s, olga)
			run(t, ctx, open("trips", `//h1[.="Trips"]`)...)
			run(t, ctx, browsing.Click(button("Book a ride")), filling("Rider (e-mail, phone or name)", "rita"),
				browsing.Click(chromedp.Search(`//ul[@class="found"]//button[contains(., "Rita")]`)), filling("Origin", "1 Harbour Street"),
				browsing.WaitReady(chromedp.JSPath(`
					document.querySelector("dialog canvas")?.getContext("2d").getImageData(1, 1, 1, 1).data[3] ?
					document.body : null`)),
				browsing.Click(chromedp.CSS("dialog canvas")),
				browsing.WaitReady(chromedp.CSS(`dialog button[aria-pressed="true"]:nth-child(2)`)),
				browsing.SendKeys(chromedp.CSS("dialog canvas"), kb.ArrowRight), browsing.Click(chromedp.CSS("dialog canvas")),
				filling("Destination", "1 Station Square"))
			fits(t, ctx, "the booking")
			run(t, ctx, chromedp.Evaluate[chromedp.Void](`(() => {
				const yes = document.querySelector("dialog button.main"); yes.click(); yes.click() })()`),
				sees(`//h1[starts-with(., "Trip ")]`), sees(`//a[.="Rita Rider"]`))
			run(t, ctx, open("trips", `//h1[.="Trips"]`)...)
			run(t, ctx, browsing.Click(button("Book a ride")), filling("Rider (e-mail, phone or name)", "rita"),
				browsing.Click(chromedp.Search(`//ul[@class="found"]//button[contains(., "Rita")]`)),
				filling("Origin", "2 Harbour Street"), filling("Latitude of the origin", "40.7"),
				browsing.Click(button("Yes, do it")), // a field is missing: the browser says so, and nothing is sent
				filling("Longitude of the origin", "-74"), browsing.Click(button("Yes, do it")), sees(`//a[.="Rita Rider"]`))
			trips := apptest.JSON[struct {
				Items []struct{ OriginLat, OriginLng, DestLat, DestLng float64 }
			}](t, s.Get(t, s.Token(t, olga, "tenant.trips:read"), "/api/v1/trips").Must(t, 200)).Items
			if len(trips) != 2 {
				t.Fatalf("%d trips are booked", len(trips))
			}
			if byMap := trips[1]; byMap.OriginLat < 40.70 || byMap.OriginLat > 40.72 || byMap.DestLng <= byMap.OriginLng {
				t.Errorf("the places on the map are %v", byMap)
			}
			noFaults(t, ctx)
		})
	}
}

// TestConsoleLists: each list holds few rows and reads its next page as one scrolls. What leaves a list after
// its second page was read is not shown any more.
func TestConsoleLists(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	const all = 115
	trips := rides(t, s, all)
	for i := range all {
		s.Rider(t, "metro", fmt.Sprintf("r%03d", i))
		s.Driver(t, "metro", fmt.Sprintf("d%03d", i))
	}
	otto := s.Token(t, s.Operator(t, "metro", "otto"), "tenant.trips:write")
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	rows := func(n int) step {
		return browsing.WaitReady(chromedp.JSPath(fmt.Sprintf(`(list => { if (list) list.scrollTop = list.scrollHeight
			return document.querySelector("tr[aria-rowindex='%d']") })(document.querySelector(".list"))`, n+1)))
	}
	for device, width := range widths {
		run(t, ctx, size(width, 844, "light"))
		for view, n := range map[string]int{"trips": all, "drivers": all, "customers": all + 1} {
			run(t, ctx, open(view, `//h1[translate(., "TDC", "tdc")="`+view+`"]`)...)
			run(t, ctx, rows(n))
			if n := get[int](t, ctx, `document.querySelectorAll("tbody tr").length`); n > 60 {
				t.Errorf("%s, %s: the page has %d rows", view, device, n)
			}
			fits(t, ctx, view)
		}
	}
	run(t, ctx, open("trips", `//h1[.="Trips"]`)...)
	run(t, ctx, rows(all))
	s.Post(t, otto, "/api/v1/trips/"+trips[2]+"/cancel", `{"reason":"Nobody comes"}`).Must(t, 200)
	s.Drain(t) // the row is beyond the first page
	run(t, ctx, browsing.WaitVisible(chromedp.Search(`//tr[td="3 Harbour Street"]//*[.="Cancelled"]`)))
	run(t, ctx, typing("select", "PENDING"), rows(all-1))
	s.Post(t, otto, "/api/v1/trips/"+trips[4]+"/cancel", `{"reason":"Nobody comes"}`).Must(t, 200)
	s.Drain(t)
	run(t, ctx, browsing.WaitNotPresent(chromedp.CSS(fmt.Sprintf(`tr[aria-rowindex="%d"]`, all))), rows(all-2))
	s.Post(t, otto, "/api/v1/trips/"+trips[all-2]+"/cancel", `{"reason":"Nobody comes"}`).Must(t, 200)
	s.Drain(t)
	run(t, ctx, browsing.WaitNotPresent(chromedp.CSS(fmt.Sprintf(`tr[aria-rowindex="%d"]`, all-1))), rows(all-3))
	noFaults(t, ctx)
}

// TestConsoleLanguage: a browser on a system without a language has a tag that Intl refuses. The console writes
// numbers and charts all the same.
func TestConsoleLanguage(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"), command(page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `Object.defineProperty(Navigator.prototype, "language", {get: () => "en-US@posix", configurable: true})`}))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
	run(t, ctx, open("reports", `//h1[.="Reports"]`)...)
	run(t, ctx, browsing.WaitVisible(chromedp.CSS(".u-wrap")))
	noFaults(t, ctx)
}

// press goes on with the keyboard to the element with the text or name, and presses a key there.
func press(t *testing.T, ctx context.Context, name, key string) {
	t.Helper()
	var met []string
	for range 80 {
		run(t, ctx, chromedp.KeyEvent(kb.Tab))
		at := get[string](t, ctx, `(e => (e.ariaLabel ?? e.labels?.[0]?.firstChild.textContent ?? e.textContent).trim())(document.activeElement)`)
		if at == name {
			run(t, ctx, chromedp.KeyEvent(key))
			return
		}
		met = append(met, at)
	}
	t.Fatalf("the keyboard does not reach %q, but %q", name, met)
}

// inView waits until the keyboard goes on in the new view.
var inView = browsing.WaitReady(chromedp.CSS("#content:focus"))

// TestConsoleKeyboard: an operator does on each page with the keyboard alone what there is to do. After a question and
// in a new view the keyboard goes on where the eye is.
func TestConsoleKeyboard(t *testing.T) {
	testkit.Long(t)
	for device, width := range widths {
		t.Run(device, func(t *testing.T) {
			s := apptest.New(t)
			trip := rides(t, s, 1)[0]
			comeOnline(t, s, s.Driver(t, "metro", "dan"), 40.71, 0)
			olga := s.Operator(t, "metro", "olga")
			code := apptest.JSON[struct{ TripCode string }](t,
				s.Get(t, s.Token(t, olga, "tenant.trips:read"), "/api/v1/trips/"+trip).Must(t, 200)).TripCode
			ctx := browser(t)
			run(t, ctx, size(width, 844, "light"))
			signInToConsole(t, ctx, s, olga)
			run(t, ctx, sees(`//a[.="`+code+`"]`))
			const mapName = "Map of zones, drivers and open trips. The lists beside it have the same content."
			for _, key := range []string{"+", kb.ArrowLeft} {
				press(t, ctx, mapName, key)
				run(t, ctx, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
			}
			press(t, ctx, code, kb.Enter)
			run(t, ctx, sees(`//h2[.="What happened"]`), inView)
			press(t, ctx, "Cancel trip", kb.Enter)
			run(t, ctx, browsing.WaitVisible(chromedp.CSS("dialog")))
			press(t, ctx, "No, leave it", kb.Enter)
			run(t, ctx, browsing.WaitNotPresent(chromedp.CSS("dialog")), browsing.WaitReady(chromedp.CSS("button.danger:focus")),
				chromedp.KeyEvent(kb.Enter), browsing.WaitVisible(chromedp.CSS("dialog")))
			if in := get[bool](t, ctx, `document.activeElement.closest("dialog") !== null`); !in {
				t.Error("the keyboard is not in the question")
			}
			press(t, ctx, "Reason", "x")
			press(t, ctx, "Yes, do it", kb.Enter)
			run(t, ctx, sees(`//h1/span[.="Cancelled"]`))
			press(t, ctx, "Trips", kb.Enter)
			run(t, ctx, inView)
			press(t, ctx, "Book a ride", kb.Enter)
			run(t, ctx, browsing.WaitVisible(chromedp.CSS("dialog")), chromedp.KeyEvent(kb.Escape),
				browsing.WaitNotPresent(chromedp.CSS("dialog")), browsing.WaitReady(chromedp.CSS("button.main:focus")))
			for _, one := range [][2]string{{"Drivers", "Dan Driver"}, {"Customers", "Rita Rider"}} {
				press(t, ctx, one[0], kb.Enter)
				run(t, ctx, sees(`//h1[.="`+one[0]+`"]`), inView)
				press(t, ctx, "Search", one[1][:3])
				run(t, ctx, sees(`//a[.="`+one[1]+`"]`))
				press(t, ctx, one[1], kb.Enter)
				run(t, ctx, browsing.WaitVisible(button("Disable")), inView)
				press(t, ctx, "Disable", kb.Enter)
				run(t, ctx, browsing.WaitVisible(chromedp.CSS("dialog")))
				press(t, ctx, "Yes, do it", kb.Enter)
				run(t, ctx, sees(`//h1/span[.="Disabled"]`))
				fits(t, ctx, one[1])
			}
			reportsByKeyboard(t, ctx)
			noFaults(t, ctx)
		})
	}
}

func reportsByKeyboard(t *testing.T, ctx context.Context) {
	t.Helper()
	press(t, ctx, "Reports", kb.Enter)
	run(t, ctx, inView)
	press(t, ctx, "Today", kb.Enter)
	run(t, ctx, sees(`//h2[contains(., "by hour")]`), sees(`//th[.="Hour"]`))
	press(t, ctx, "Trips and revenue by hour of the chosen day", kb.ArrowDown)
	fits(t, ctx, "the hours")
	if title := get[string](t, ctx, `document.title`); !strings.HasPrefix(title, "Reports") {
		t.Errorf("the title is %q", title)
	}
}

// TestConsolePrint: a report and a trip print black on white, also in the dark, whole, and without the menu.
func TestConsolePrint(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	trip := rides(t, s, 1)[0]
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "dark"))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	media := func(kind string) step {
		return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	}
	for view, done := range map[string]string{"reports": `//h2[contains(., "by day")]/../..//th[.="Day"]`, "trips/" + trip: `//h2[.="What happened"]`} {
		run(t, ctx, open(view, done)...)
		run(t, ctx, media("print"), browsing.WaitReady(chromedp.JSPath(`[...document.querySelectorAll(".chart canvas")].every(canvas => {
			const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
			return data.some((_, i) => i % 4 === 3 && data[i] > 200 && data[i - 1] + data[i - 2] + data[i - 3] < 30)
		}) ? document.body : null`)))
		for _, shown := range get[[]string](t, ctx, `[...document.querySelectorAll("header, button, input, select")]
			.filter(e => e.checkVisibility()).map(e => e.outerHTML)`) {
			t.Errorf("%s: %s is printed", view, shown)
		}
		if back := get[string](t, ctx, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`); back !=
			"rgb(255, 255, 255)rgb(0, 0, 0)" {
			t.Errorf("%s is printed in %s", view, back)
		}
		for _, cut := range get[[]string](t, ctx, `[...document.querySelectorAll(".scroll, .list")]
			.filter(e => e.scrollHeight > e.clientHeight + 1).map(e => e.className)`) {
			t.Errorf("%s: %s is printed in part", view, cut)
		}
		run(t, ctx, command(page.PrintToPDF, page.PrintToPDFParams{}), media(""))
	}
	noFaults(t, ctx)
}

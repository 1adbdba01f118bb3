package docspage

import (
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// inject runs in every page before its own scripts.
func inject(source string) step {
	return command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
}

// typing puts a text into the field of a selector, as if a person had typed it.
func typing(selector, text string) step {
	return chromedp.Steps(browsing.WaitVisible(chromedp.CSS(selector)), chromedp.Evaluate[chromedp.Void](`(() => {
		const field = document.querySelector(`+"`"+selector+"`"+`)
		field.value = `+"`"+text+"`"+`
		field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", {bubbles: true}))
	})()`))
}

func sees(expression string) step { return browsing.WaitVisible(chromedp.Search(expression)) }

// TestConsoleOfTwoOperators: an operator decides about a trip that another has changed meanwhile. Nothing is lost,
// the console says so, and the decision can be made anew. A change that was refused can be corrected and sent again.
func TestConsoleOfTwoOperators(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	dan, eve := s.Driver(t, "metro", "dan"), s.Driver(t, "metro", "eve")
	for _, driver := range []apptest.Actor{dan, eve} {
		s.Patch(t, s.Token(t, driver, "driver.status:write"), "/api/v1/me/status", `{"status":"ONLINE"}`).Must(t, 200)
	}
	trip := rides(t, s, 1)[0]
	other := s.Token(t, s.Operator(t, "metro", "otto"), "tenant.trips:write", "tenant.trips:read", "tenant.wallets:write")
	driverOf := func() string {
		return apptest.JSON[struct{ DriverID string }](t, s.Get(t, other, "/api/v1/trips/"+trip).Must(t, 200)).DriverID
	}
	ctx := browser(t)
	run(t, ctx, size(390, 844, "light"))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, open("trips/"+trip, `//button[.="Assign"]`)...)
	run(t, ctx, browsing.Click(button("Assign")), browsing.WaitReady(chromedp.CSS("dialog select option:nth-child(3)")),
		typing("dialog select", dan.ID))
	s.Post(t, other, "/api/v1/trips/"+trip+"/assign", `{"driverId":"`+eve.ID+`"}`).Must(t, 200)
	run(t, ctx, browsing.Click(button("Yes, do it")), sees(`//dialog//p[contains(., "Somebody else was faster")]`))
	if got := driverOf(); got != eve.ID {
		t.Errorf("the trip of the other operator's driver %s went to %s", eve.ID, got)
	}
	for _, fault := range axe(t, ctx) {
		t.Errorf("the question: %s", fault)
	}
	run(t, ctx, sees(`//dialog//h2[.="Give this trip to another driver?"]`), browsing.Click(button("Yes, do it")),
		browsing.WaitNotPresent(chromedp.CSS("dialog")))
	if got := driverOf(); got != dan.ID {
		t.Errorf("after a second look the trip went to %s", got)
	}
	act := s.Token(t, dan, "driver.trips:accept", "driver.trips:complete")
	s.Post(t, act, "/api/v1/me/trips/"+trip+"/arrived", "").Must(t, 200)
	run(t, ctx, sees(`//h1/span[.="Driver arrived"]`), browsing.Click(button("Start ride")), sees(`//dialog//h2[.="Start the ride?"]`),
		browsing.Click(button("Yes, do it")), browsing.WaitVisible(button("Complete")), browsing.Click(button("Complete")),
		typing("dialog input[type=number]", "20"), browsing.Click(button("Yes, do it")),
		browsing.WaitVisible(button("Refund")))
	s.Drain(t)
	// Whoever answers before the receipt was read is not told that somebody else was faster.
	run(t, ctx, sees(`//caption[.="Receipt, version 1"]`), chromedp.Evaluate[chromedp.Void](`(() => {
			const real = window.fetch
			window.fetch = async (...given) => {
				if (window.late && /receipt/.test(given[0].url ?? given[0])) await new Promise(done => setTimeout(done, late))
				return real(...given)
			}
			window.late = 5000
		})()`), browsing.Click(button("Refund")),
		typing("dialog input:not([type=number])", "The car broke down"), typing("dialog input[type=number]", "21"),
		browsing.Click(button("Yes, do it")), sees(`//dialog//p[@class="problem"][not(contains(., "faster"))]`),
		chromedp.Evaluate[chromedp.Void](`void (window.late = 0)`), typing("dialog input[type=number]", "5"), browsing.Click(button("Yes, do it")),
		browsing.WaitNotPresent(chromedp.CSS("dialog")), sees(`//td[.="Refund"]`),
		browsing.Click(button("Refund")), sees(`//dialog//p[contains(., "Already refunded: $5.00")]`))
	noFaults(t, ctx)
}

// TestConsoleKeeps: what was typed survives a lost session and a new sign-in, in Spanish.
func TestConsoleKeeps(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	olga := s.Operator(t, "metro", "olga")
	ctx := browser(t)
	run(t, ctx, size(390, 844, "dark"), inject(`Object.defineProperty(navigator, "languages", {get: () => ["es-MX", "en"]});
		Object.defineProperty(navigator, "language", {get: () => "es-MX"})`))
	enter := func(first string) {
		run(t, ctx, browsing.Click(button(first)), browsing.WaitVisible(chromedp.CSS("#password")),
			browsing.SetValue(chromedp.CSS("#email"), olga.Email),
			browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+"\r"),
			browsing.WaitVisible(button("Cerrar sesión")))
	}
	run(t, ctx, watch(), chromedp.Navigate(s.URL+"/console/"))
	enter("Iniciar sesión")
	run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
	run(t, ctx, browsing.Click(button("Reservar un viaje")), typing(`dialog .pair + .field input`, "Hotel Central"))
	run(t, ctx, chromedp.Evaluate[chromedp.Void](`(() => {
		const kept = JSON.parse(sessionStorage.getItem("tokens"))
		sessionStorage.setItem("tokens", JSON.stringify({...kept, access: "x", refresh: "x"}))
	})()`), sees(`//p[contains(., "Su sesión ha terminado")]`))
	for _, fault := range axe(t, ctx) {
		t.Errorf("the expired session: %s", fault)
	}
	run(t, ctx, chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".problem button")].pop().click()`))
	// The session of the sign-in pages has not ended, so nobody types a password again.
	run(t, ctx, browsing.WaitVisible(button("Cerrar sesión")), sees(`//td[.="1 Harbour Street"]`),
		browsing.Click(button("Reservar un viaje")), browsing.WaitVisible(chromedp.CSS(`dialog .pair + .field input`)))
	if got := get[string](t, ctx, "document.querySelector(`dialog .pair + .field input`).value"); got != "Hotel Central" {
		t.Errorf("what was typed is %q", got)
	}
	if lang := get[string](t, ctx, "document.documentElement.lang"); lang != "es" {
		t.Errorf("the page's language is %s", lang)
	}
}

// TestConsoleClock: with a clock that is wrong by five minutes, also one that is set back while the console is open,
// the operator works on, and times are those of the company.
func TestConsoleClock(t *testing.T) {
	testkit.Long(t)
	for name, minutes := range map[string]string{"fast": "5", "slow": "-5"} {
		t.Run(name, func(t *testing.T) {
			s := apptest.New(t)
			trip := rides(t, s, 1)[0]
			at := s.Clock.Now()
			ctx := browser(t)
			run(t, ctx, size(1280, 900, "light"), inject(`(() => {
				const real = Date, shift = () => Number(sessionStorage.getItem("shift") ?? `+minutes+`) * 60000
				window.Date = class extends real {
					constructor(...given) { given.length ? super(...given) : super(real.now() + shift()) }
					static now() { return real.now() + shift() }
				}
			})()`))
			signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
			run(t, ctx, open("trips/"+trip, `//h2[.="What happened"]`)...)
			reads := s.Token(t, s.Operator(t, "metro", "otto"), "tenant.settings:read")
			told := apptest.JSON[struct{ Company struct{ Timezone string } }](t,
				s.Get(t, reads, "/api/v1/settings").Must(t, 200))
			zone, err := time.LoadLocation(told.Company.Timezone)
			testkit.Must(t, err)
			shown := get[string](t, ctx, `document.querySelector(".timeline time").textContent`)
			if want := at.In(zone).Format("3:04"); !strings.Contains(shown, want) {
				t.Errorf("%s is shown as %s, not at %s", at, shown, want)
			}
			run(t, ctx, chromedp.Evaluate[chromedp.Void](`sessionStorage.setItem("shift", -(`+minutes+`))`))
			s.Clock.Advance(time.Hour) // the token has ended, whatever the clock says
			run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
			if n := get[int](t, ctx, `document.querySelectorAll(".problem").length`); n > 0 {
				t.Errorf("%d problems are shown", n)
			}
		})
	}
}

// image is a map of 1 pixel.
const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// TestConsoleMap: a company with a map of its own sees it, and the browser asks its host and no other. Without one,
// nothing of the map is loaded.
func TestConsoleMap(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 3)
	var mu sync.Mutex
	asked := map[string]int{}
	tiles := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[strings.Split(r.URL.Path, "/")[1]+r.Header.Get("Referer")+r.Header.Get("Authorization")]++
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "image/png")
		picture, _ := base64.StdEncoding.DecodeString(image)
		_, _ = w.Write(picture)
	}))
	tiles.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	tiles.StartTLS()
	t.Cleanup(tiles.Close)
	olga := s.Operator(t, "metro", "olga")
	ctx := browserWith(t, chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("disable-gpu", false),
		chromedp.Flag("use-angle", "swiftshader"), chromedp.Flag("enable-unsafe-swiftshader", true))
	run(t, ctx, size(1280, 900, "light"), inject(`window.complaints = [];
		for (const kind of ["error", "warn"]) { const say = console[kind]
			console[kind] = (...all) => { complaints.push(kind + ": " + all.join(" ")); say(...all) } }`))
	signInToConsole(t, ctx, s, olga)
	run(t, ctx, open("map", `//canvas`)...)
	const loaded = `performance.getEntriesByType("resource").map(e => e.name).filter(name => /tiles-|maplibre|127.0.0.1:.*png/.test(name))`
	if files := get[[]string](t, ctx, loaded); len(files) > 0 {
		t.Errorf("without a map %q are loaded", files)
	}
	s.Patch(t, s.Token(t, olga, "tenant.settings:write"), "/api/v1/settings",
		`{"map":{"tiles":"`+tiles.URL+`/map/{z}/{x}/{y}.png","credit":"© Example"}}`).Must(t, 200)
	run(t, ctx, chromedp.Reload(), sees(`//small[.="© Example"]`),
		browsing.WaitReady(chromedp.JSPath(`(document.querySelector(".base canvas") && performance.getEntriesByType("resource")
			.some(e => e.name.startsWith("`+tiles.URL+`"))) ? document.body : null`)))
	for _, fault := range get[[]string](t, ctx, `faults.concat(complaints)`) {
		t.Error(fault)
	}
	for _, fault := range axe(t, ctx) {
		t.Error(fault)
	}
	for _, from := range get[[]string](t, ctx, `[...new Set(performance.getEntriesByType("resource").map(e => new URL(e.name).origin))]`) {
		if from != s.URL && from != tiles.URL {
			t.Errorf("%s is asked", from)
		}
	}
	mu.Lock()
	if len(asked) != 1 || asked["map"] == 0 {
		t.Errorf("asked for %v", asked)
	}
	mu.Unlock()
	run(t, ctx, chromedp.Evaluate[chromedp.Void](`void fetch("https://127.0.0.1:1/").catch(() => 0)`), browsing.WaitReady(chromedp.JSPath(`faults.some(f => f.startsWith("connect-src")) ? document.body : null`)))
}

// many makes the list of drivers a thousand, all of which move at each reading.
const many = `(() => {
	const real = window.fetch
	window.fetch = async (...given) => {
		const answer = await real(...given)
		if (!/api.v1.drivers\?/.test(given[0].url ?? given[0])) return answer
		const first = (await answer.json()).items[0], t = performance.now() / 9e4
		const items = Array.from({length: 1000}, (_, i) => ({...first, id: "d" + i, status: i % 3 ? "ONLINE" : "BUSY",
			currentLat: 40.7 + Math.sin(i + t) / 20, currentLng: -74 + Math.cos(i * 7 + t) / 20}))
		return new Response(JSON.stringify({items, next_cursor: null}), {headers: {"Content-Type": "application/json"}})
	}
	window.work = []
	let dots = 0
	const arc = CanvasRenderingContext2D.prototype.arc
	CanvasRenderingContext2D.prototype.arc = function (...given) { dots++; return arc.apply(this, given) }
	const frame = window.requestAnimationFrame
	window.requestAnimationFrame = act => frame(now => {
		const begin = performance.now(), before = dots
		act(now)
		if (dots > before) work.push([performance.now() - begin, dots - before])
	})
})()`

// TestConsoleManyDrivers: a frame with a thousand drivers that move takes the main thread less than a thirtieth of a
// second. It is the median, so that a busy machine does not count.
func TestConsoleManyDrivers(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	s.Driver(t, "metro", "dan")
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"), inject(many))
	signInToConsole(t, ctx, s, s.Operator(t, "metro", "olga"))
	run(t, ctx, open("map", `//span[contains(., "1,000")]`)...)
	run(t, ctx, browsing.WaitReady(chromedp.JSPath(`work.filter(([, n]) => n >= 900).length >= 60 ? document.body : null`)))
	median := get[float64](t, ctx, `work.filter(([, n]) => n >= 900).map(([ms]) => ms).sort((a, b) => a - b)[30]`)
	if median > 33 {
		t.Errorf("a frame takes %.1f ms", median)
	}
	t.Logf("a frame with 1,000 drivers takes %.1f ms of the main thread", median)
	if n := get[int](t, ctx, `document.querySelectorAll("*").length`); n > 600 {
		t.Errorf("the page has %d elements", n)
	}
}

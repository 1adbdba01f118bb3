package docspage

import (
	"context"
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/domain/settings"
)

var (
	screenshots = flag.Bool("screenshots", false, "write docs/screenshots/docs-*.png anew")
	looks       = flag.String("looks", "", "write pictures of the reference, the guides and the console into this folder")
)

// TestRideFromDocs uses /docs as a rider. It authorizes the page in the window
// that the page opens (authorization code with PKCE), and requests a ride with
// *Test Request*. The page loads nothing from another origin, and its policy
// blocks no style sheet.
func TestRideFromDocs(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	_, err := settings.AddService(t.Context(), s.Tenant("metro"), s.By(), settings.Service{CommissionRate: "0.2",
		ServiceType: settings.ServiceType{ID: "svt_01JMETR0000000000000000001", // the example's
			Name: "Standard", BaseFare: "3", PerKm: "1.2", PerMinute: "0.3", MinimumFare: "5", Capacity: 4, Active: true}})
	testkit.Must(t, err)
	ctx := browser(t)
	run(t, ctx, size(1280, 1000, "light"), watch(), chromedp.Navigate(s.URL+"/docs?tenant=metro"),
		browsing.WaitVisible(button("Authorize")))
	popup := chromedp.WaitNewTarget(ctx, func(i *target.Info) bool { return i.Type == "page" })
	run(t, ctx, browsing.Click(button("Authorize")))
	authorize(t, ctx, <-popup, rita)
	run(t, ctx, browsing.WaitNotPresent(button("Authorize"))) // the page has its token
	run(t, ctx, browsing.Click(chromedp.CSS(`a[href$="#tag/trips"]`)),
		browsing.Click(chromedp.CSS(`a[href$="#tag/trips/POST/api/v1/me/trips"]`)),
		browsing.Click(chromedp.Search(`//button[contains(., "(post /api/v1/me/trips)")]`)),
		browsing.Click(chromedp.JSPath(`[...document.querySelectorAll("button")]
			.find(b => b.textContent.includes("Send post request") && b.checkVisibility())`)),
		browsing.WaitVisible(chromedp.Search(`//*[normalize-space()="201 Created"]`)))
	trips := s.Get(t, s.Token(t, rita, "rider.trips:read"), "/api/v1/me/trips").Must(t, 200)
	if n := strings.Count(string(trips.Body), `"status":"PENDING"`); n != 1 {
		t.Errorf("%d trips were requested: %s", n, trips.Body)
	}
	for _, fault := range get[[]string](t, ctx, `faults.concat(performance.getEntriesByType("resource")
		.map(e => e.name).filter(name => !name.startsWith(location.origin + "/")))`) {
		t.Error(fault)
	}
}

// TestLooks: the page fits a desktop and a phone and follows the system's
// colour scheme. The part of the page outside of the component is accessible.
func TestLooks(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	for _, scheme := range []string{"light", "dark"} {
		for device, width := range map[string]int64{"desktop": 1280, "phone": 390} {
			t.Run(scheme+" "+device, func(t *testing.T) {
				ctx := browser(t)
				run(t, ctx, size(width, 844, scheme), chromedp.Navigate(s.URL+"/docs#tag/trips/POST/api/v1/me/trips"),
					browsing.WaitVisible(chromedp.Search(`//h3[contains(., "Request a ride")]`)))
				if over := get[float64](t, ctx, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%v px wider than the screen", over)
				}
				if dark := get[bool](t, ctx, `document.body.classList.contains("dark-mode")`); dark != (scheme == "dark") {
					t.Errorf("dark: %v", dark)
				}
				for _, fault := range accessible(t, ctx) {
					t.Error(fault)
				}
				savePicture(t, ctx, "reference-"+scheme+"-"+device)
				if *screenshots {
					picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
					testkit.Must(t, err)
					file := "../../../docs/screenshots/docs-" + scheme + "-" + device + ".png"
					testkit.Must(t, os.WriteFile(filepath.Clean(file), picture, 0o600))
				}
			})
		}
	}
}

// TestGuidesLook: every guide fits a phone and a desktop, follows the system's colour
// scheme, and is accessible. Its policy blocks nothing.
func TestGuidesLook(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	for _, scheme := range []string{"light", "dark"} {
		ctx := browser(t)
		run(t, ctx, size(390, 844, scheme), watch(), chromedp.Navigate(s.URL+"/docs/guides/tutorial"))
		guides := get[[]string](t, ctx, `[...document.querySelectorAll("nav a[href*=guides]")].map(a => a.href)`)
		if len(guides) < 7 {
			t.Errorf("the menu has %d guides", len(guides))
		}
		for _, guide := range guides {
			run(t, ctx, chromedp.Navigate(guide))
			for device, width := range widths {
				run(t, ctx, size(width, 844, scheme))
				fits(t, ctx, guide+", "+scheme+" "+device)
				savePicture(t, ctx, "guide-"+path.Base(guide)+"-"+scheme+"-"+device)
			}
			noFaults(t, ctx)
		}
	}
}

// TestSamples: curl, JavaScript, Python and Go are tabs, one click away, and
// each shows the samples of all operations.
func TestSamples(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	ctx := browser(t)
	run(t, ctx, size(1280, 1600, "light"), watch(), chromedp.Navigate(s.URL+"/docs"),
		browsing.WaitVisible(chromedp.CSS(".client-libraries-tabs")))
	tabs := get[[]string](t, ctx, `[...document.querySelectorAll(".client-libraries-list button")]
		.filter(b => b.checkVisibility()).map(b => b.textContent.trim())`)
	if diff := cmp.Diff([]string{"Shell", "JavaScript", "Python", "Go"}, tabs); diff != "" {
		t.Fatal(diff)
	}
	for tab, sample := range map[string]string{"Shell": "curl ", "JavaScript": "fetch('", "Python": "requests.get(",
		"Go": "http.NewRequest("} {
		run(t, ctx, browsing.Click(chromedp.Search(`//button[@role="tab"][normalize-space()="`+tab+`"]`)),
			browsing.WaitVisible(chromedp.Search(`//code[contains(., "`+sample+`")]`)))
	}
	noFaults(t, ctx)
}

// savePicture writes a picture of the tab into the folder that -looks names.
func savePicture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if *looks == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(filepath.Join(*looks, name+".png"), picture, 0o600))
}

// authorize signs the actor in and consents, in the window that the page opened.
func authorize(t *testing.T, in context.Context, window target.ID, a apptest.Actor) {
	t.Helper()
	ctx, end := chromedp.NewContext(in, chromedp.WithTargetID(window))
	t.Cleanup(end) // it closes the window, which the page still reads
	run(t, ctx, browsing.WaitVisible(chromedp.CSS("#password")), browsing.SetValue(chromedp.CSS("#email"), a.Email),
		browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+kb.Enter),
		browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)), browsing.Click(chromedp.CSS(`[value="allow"]`)))
}

// button finds a button by its text.
func button(text string) chromedp.Search {
	return chromedp.Search(`//button[normalize-space()="` + text + `"]`)
}

// step is an action without a result.
type step = chromedp.Action[chromedp.Void]

// run does the steps, within five minutes. If it fails, it says what the page shows and where the keyboard is.
func run(t *testing.T, ctx context.Context, steps ...step) {
	t.Helper()
	// The limit is that of the steps: the first steps in a tab open it, and it must live on.
	limited := func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
		defer stop()
		return chromedp.Steps(steps...)(ctx, tab)
	}
	if err := chromedp.Do(ctx, limited); err != nil {
		ctx, stop := context.WithTimeout(ctx, 10*time.Second)
		defer stop()
		shown, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.outerHTML.slice(0, 200) + "\n" + document.body.innerText`))
		t.Fatalf("%v\n%s", err, shown)
	}
}

func get[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	testkit.Must(t, err)
	return value
}

// noFaults reports the page's errors, and what its policy has blocked (see watch).
func noFaults(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, fault := range get[[]string](t, ctx, "faults") {
		t.Error(fault)
	}
}

// axe returns axe-core's findings on the page outside of the component.
func axe(t *testing.T, ctx context.Context) []string {
	t.Helper()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](testkit.Axe(t, "../../oauth/browser/node_modules",
		"#reference"), chromedp.EvalAwaitPromise))
	testkit.Must(t, err)
	return found
}

// accessible returns axe-core's findings on the page outside of the component,
// and the component's text colours with too little contrast.
func accessible(t *testing.T, ctx context.Context) []string {
	t.Helper()
	return append(axe(t, ctx), get[[]string](t, ctx, `(() => {
		const pixel = new OffscreenCanvas(1, 1).getContext("2d"), style = getComputedStyle(document.body);
		const luminance = name => {
			pixel.fillStyle = style.getPropertyValue("--scalar-" + name);
			pixel.fillRect(0, 0, 1, 1);
			const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map(v => v / 255)
				.map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
			return .2126 * r + .7152 * g + .0722 * b;
		};
		const texts = ["1", "2", "3", "blue", "green", "orange", "red", "yellow", "purple"].map(name => "color-" + name);
		return ["background-1", "background-2"].flatMap(back => texts.filter(text => {
			const [low, high] = [luminance(back), luminance(text)].sort((a, b) => a - b);
			return (high + .05) / (low + .05) < 4.5;
		}).map(text => text + " on " + back + ": " + style.getPropertyValue("--scalar-" + text)));
	})()`)...)
}

// command is a command of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, c, params)
		return err
	})
}

func size(width, height int64, scheme string) step {
	return chromedp.Steps(
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
			DeviceScaleFactor: 1, Mobile: width < 600}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}}}))
}

// watch collects errors and blocked resources in the page's variable faults. It
// ignores two blocked things that the page does not need: eval, which the page
// only tries, and style attributes.
func watch() step {
	return command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.faults = [];
		addEventListener("error", e => faults.push("error: " + e.message));
		addEventListener("securitypolicyviolation", e => {
			if (e.blockedURI !== "eval") {
				faults.push(e.effectiveDirective + " blocked " + e.blockedURI + ", line " + e.lineNumber + " " + e.columnNumber);
			}
		});`})
}

var launched struct {
	sync.Once
	ctx context.Context
	end func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if launched.ctx != nil {
		launched.end()
	}
	os.Exit(code)
}

// browser opens a tab of the browser that the tests share, without cookies and without what another test has loaded.
func browser(t *testing.T) context.Context {
	t.Helper()
	launched.Do(func() { launched.ctx, launched.end = start(t) })
	if launched.ctx == nil {
		t.Fatal("the browser did not start in an earlier test")
	}
	return openTab(t, launched.ctx, chromedp.WithNewBrowserContext())
}

// browserWith starts a browser with more options and opens a tab.
func browserWith(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	ctx, end := start(t, more...)
	t.Cleanup(end)
	return openTab(t, ctx)
}

// start starts a browser.
func start(t *testing.T, more ...chromedp.ExecAllocatorOption) (ctx context.Context, end func()) {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(), browsing.Options(t, more...)...)
	ctx, endBrowser := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil { // opens a tab, whose life is that of the browser
		stop()
		t.Fatalf("starting the browser: %v", err)
	}
	return ctx, func() {
		endBrowser()
		stop()
	}
}

// openTab opens a tab.
func openTab(t *testing.T, browser context.Context, options ...chromedp.ContextOption) context.Context {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, options...)
	t.Cleanup(end)
	run(t, ctx) // opens the tab, whose life must not be that of one action
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	return ctx
}

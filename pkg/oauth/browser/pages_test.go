package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/flow"
	"svc/pkg/oauth/link"
)

var screenshots = flag.Bool("screenshots", false, "write docs/screenshots anew")

const scopes = "openid profile email tenant.trips:read tenant.drivers:read tenant.reports:read"

// authorize returns the address of an authorization request.
func (s *stand) authorize(client string, changes ...string) string {
	q := url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {s.client.URL + "/cb"},
		"scope": {scopes},
		"state": {"s"}, "code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"},
		"tenant_hint": {"metro"}}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return s.server.URL + "/oauth/authorize?" + q.Encode()
}

func signIn(email, secret string) step {
	return chromedp.Steps(browsing.WaitVisible(chromedp.CSS("#password")),
		browsing.SetValue(chromedp.CSS("#email"), email), browsing.SendKeys(chromedp.CSS("#password"), secret+kb.Enter))
}

// Every page, in both colour schemes, on a phone, on a desktop and on the
// narrowest screen: axe-core finds no faults, and nothing is wider than the
// screen. With -screenshots the test takes a picture of each.
func TestPages(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client, riders := s.register(t, "dashboard"), s.register(t, "rider")
	link := func() string {
		address, err := link.New(t.Context(), s.db, s.server.URL, authz.Rider, s.metro.ID, "rita@home.example",
			time.Now())
		testkit.Must(t, err)
		return address
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, l := range []look{phone, desktop, narrow} {
			t.Run(scheme+" "+l.device, func(t *testing.T) {
				ctx := tab(t, l.in(scheme))
				at := func(name string, steps ...step) {
					t.Helper()
					run(t, ctx, steps...)
					s.check(t, ctx, l.in(scheme), name)
				}
				at("signin", chromedp.Navigate(s.authorize(client, "prompt", "consent")),
					browsing.WaitVisible(chromedp.CSS("#password")))
				at("signin-wrong", signIn("ana@metro.example", "not the one"), browsing.WaitVisible(chromedp.CSS("#problem")))
				at("consent", signIn("ana@metro.example", words), browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)))
				at("consent-later", chromedp.Navigate(s.authorize(client, "scope", scopes+" tenant.builds:read",
					"prompt", "consent")),
					browsing.WaitVisible(chromedp.CSS("h2 ~ h2")))
				run(t, ctx, browsing.Click(chromedp.CSS(`[value="allow"]`)), browsing.WaitReady(chromedp.CSS("#told")))
				at("picker", chromedp.Navigate(s.authorize(client, "tenant_hint", "")),
					browsing.WaitVisible(chromedp.CSS(`[value="harbor"]`)))
				at("apps", chromedp.Navigate(s.server.URL+"/oauth/apps"), browsing.WaitVisible(chromedp.CSS("section.app")))
				at("logout", chromedp.Navigate(s.server.URL+"/oauth/logout"), browsing.WaitVisible(chromedp.CSS("button")))
				at("error", chromedp.Navigate(s.authorize(client, "redirect_uri", "https://elsewhere.example/cb")),
					browsing.WaitVisible(chromedp.CSS("h1")))
				at("forgot", chromedp.Navigate(s.server.URL+"/oauth/forgot?audience=rider&tenant_hint=metro"),
					browsing.WaitVisible(chromedp.CSS("#email")))
				at("mailed", browsing.SendKeys(chromedp.CSS("#email"), "rita@home.example"+kb.Enter),
					browsing.WaitReady(chromedp.CSS(`[name="email"][type="hidden"]`)))
				at("password", chromedp.Navigate(link()), browsing.WaitVisible(chromedp.CSS("#new")))
				at("company", chromedp.Navigate(s.authorize(riders, "tenant_hint", "", "scope", "rider.trips:read")),
					browsing.WaitVisible(chromedp.CSS("#company")))
				at("company-unknown", browsing.SendKeys(chromedp.CSS("#company"), "nobody"+kb.Enter),
					browsing.WaitVisible(chromedp.CSS("#problem")))
			})
		}
	}
}

// The adjusted colours of a tenant have enough contrast in the browser too, and
// the tenant's theme overrides the browser's.
func TestBranding(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "dashboard")
	for _, color := range []string{"#ffffff", "#000000", "#ffff00", "#808080", "#ff0000"} {
		for _, theme := range []string{"light", "dark"} {
			t.Run(theme+" "+color, func(t *testing.T) {
				s.paint(t, s.db.Tenant(s.metro.ID), map[string]string{"primaryColor": color, "secondaryColor": color,
					"iconBackgroundColor": color, "themeMode": theme})
				ctx := tab(t, desktop.in("light"))
				run(t, ctx, chromedp.Navigate(s.authorize(client, "prompt", "consent")), signIn("ana@metro.example", words),
					browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)))
				s.check(t, ctx, look{}, "consent")
				scheme := get(t, ctx, chromedp.Evaluate[string](`getComputedStyle(document.documentElement).colorScheme`))
				if scheme != theme {
					t.Errorf("shown in %q", scheme)
				}
			})
		}
	}
}

// The keyboard is enough to get from sign-in to the client, with scripts
// disabled.
func TestKeyboardWithoutScript(t *testing.T) {
	s := newStand(t)
	client := s.register(t, "dashboard")
	ctx := tab(t, desktop.in("light"))
	run(t, ctx, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}),
		chromedp.Navigate(s.authorize(client, "tenant_hint", "")), browsing.WaitVisible(chromedp.CSS("#password")))
	focused(t, ctx, "#email")
	keys(t, ctx, "ana@metro.example", kb.Tab, words, kb.Enter)
	run(t, ctx, browsing.WaitVisible(chromedp.CSS(`[value="harbor"]`)))
	tabTo(t, ctx, `[value="metro"]`)
	keys(t, ctx, kb.Enter)
	run(t, ctx, browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)))
	tabTo(t, ctx, `[value="allow"]`)
	keys(t, ctx, kb.Enter)
	run(t, ctx, browsing.WaitReady(chromedp.CSS("#told")))
	where := get(t, ctx, chromedp.Location())
	if !strings.HasPrefix(where, s.client.URL+"/cb?") || !strings.Contains(where, "code=") {
		t.Errorf("ended at %s", where)
	}
}

// A rider types the company's name, signs in and returns to the client, with
// scripts disabled. No page's policy blocks a redirect.
func TestWhichCompany(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "rider")
	ctx := tab(t, phone.in("light"))
	run(t, ctx, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	for _, first := range []bool{true, false} { // signed in and consented, the form leads to the client at once
		run(t, ctx, chromedp.Navigate(s.authorize(client, "tenant_hint", "", "scope", "rider.trips:read")),
			browsing.WaitVisible(chromedp.CSS("#company")))
		focused(t, ctx, "#company")
		if first {
			keys(t, ctx, "metro", kb.Enter)
			run(t, ctx, signIn("rita@home.example", words), browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)),
				browsing.Click(chromedp.CSS(`[value="allow"]`)))
		} else {
			keys(t, ctx, kb.Enter) // the browser remembers the name
		}
		run(t, ctx, browsing.WaitReady(chromedp.CSS("#told")))
		if where := get(t, ctx, chromedp.Location()); !strings.Contains(where, "code=") {
			t.Errorf("ended at %s", where)
		}
	}
}

// focused waits until the element with autofocus has the focus. The browser
// sets it shortly after showing the page.
func focused(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	for !get(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector))) {
		time.Sleep(10 * time.Millisecond) // ends with the tab's time
	}
}

func keys(t *testing.T, ctx context.Context, texts ...string) {
	t.Helper()
	for _, text := range texts {
		run(t, ctx, chromedp.KeyEvent(text))
	}
}

// tabTo presses Tab until the element has the focus, and checks that an outline
// shows it.
func tabTo(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	for range 20 {
		keys(t, ctx, kb.Tab)
		if get(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector))) {
			outline := get(t, ctx, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`))
			if outline != "solid" {
				t.Errorf("the focus on %s is not seen: outline %q", selector, outline)
			}
			return
		}
	}
	t.Fatalf("Tab does not reach %s", selector)
}

// A person denies consent and signs out by mouse. The client receives the
// result.
func TestDeny(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "rider")
	ctx := tab(t, phone.in("dark"))
	run(t, ctx, chromedp.Navigate(s.authorize(client, "scope", "openid rider.trips:read")),
		signIn("rita@home.example", words), browsing.WaitVisible(chromedp.CSS(`[value="deny"]`)),
		browsing.Click(chromedp.CSS(`[value="deny"]`)), browsing.WaitReady(chromedp.CSS("#told")))
	if got := get(t, ctx, chromedp.Text(chromedp.CSS("#told"))); got != "access_denied" {
		t.Errorf("the client received %q", got)
	}
	run(t, ctx, chromedp.Navigate(s.server.URL+"/oauth/logout"), browsing.WaitVisible(chromedp.CSS("button")),
		browsing.Click(chromedp.CSS("button")), browsing.WaitNotPresent(chromedp.CSS("form")),
		chromedp.Navigate(s.authorize(client, "scope", "openid rider.trips:read")),
		browsing.WaitVisible(chromedp.CSS("#password")))
}

// A client whose address redirects to a different origin still receives every
// response: after consent, after refusal, and after a sign-in that needs no
// consent. The pages' policy names no other origin, and no script is needed.
func TestClientRedirectsOn(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	on := s.client.URL + "/on"
	c, err := flow.Register(t.Context(), flow.Options{BaseURL: s.server.URL, Audience: "rider", RedirectURI: on,
		ClientName: "Fleet Planner"})
	testkit.Must(t, err)
	ctx := tab(t, desktop.in("light"))
	run(t, ctx, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	ask := func(changes ...string) step {
		return chromedp.Navigate(s.authorize(c.ID, append([]string{"redirect_uri", on, "scope", "openid rider.trips:read"},
			changes...)...))
	}
	enter := signIn("rita@home.example", words)
	_, err = tenant.Store{DB: s.db}.Change(t.Context(), s.metro.ID, audit.By{Who: "test", At: time.Now()},
		func(n *tenant.Tenant) error {
			n.DeliveryEnabled = false
			return nil
		})
	testkit.Must(t, err)
	for _, test := range []struct {
		name, want string
		steps      []step
	}{
		{"denied", "error=access_denied", []step{ask(), enter, browsing.WaitVisible(chromedp.CSS(`[value="deny"]`)),
			browsing.Click(chromedp.CSS(`[value="deny"]`))}},
		{"allowed", "code=", []step{ask(), browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)),
			browsing.Click(chromedp.CSS(`[value="allow"]`))}},
		{"remembered", "code=", []step{ask()}},
		{"signed in again", "code=", []step{ask("prompt", "login"), enter}},
		{"an error after the sign-in", "error=invalid_scope", []step{ask("prompt", "login", "scope", "rider.orders:read"),
			enter}},
	} {
		run(t, ctx, append(test.steps, browsing.WaitReady(chromedp.CSS("#told")))...)
		if where := get(t, ctx, chromedp.Location()); !strings.HasPrefix(where, "http://localhost:") ||
			!strings.Contains(where, test.want) {
			t.Errorf("%s: ended at %s", test.name, where)
		}
	}
}

// No page may be framed.
func TestFrames(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "dashboard")
	ctx := tab(t, desktop.in("light"))
	run(t, ctx, chromedp.Navigate(s.client.URL+"/"), browsing.WaitReady(chromedp.CSS("#told")))
	get(t, ctx, chromedp.Evaluate[string](`new Promise(done => {
			const frame = document.createElement("iframe");
			frame.onload = () => done("loaded");
			frame.src = `+fmt.Sprintf("%q", s.authorize(client))+`;
			document.body.append(frame);
		})`, chromedp.EvalAwaitPromise))
	tree := get(t, ctx, func(ctx context.Context, to *chromedp.Target) (page.GetFrameTreeResult, error) {
		return cdp.Call(ctx, to, page.GetFrameTree, cdp.Empty{})
	}).FrameTree
	if len(tree.ChildFrames) != 1 || tree.ChildFrames[0].Frame.UnreachableURL == "" {
		t.Errorf("the frame shows %+v", tree.ChildFrames)
	}
}

// check runs axe-core on the page, checks that it fits the screen and loads
// nothing from another host, and takes its picture.
func (s *stand) check(t *testing.T, ctx context.Context, l look, name string) {
	t.Helper()
	overflow := get(t, ctx,
		chromedp.Evaluate[float64](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	for _, fault := range axe(t, ctx) {
		t.Errorf("%s: %s", name, fault)
	}
	shown := get(t, ctx, chromedp.Evaluate[string](`[...document.images].filter(i => i.naturalWidth === 0 ||
		!i.src.startsWith("data:")).map(i => i.src).concat(performance.getEntriesByType("resource").map(e => e.name)
		.filter(name => !name.startsWith("data:"))).join(" ")`))
	if shown != "" {
		t.Errorf("%s asks for %s", name, shown)
	}
	if overflow > 0 {
		t.Errorf("%s is %v px wider than the screen", name, overflow)
	}
	if *screenshots && l.device != "" && l.device != narrow.device {
		savePicture(t, ctx, filepath.Join("..", "..", "..", "docs", "screenshots", name+"-"+l.scheme+"-"+l.device+".png"))
	}
}

// savePicture writes a picture of what the tab shows.
func savePicture(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	picture := get(t, ctx, chromedp.CaptureScreenshot())
	testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o750))
	testkit.Must(t, os.WriteFile(path, picture, 0o600))
}

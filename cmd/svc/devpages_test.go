package main

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"svc"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/demo"
	"svc/pkg/local/devpages"
	"svc/pkg/oauth/flow"
)

// TestCallbackPage signs in through /dev/callback in a browser: the page
// registers, makes the verifier, exchanges the code and decodes the claims.
func TestCallbackPage(t *testing.T) {
	testkit.Long(t)
	w := share(t)
	tab := browserTab(t)
	ctx := tab
	var claims, call string
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		ctx, end := context.WithTimeout(ctx, 5*time.Minute)
		defer end()
		for i, step := range steps {
			if err := chromedp.Do(ctx, step); err != nil {
				text, _ := chromedp.Run(tab, chromedp.Text(chromedp.CSS("body")))
				t.Fatalf("step %d: %v; the page shows: %s", i, err, text)
			}
		}
	}
	do(chromedp.Navigate(w.base+devpages.Callback), browsing.WaitVisible(chromedp.CSS("#start button")),
		browsing.Click(chromedp.CSS("#start button")), browsing.WaitVisible(chromedp.CSS("#password")),
		browsing.SendKeys(chromedp.CSS("#email"), "rider1@metro.example"),
		browsing.SendKeys(chromedp.CSS("#password"), demo.Password),
		chromedp.Submit(chromedp.CSS("#password")), browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)),
		browsing.Click(chromedp.CSS(`[value="allow"]`)), browsing.WaitVisible(chromedp.CSS("#call")))
	for selector, into := range map[string]*string{"#claims": &claims, "#call pre": &call} {
		text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
		if err != nil {
			t.Fatal(err)
		}
		*into = text
	}
	for _, want := range []string{`"aud": "rider"`, `"at+jwt"`, "id_token"} {
		if !strings.Contains(claims, want) {
			t.Errorf("the claims show no %s: %s", want, claims)
		}
	}
	_, token, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(call), "'"), "Bearer ")
	w.expect("/api/v1/me", token, http.StatusOK, "")
	do(chromedp.Reload(), browsing.WaitVisible(chromedp.CSS("#finish")))
	w.expect("/api/v1/me", token, http.StatusOK, "") // the reload did not redeem the code again
}

// browserTab starts a browser and opens a tab.
func browserTab(t *testing.T) context.Context {
	t.Helper()
	ctx, end := chromedp.NewExecAllocator(t.Context(), browsing.Options(t)...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	testkit.Must(t, chromedp.Do(ctx)) // opens the tab, whose life must not be that of one step
	return ctx
}

// TestOutbox: the link for a forgotten password is in /dev/mail and works. A
// request with a foreign host name does not reach the pages.
func TestOutbox(t *testing.T) {
	w := share(t)
	browser := flow.NewBrowser(flow.Options{BaseURL: w.base})
	address := w.base + "/oauth/forgot?audience=rider&tenant_hint=metro"
	page, _, err := browser.Get(t.Context(), address)
	testkit.Must(t, err)
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page.Body)
	if csrf == nil {
		t.Fatalf("the page has no form: %d %s", page.StatusCode, page.Body)
	}
	var outbox flow.Response
	var link []string
	for n := 0; n < 3 && link == nil; n++ { // a mail that takes the service more than 3 s is given up
		_, _, err = browser.Post(t.Context(), address, url.Values{"csrf": {csrf[1]}, "email": {"rider1@metro.example"}})
		testkit.Must(t, err)
		outbox, _, err = browser.Get(t.Context(), w.base+devpages.Outbox)
		testkit.Must(t, err)
		link = regexp.MustCompile(`href="(http[^"]+/oauth/password[^"]+)"`).FindStringSubmatch(outbox.Body)
	}
	if link == nil || !strings.Contains(outbox.Body, "To <bdi>rider1@metro.example") {
		t.Fatalf("the outbox shows no link: %s", outbox.Body)
	}
	page, _, err = browser.Get(t.Context(), html.UnescapeString(link[1]))
	if err != nil || page.StatusCode >= http.StatusBadRequest {
		t.Errorf("the link: %d %v", page.StatusCode, err)
	}
	for host, status := range map[string]int{"evil.example": 403, "localhost:1": 200, "127.0.0.1": 200} {
		byName(t, http.MethodGet, w.base+devpages.Outbox, host, status)
	}
}

// byName checks the status of a request with this Host header.
func byName(t *testing.T, method, address, host string, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	testkit.Must(t, err)
	r.Host = host
	res, err := http.DefaultClient.Do(r)
	testkit.Must(t, err)
	_, _ = io.Copy(io.Discard, res.Body)
	if res.Body.Close(); res.StatusCode != status {
		t.Errorf("%s of host %s gets %d, want %d", address, host, res.StatusCode, status)
	}
}

// TestForeignNames: on a laptop no part of the service answers to another name
// than the machine's or a tenant's, even without Origin. A page whose name leads
// here (DNS rebinding) could sign in with the demo's passwords.
func TestForeignNames(t *testing.T) {
	w := share(t)
	for host, status := range map[string]int{"evil.example": 403, "evil.example:8080": 403, "127.0.0.1.evil.example": 403,
		"localhost.evil.example": 403, "localhost:1": 401, "127.0.0.1": 401, "[::1]:8080": 401} {
		for _, path := range []string{"/mcp", "/mcp/rider/metro", "/mcp/driver/metro"} {
			byName(t, http.MethodPost, w.base+path, host, status)
		}
	}
	for _, path := range []string{"/api/v1/me", "/oauth/apps", "/health", "/docs", "/.well-known/jwks.json"} {
		byName(t, http.MethodGet, w.base+path, "evil.example", 403)
	}
	w.ok("tenant", "set", "harbor", "--domain", "ride.harbor.example")
	defer w.ok("tenant", "set", "harbor", "--domain", "")
	byName(t, http.MethodGet, w.base+"/api/v1/me", "Ride.Harbor.Example:443", 401)
	byName(t, http.MethodGet, w.base+devpages.Outbox, "ride.harbor.example", 404)
}

// TestFunctionsHaveNoDevPages: the deployed functions do not serve the pages.
func TestFunctionsHaveNoDevPages(t *testing.T) {
	rt := &app.Runtime{DB: testkit.Table(t), BaseURL: "http://127.0.0.1", Now: time.Now,
		Logger: slog.New(slog.DiscardHandler)}
	functions, err := rt.Functions()
	testkit.Must(t, err)
	gateway, err := emulator.New(svc.Template, functions)
	testkit.Must(t, err)
	for _, path := range []string{devpages.Callback, devpages.Outbox, "/dev/callback.js", "/dev/"} {
		w := httptest.NewRecorder()
		gateway.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"not_found"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

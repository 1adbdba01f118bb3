package conformance

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// TestSinglePageApp signs a rider in through the page of docs/clients.md, as
// printed, in a browser and from another origin than the service's.
func TestSinglePageApp(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	text, err := os.ReadFile("../../../docs/clients.md")
	testkit.Must(t, err)
	found := regexp.MustCompile("(?s)\n```html\n(.*?\n)```\n").FindSubmatch(text)
	if found == nil || len(regexp.MustCompile("\n").FindAll(found[1], -1)) >= 40 {
		t.Fatalf("expected a page of fewer than 40 lines in docs/clients.md: %s", found)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(found[1])
	})
	mux.HandleFunc("/oauth4webapi.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "node_modules/oauth4webapi/build/index.js")
	})
	app := httptest.NewServer(mux)
	t.Cleanup(app.Close)
	ctx := openTab(t)
	testkit.Must(t, chromedp.Do(ctx, chromedp.Navigate(app.URL+"/?api="+url.QueryEscape(s.URL)),
		browsing.WaitVisible(chromedp.CSS("#password")), browsing.SetValue(chromedp.CSS("#email"), rita.Email),
		browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+kb.Enter),
		browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)), browsing.Click(chromedp.CSS(`[value="allow"]`)),
		browsing.WaitVisible(chromedp.Search(`//pre[contains(., "`+rita.Email+`")]`))))
}

// openTab starts a browser that ends with the test, and returns the context of
// its tab.
func openTab(t *testing.T) context.Context {
	t.Helper()
	allocator, end := chromedp.NewExecAllocator(context.Background(), browsing.Options(t)...)
	t.Cleanup(end)
	tab, endBrowser := chromedp.NewContext(allocator)
	t.Cleanup(endBrowser)
	testkit.Must(t, chromedp.Do(tab)) // opens the tab, whose life must not be that of one action
	ctx, stop := context.WithTimeout(tab, 10*time.Minute)
	t.Cleanup(stop)
	return ctx
}

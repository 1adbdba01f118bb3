package devpages_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/local/devpages"
)

var pictures = flag.String("pictures", "", "write pictures of the pages into this folder")

// The outbox and the page of the callback fit the narrowest phone and a desktop,
// light and dark, also with a long link and a mail in Arabic, and axe-core finds no faults.
func TestOutboxOnAPhone(t *testing.T) {
	testkit.Long(t)
	pages := &devpages.Pages{}
	server := httptest.NewServer(pages.Wrap(http.NotFoundHandler()))
	defer server.Close()
	link := server.URL + "/oauth/password?audience=rider&link=" + strings.Repeat("aB-9", 11) +
		"&tenant_hint=metro&ui_locales=ar"
	for subject, text := range map[string]string{
		"Neues Passwort festlegen – Metro Cabs": "Der Link:\n\n" + link + "\n\nWenn Sie das nicht waren, ...\n",
		"تعيين كلمة مرور جديدة – Metro Cabs":    "يعمل الرابط مرة:\n\n" + link + "\n\nإذا لم تكن ...\n",
	} {
		testkit.Must(t, pages.Send(t.Context(), "rita.von-und-zu-hohenstein@a-long-name.home.example", subject, text))
	}
	ctx, end := chromedp.NewExecAllocator(t.Context(), browsing.Options(t)...)
	defer end()
	ctx, end = chromedp.NewContext(ctx)
	defer end()
	testkit.Must(t, chromedp.Do(ctx))
	ctx, end = context.WithTimeout(ctx, 5*time.Minute)
	defer end()
	for path, shows := range map[string]string{devpages.Outbox: "article",
		devpages.Callback + "?state=s&code=" + strings.Repeat("aB-9", 11): "main"} {
		testkit.Must(t, chromedp.Do(ctx, chromedp.Navigate(server.URL+path), browsing.WaitVisible(chromedp.CSS(shows))))
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{320, 1280} {
				looksRight(t, ctx, path, scheme, width)
			}
		}
	}
}

// looksRight checks the page that the tab shows at a width, in a colour scheme.
func looksRight(t *testing.T, ctx context.Context, path, scheme string, width int64) {
	t.Helper()
	testkit.Must(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 568),
		chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
			_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			return err
		})))
	wide, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`document.documentElement.scrollWidth - innerWidth`))
	testkit.Must(t, err)
	if wide > 0 {
		t.Errorf("%s, %d px wide: %v px wider than the screen", path, width, wide)
	}
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](testkit.Axe(t, "../../oauth/browser/node_modules", ""),
		chromedp.EvalAwaitPromise))
	testkit.Must(t, err)
	for _, fault := range faults {
		t.Errorf("%s, %s: %s", path, scheme, fault)
	}
	if *pictures != "" {
		body, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		testkit.Must(t, err)
		name := fmt.Sprintf("%.12s-%s-%d.png", strings.ReplaceAll(path, "/", "-"), scheme, width)
		testkit.Must(t, os.WriteFile(filepath.Join(*pictures, name), body, 0o600))
	}
}

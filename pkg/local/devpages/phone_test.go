package devpages_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"svc/pkg/local/devpages"
	"svc/pkg/local/testkit"
)

var picture = flag.String("picture", "", "write a picture of the outbox on a phone to this file")

// The outbox can be read on the narrowest phone, also with a long link and a mail
// in Arabic, and axe-core finds no faults.
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(testkit.Chrome(t)), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(5*time.Minute))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	defer end()
	ctx, end = chromedp.NewContext(ctx)
	defer end()
	testkit.Must(t, chromedp.Do(ctx))
	ctx, end = context.WithTimeout(ctx, 5*time.Minute)
	defer end()
	testkit.Must(t, chromedp.Do(ctx, chromedp.EmulateViewport(320, 568, chromedp.EmulateMobile),
		chromedp.Navigate(server.URL+devpages.Outbox), chromedp.WaitVisible(chromedp.CSS("article"))))
	wide, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`document.documentElement.scrollWidth - 320`))
	testkit.Must(t, err)
	if wide > 0 {
		t.Errorf("the outbox is %v px wider than the screen", wide)
	}
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](testkit.Axe(t, "../../oauth/browser/node_modules", ""),
		chromedp.EvalAwaitPromise))
	testkit.Must(t, err)
	for _, fault := range faults {
		t.Error(fault)
	}
	if *picture != "" {
		body, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(*picture, body, 0o600))
	}
}

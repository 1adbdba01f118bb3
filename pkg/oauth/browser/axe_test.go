package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// axe runs axe-core on the current page and returns its findings.
func axe(t *testing.T, in context.Context) []string {
	t.Helper()
	return get(t, in, chromedp.Evaluate[[]string](testkit.Axe(t, "node_modules", ""), chromedp.EvalAwaitPromise))
}

// The check can fail: it finds the faults of a faulty page.
func TestAxeFinds(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	in := tab(t, desktop.in("light"))
	run(t, in, chromedp.Navigate(s.client.URL+"/"), browsing.WaitReady(chromedp.CSS("#told")))
	if len(axe(t, in)) == 0 {
		t.Error("axe-core finds nothing on a page without language and heading")
	}
}

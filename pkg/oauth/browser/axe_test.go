package browser

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe runs axe-core on the page that is shown and gives what it finds.
func axe(t *testing.T, in context.Context) []map[string]any {
	t.Helper()
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("axe-core is missing; make npm-tests fetches it: %v", err)
	}
	get(t, in, chromedp.Evaluate[int](string(source)+";0"))
	found := get(t, in, chromedp.Evaluate[string](`axe.run(document, {preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html + ": " + n.failureSummary)}))))`, chromedp.EvalAwaitPromise))
	var violations []map[string]any
	must(t, json.Unmarshal([]byte(found), &violations))
	return violations
}

// The check can fail: a page with faults has them found.
func TestAxeFinds(t *testing.T) {
	s := newStand(t)
	in := tab(t, desktop.in("light"))
	run(t, in, chromedp.Navigate(s.client.URL+"/"), chromedp.WaitReady(chromedp.CSS("#told")))
	if len(axe(t, in)) == 0 {
		t.Error("axe-core finds nothing on a page without language and heading")
	}
}

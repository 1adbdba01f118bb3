// Package browsing drives the browser of the tests of pages. Its queries are those of
// chromedp, but they poll the page every 25 ms. chromedp polls every 5 ms, which takes a
// tenth of the tests' processor time.
package browsing

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"svc/internal/test/testkit"
)

// Void is the result of a step that has none.
type Void = chromedp.Void

var pause = chromedp.RetryInterval(25 * time.Millisecond)

// Options returns how the browser of the tests is started.
func Options(t testing.TB, more ...chromedp.ExecAllocatorOption) []chromedp.ExecAllocatorOption {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(testkit.Chrome(t)), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(5*time.Minute))
	return append(options, more...)
}

// WaitVisible waits until an element is visible.
func WaitVisible[S chromedp.Selectable](sel S) chromedp.Action[Void] {
	return chromedp.WaitVisible(sel, pause)
}

// WaitReady waits until there is an element.
func WaitReady[S chromedp.Selectable](sel S) chromedp.Action[Void] {
	return chromedp.WaitReady(sel, pause)
}

// WaitNotPresent waits until there is no such element.
func WaitNotPresent[S chromedp.Selectable](sel S) chromedp.Action[Void] {
	return chromedp.WaitNotPresent(sel, pause)
}

// Click waits until an element is visible and clicks it.
func Click[S chromedp.Selectable](sel S) chromedp.Action[Void] { return chromedp.Click(sel, pause) }

// SendKeys waits until an element is visible and types into it.
func SendKeys[S chromedp.Selectable](sel S, keys string) chromedp.Action[Void] {
	return chromedp.SendKeys(sel, keys, pause)
}

// SetValue waits until there is an element and sets its value.
func SetValue[S chromedp.Selectable](sel S, value string) chromedp.Action[Void] {
	return chromedp.SetValue(sel, value, pause)
}

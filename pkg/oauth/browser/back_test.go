package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// The back button leads over every page that a person saw, also over those that
// answered a form, to the sign-in.
func TestBack(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "rider")
	ctx := tab(t, phone.in("light"))
	mailed := browsing.WaitReady(chromedp.CSS(`[name="email"][type="hidden"]`))
	wrong, empty := browsing.WaitVisible(chromedp.CSS("#problem")), browsing.WaitVisible(chromedp.CSS("#email"))
	run(t, ctx, chromedp.Navigate(s.authorize(client, "scope", "openid rider.trips:read")),
		signIn("rita@home.example", "wrong"), wrong,
		browsing.Click(chromedp.CSS(`a[href^="forgot"]`)), browsing.WaitNotPresent(chromedp.CSS("#password")), empty,
		browsing.SendKeys(chromedp.CSS("#email"), "rita@home.example"+kb.Enter), mailed,
		browsing.Click(chromedp.CSS(`a[href^="authorize"]`)), browsing.WaitVisible(chromedp.CSS("#password")))
	for n, shows := range []string{
		`!document.querySelector("#email") && document.querySelector("[name=email]")`,
		`document.querySelector("#email") && !document.querySelector("#password")`,
		`document.querySelector("#password") && document.querySelector("#problem")`,
		`document.querySelector("#password") && !document.querySelector("#problem")`,
	} {
		get(t, ctx, chromedp.Evaluate[bool]("setTimeout(() => history.back()), true"))
		for arrived := false; !arrived; time.Sleep(10 * time.Millisecond) {
			where, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.protocol === "chrome-error:" ? "nowhere" : (`+
				shows+`) ? "there" : ""`))
			if where == "nowhere" || ctx.Err() != nil { // any other error means that the tab is between two pages
				t.Fatalf("%d times back: the browser's own error, %v", n+1, err)
			}
			arrived = where == "there"
		}
	}
}

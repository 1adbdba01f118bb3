package docspage

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/domain/person"
)

// refreshToken is the refresh token of a tab.
const refreshToken = `JSON.parse(sessionStorage.getItem("tokens"))?.refresh ?? ""`

// newTab runs a script that opens a tab and returns the tab.
func newTab(t *testing.T, ctx context.Context, script string) context.Context {
	t.Helper()
	opened := chromedp.WaitNewTarget(ctx, func(i *target.Info) bool { return i.Type == "page" })
	run(t, ctx, chromedp.Evaluate[chromedp.Void](script))
	tab, end := chromedp.NewContext(ctx, chromedp.WithTargetID(<-opened))
	t.Cleanup(end)
	return tab
}

// front brings a tab to the front: the console asks nothing while it is hidden.
func front() step { return command(page.BringToFront, cdp.Empty{}) }

// duplicate opens the console again with a copy of what the tab keeps, as a browser duplicates a tab.
const duplicate = `void window.open(location.href)`

// TestConsoleTabs: a duplicated tab gets tokens of its own without a password. No tab ends the tokens of
// another when it renews its own, is loaded again, or is closed.
func TestConsoleTabs(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	first := browser(t)
	run(t, first, size(1280, 900, "light"))
	signInToConsole(t, first, s, s.Operator(t, "metro", "olga"))
	run(t, first, open("trips", `//td[.="1 Harbour Street"]`)...)
	kept := get[string](t, first, refreshToken)
	second := newTab(t, first, duplicate)
	run(t, second, sees(`//td[.="1 Harbour Street"]`))
	if got := get[string](t, second, refreshToken); got == kept || got == "" {
		t.Errorf("the duplicate has the refresh token %q of the first tab", got)
	}
	run(t, first, front(), chromedp.Reload(), sees(`//td[.="1 Harbour Street"]`))
	if got := get[string](t, first, refreshToken); got != kept {
		t.Error("a tab that is loaded again signs in anew")
	}
	for n := 2; n < 4; n++ { // both renew their tokens, the second time with tokens that were renewed before
		s.Clock.Advance(time.Hour)
		for _, tab := range []context.Context{second, first} {
			run(t, tab, front())
			run(t, tab, open("customers", `//td[.="rita@metro.example"]`)...)
			run(t, tab, open("trips", `//td[.="1 Harbour Street"]`)...)
		}
	}
	third := newTab(t, first, duplicate)
	run(t, third, sees(`//td[.="1 Harbour Street"]`), chromedp.Evaluate[chromedp.Void](`setTimeout(() => window.close())`))
	s.Clock.Advance(time.Hour)
	for _, tab := range []context.Context{first, second} {
		run(t, tab, front())
		run(t, tab, open("customers", `//td[.="rita@metro.example"]`)...)
		if n := get[int](t, tab, `document.querySelectorAll(".problem").length`); n > 0 {
			t.Errorf("%d problems are shown", n)
		}
	}
}

// TestConsoleNewTab: a link that is opened in a new tab shows its page without a question. Signing out in one tab signs
// out the other, whose tokens end at once. A browser whose client the service has lost can sign in again.
func TestConsoleNewTab(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	trip, olga := rides(t, s, 1)[0], s.Operator(t, "metro", "olga")
	first := browser(t)
	run(t, first, size(1280, 900, "light"))
	signInToConsole(t, first, s, olga)
	run(t, first, open("trips", `//td[.="1 Harbour Street"]`)...)
	second := newTab(t, first, `void window.open("/console/#/trips/`+trip+`", "_blank", "noopener")`)
	run(t, second, sees(`//h2[.="What happened"]`))
	access := get[string](t, second, `JSON.parse(sessionStorage.getItem("tokens")).access`)
	s.Get(t, access, "/api/v1/trips").Must(t, 200)
	run(t, first, front(), browsing.Click(button("Sign out")), browsing.WaitVisible(button("Sign in")))
	run(t, second, front(), browsing.WaitVisible(button("Sign in")))
	s.Get(t, access, "/api/v1/trips").Must(t, 401)
	run(t, second, chromedp.Evaluate[chromedp.Void](`localStorage.setItem("client", JSON.stringify({id: "lost", used: Date.now()}))`),
		browsing.Click(button("Sign in")), browsing.WaitVisible(chromedp.CSS("#password"))) // the session has ended too
}

// TestConsoleCompany: an operator of two companies picks one when signing in, and changes to the other without a
// password. The tokens of the first company end, and nothing that was typed for it is left.
func TestConsoleCompany(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	olga := s.Operator(t, "metro", "olga")
	_, err := person.Store{DB: s.DB}.Join(t.Context(), s.Tenant("harbor"), s.By(), olga.ID, "operator",
		[]string{"VIEW_TRIPS"})
	testkit.Must(t, err)
	ctx := browser(t)
	pick := func(company string) {
		run(t, ctx, browsing.Click(chromedp.Search(`//button[contains(., "`+company+`")]`)), browsing.WaitVisible(button("Sign out")))
	}
	run(t, ctx, size(390, 844, "light"), watch(), chromedp.Navigate(s.URL+"/console/"), browsing.Click(button("Sign in")),
		browsing.WaitVisible(chromedp.CSS("#password")), browsing.SetValue(chromedp.CSS("#email"), olga.Email),
		browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+kb.Enter))
	pick("Metro")
	run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
	run(t, ctx, open("drivers", `//h1[.="Drivers"]`)...)
	run(t, ctx, typing("input[type=search]", "Dan"))
	metro := get[string](t, ctx, `JSON.parse(sessionStorage.getItem("tokens")).access`)
	run(t, ctx, browsing.Click(button("Change company")))
	pick("Harbor")
	run(t, ctx, sees(`//h1[.="Trips"]`), sees(`//p[.="Nothing here yet."]`))
	if menu := get[[]string](t, ctx, `[...document.querySelectorAll("nav a")].map(a => a.textContent)`); len(menu) != 1 {
		t.Errorf("whoever may see trips is shown %q", menu)
	}
	if drafts := get[int](t, ctx, `Object.keys(sessionStorage).filter(key => key.startsWith("draft")).length`); drafts > 0 {
		t.Errorf("%d drafts of the other company are kept", drafts)
	}
	s.Get(t, metro, "/api/v1/trips").Must(t, 401)
	noFaults(t, ctx)
}

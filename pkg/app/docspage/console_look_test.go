package docspage

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// colours are what the page is painted with: behind the menu, on it, for links and buttons, and on buttons.
const colours = `(() => {
	const of = (selector, name) => getComputedStyle(document.querySelector(selector))[name]
	return [of("header", "backgroundColor"), of("header", "color"), of("td a", "color"),
		of("button.main", "backgroundColor")]
})()`

// TestConsoleColours: the console has the company's colour, light and dark, and whatever the colour is, everything can
// be read and the keyboard's place is seen. What is no colour, and no colour, give the console's own.
func TestConsoleColours(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 1)
	olga := s.Operator(t, "metro", "olga")
	paints := s.Token(t, olga, "tenant.branding:write")
	paint := func(value string) {
		s.Patch(t, paints, "/api/v1/branding", `{"appName":"Painted Rides","primaryColor":`+value+`}`).Must(t, 200)
	}
	ctx := browser(t)
	run(t, ctx, size(1280, 900, "light"))
	paint("null")
	signInToConsole(t, ctx, s, olga)
	// show returns the colours after the company's name and colour were shown, "" if the page keeps its own.
	show := func(scheme, painted string) []string {
		run(t, ctx, size(1280, 900, scheme), chromedp.Reload(), sees(`//td[.="1 Harbour Street"]`),
			sees(`//header/strong[.="Painted Rides"]`), chromedp.Evaluate[chromedp.Void](
				`new Promise(done => setTimeout(done, 100))`, chromedp.EvalAwaitPromise),
			browsing.WaitReady(chromedp.JSPath(`document.documentElement.style.getPropertyValue("--company") === "`+painted+
				`" ? document.body : null`)))
		return get[[]string](t, ctx, colours)
	}
	run(t, ctx, open("trips", `//td[.="1 Harbour Street"]`)...)
	own := map[string][]string{"light": show("light", ""), "dark": show("dark", "")}
	for colour, want := range map[string]string{"#ffffff": "#ffffff", "#000": "#000000", "#ffff": "#ffffff",
		"#ff000010": "#ff0000", "#777777": "#777777", "#7C3AED": "#7c3aed"} {
		paint(`"` + colour + `"`)
		for scheme, without := range own {
			name := colour + " " + scheme
			got := show(scheme, want)
			if got[2] == without[2] || got[3] == without[3] {
				t.Errorf("%s: links and buttons have not the company's colour: %q", name, got)
			}
			fits(t, ctx, name)
			run(t, ctx, chromedp.Focus(chromedp.CSS("header button")))
			if ring := get[string](t, ctx, `getComputedStyle(document.querySelector("header button")).outlineColor`); ring != got[1] {
				t.Errorf("%s: the keyboard's place in the menu is %s on %s", name, ring, got[0])
			}
			run(t, ctx, browsing.Click(button("Book a ride")), browsing.WaitVisible(chromedp.CSS("dialog button.main")))
			fits(t, ctx, name+", a question")
		}
	}
	for _, bad := range []string{`"red"`, `"#12345"`, `"url(//x.example)"`, `null`, `7`} {
		run(t, ctx, inject(fmt.Sprintf(`(() => {
			const real = window.fetch
			window.fetch = async (...given) => {
				const answer = await real(...given)
				if (!/branding/.test(given[0].url ?? given[0])) return answer
				return Response.json({...await answer.json(), primaryColor: %s})
			}
		})()`, bad)))
		for scheme, without := range own {
			if got := show(scheme, ""); fmt.Sprint(got) != fmt.Sprint(without) {
				t.Errorf("with %s as colour it is %q, without one %q", bad, got, without)
			}
		}
	}
	noFaults(t, ctx)
}

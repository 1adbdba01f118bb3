package browser

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/page"
	"svc/pkg/local/demo"
)

var pictures = flag.String("pictures", "", "write pictures of every page in every language into this folder")

// everyPage returns every page with much text on it, by name.
func everyPage(t *testing.T) map[string]page.Content {
	t.Helper()
	const email = "rita.von-und-zu_hohenstein+rides@home.example"
	all := map[string]page.Content{
		"signin": page.SignIn{Action: "signin", CSRF: "c", Email: "_ana.", Problem: "wrong", Client: "Fleet Planner",
			Own: "company", Company: "Metro Cabs", Rider: true, Forgot: "forgot"},
		"signin-wait": page.SignIn{Action: "signin", CSRF: "c", Problem: "throttled", Minutes: 4, Driver: true,
			Riders: "apps?a", Drivers: "apps?b"},
		"forgot":         page.Forgot{Action: "forgot", CSRF: "c", Email: email, Problem: "throttled", Driver: true},
		"mailed":         page.Mailed{Action: "forgot", CSRF: "c", Email: email, SignIn: "apps"},
		"signup":         page.Forgot{Action: "signup", CSRF: "c", Email: email, Rider: true, SignUp: true, SignIn: "apps"},
		"signup-offered": page.SignIn{Action: "signin", CSRF: "c", Rider: true, Forgot: "forgot", SignUp: "signup"},
		"signup-mailed":  page.Mailed{Action: "signup", CSRF: "c", Email: email, SignIn: "apps", SignUp: true},
		"signup-link": page.Password{Action: "password", CSRF: "c", Account: email, Problem: "agree", Least: 10, Named: true,
			Given: "Ana", Family: "von und zu Hohenstein", Agree: "a"},
		"company": page.Company{Action: "apps", Query: url.Values{}, Slug: "metro-cabs-of-the-whole-city", Problem: true},
		"audience": page.Audience{Client: "Fleet Planner 2.0 (beta)", Choices: []page.AudienceChoice{{Audience: "driver",
			To: "authorize?a"}, {Audience: "dashboard", To: "authorize?b"}, {Audience: "rider", To: "authorize?c"}}},
		"by-form": page.Message{Kind: "request", Detail: "invalid_scope", Back: page.Back{Host: "planner.example:8443",
			To: "https://planner.example:8443/cb", Fields: url.Values{"error": {"invalid_scope"}}}},
		"terms": page.Terms{Action: "terms", CSRF: "c", Account: email, Agree: "a", Problem: "agree", Switch: "authorize"},
		"picker": page.Picker{Action: "tenant", CSRF: "c", Account: email, Switch: "authorize",
			Choices: []page.Choice{{Slug: "metro", Name: "Metro Cabs"}, {Slug: "nur", Name: "تاكسي النور (شمال)"}}},
		"consent": page.Consent{Action: "consent", CSRF: "c", Client: "Fleet Planner 2.0 (beta)",
			Host: "planner.a-long-name-of-a-host.example:8443", Site: "planner.example", Account: email, Tenant: "Metro Cabs",
			Scopes: authz.Scopes(authz.Dashboard), Later: []string{"tenant.builds:read"}, Agents: "confirm", Switch: "authorize",
			Policy: "https://planner.example/p", Terms: "https://planner.example/t", Company: "tenant", Apps: "apps"},
		"consent-local": page.Consent{Action: "consent", CSRF: "c", Client: "سائق", Host: "127.0.0.1:5000", Local: true,
			Account: email, Tenant: "!Metro", Scopes: authz.Scopes(authz.Driver), Agents: "all", Switch: "authorize",
			Apps: "apps"},
		"apps": page.Apps{Action: "apps", CSRF: "c", Account: email, Ended: true, Logout: "logout",
			Apps: []page.App{{ClientID: "cli_1", Name: "Fleet Planner", Grants: []page.Grant{{Tenant: "ten_1",
				Company: "Metro Cabs", Allowed: "2026-01-02", Scopes: authz.Scopes(authz.Rider), Later: []string{"email"}}}}}},
		"logout":   page.Logout{Action: "logout", CSRF: "c", Account: email},
		"password": page.Password{Action: "password", CSRF: "c", Account: email, Problem: "differ", Least: 10},
	}
	body, err := os.ReadFile(filepath.Join("..", "..", "domain", "page", "languages", "en.json"))
	testkit.Must(t, err)
	var texts map[string]string
	testkit.Must(t, json.Unmarshal(body, &texts))
	for key := range texts {
		kind, found := strings.CutSuffix(strings.TrimPrefix(key, "message."), ".title")
		if !found || kind+".title" == key {
			continue
		}
		m := page.Message{Kind: kind, Request: "req_01ARZ3NDEKTSV4RRFFQ69G5FAV", Detail: "scope: repeated.", SignIn: "apps"}
		if texts["message."+kind+".again"] != "" {
			m.Again = "forgot"
		}
		if kind == "leave" {
			m.Back = page.Back{Host: "planner.example", To: "https://planner.example/cb"}
		}
		all[kind] = m
	}
	return all
}

// Every page in every language: axe-core finds no faults, and nothing is wider
// than the screen, or cut off at the card's edge, on the narrowest screen and on a
// desktop. axe-core checks English in each look, and another language only in the
// first look, because colours do not depend on the language. With -pictures the test checks every language in every
// look, and takes pictures.
func TestLanguages(t *testing.T) {
	testkit.Long(t)
	inEveryLanguage(t, everyPage(t), "unknown-path")
}

// inEveryLanguage checks pages, and shows those that have no content by ShowMissing.
func inEveryLanguage(t *testing.T, all map[string]page.Content, names ...string) {
	t.Helper()
	name, chosen := demo.Look("metro")
	brand := page.Brand{Name: name, Primary: chosen["primaryColor"], Secondary: chosen["secondaryColor"],
		IconBackground: chosen["iconBackgroundColor"], LogoURL: chosen["logoUrl"], SupportURL: "tel:+1-212-555-0181",
		TermsURL: "https://metro.example/terms", PrivacyURL: "https://metro.example/privacy"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, found := all[strings.TrimPrefix(r.URL.Path, "/")]
		if !found {
			page.ShowMissing(w, r, "https://svc.example")
			return
		}
		if err := page.Write(w, http.StatusOK, page.Frame{Lang: page.Lang(r.URL.Query().Get("ui_locales")), Brand: brand},
			content); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	in := tab(t, narrow.in("light"))
	for _, lang := range page.Languages() {
		for _, name := range names {
			looks, thorough := []look{narrow.in("light"), desktop.in("dark")}, lang == string(page.English) || *pictures != ""
			if thorough {
				looks = append(looks, desktop.in("light"), phone.in("light"), phone.in("dark"))
			}
			run(t, in, chromedp.Navigate(server.URL+"/"+name+"?ui_locales="+lang), browsing.WaitVisible(chromedp.CSS("h1")))
			for i, l := range looks {
				run(t, in, showAs(l))
				faults := cutOff(t, in)
				if i == 0 || thorough {
					faults = append(faults, axe(t, in)...)
				}
				for _, fault := range faults {
					t.Errorf("%s in %s, %s %s: %s", name, lang, l.scheme, l.device, fault)
				}
				if *pictures != "" {
					savePicture(t, in, filepath.Join(*pictures, lang, name+"-"+l.scheme+"-"+l.device+".png"))
				}
			}
			if got := get(t, in, chromedp.Evaluate[string]("document.documentElement.lang")); got != lang {
				t.Errorf("%s in %s is in %q", name, lang, got)
			}
		}
	}
}

// cutOff returns what is wider than the screen or than the page's card.
func cutOff(t *testing.T, in context.Context) []string {
	t.Helper()
	return get(t, in, chromedp.Evaluate[[]string](`(() => {
		const card = document.querySelector("main").getBoundingClientRect(), screen = document.documentElement;
		const wide = [...document.querySelectorAll("main *, header *, footer *")].filter(e => {
			const r = e.getBoundingClientRect();
			return r.width > 0 && (r.left < card.left - 1 || r.right > card.right + 1);
		}).map(e => e.outerHTML.slice(0, 80) + " is cut off");
		return screen.scrollWidth > screen.clientWidth ? wide.concat("the page is wider than the screen") : wide;
	})()`))
}

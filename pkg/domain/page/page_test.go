package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
)

var brand = Brand{Name: "Metro Cabs", Primary: "#0a7", LogoURL: "https://cdn.metro.example/logo.svg",
	SupportURL: "https://metro.example/help",
	TermsURL:   "https://metro.example/terms", PrivacyURL: "https://metro.example/privacy"}

// langs returns every language of the pages.
func langs() (all []Lang) {
	for _, name := range Languages() {
		all = append(all, Lang(name))
	}
	return all
}

func all() map[string]Content {
	var apps []App
	for i := range 5 {
		apps = append(apps, App{ClientID: fmt.Sprint("cli_", i), Name: "Planner", Grants: []Grant{
			{Tenant: "ten_1", Company: "Metro Cabs", Allowed: "2026-01-02", Scopes: authz.Scopes(authz.Dashboard)},
			{Tenant: "ten_2", Company: "Harbor", Allowed: "2026-01-01", Later: []string{"tenant.builds:read"}}}})
	}
	return map[string]Content{
		"sign-in":          SignIn{Action: "signin?x=1", CSRF: "c", Email: "ana@metro.example", Client: "Planner"},
		"sign-in, wrong":   SignIn{Action: "signin?x=1", CSRF: "c", Problem: "wrong", Rider: true},
		"sign-in, blocked": SignIn{Action: "signin?x=1", CSRF: "c", Problem: "throttled", Minutes: 4, Driver: true},
		"sign-in, link":    SignIn{Action: "signin?x=1", CSRF: "c", Forgot: "forgot?audience=rider"},
		"forgot":           Forgot{Action: "forgot?x=1", CSRF: "c", Rider: true},
		"forgot, blocked": Forgot{Action: "forgot?x=1", CSRF: "c", Email: "ana@metro.example", Problem: "throttled",
			Driver: true},
		"sign-up":          Forgot{Action: "signup?x=1", CSRF: "c", Rider: true, SignUp: true, SignIn: "apps?x=1"},
		"sign-up, offered": SignIn{Action: "signin?x=1", CSRF: "c", Rider: true, Forgot: "forgot", SignUp: "signup?x=1"},
		"sign-up, mailed":  Mailed{Action: "signup?x=1", CSRF: "c", Email: "ana@metro.example", SignIn: "apps", SignUp: true},
		"sign-up, link": Password{Action: "password", CSRF: "c", First: true, Least: 10, Named: true, Problem: "agree",
			Given: "Nina", Agree: "a"},
		"invited":          Password{Action: "join", CSRF: "c", First: true, Least: 10, Named: true, Invites: "Metro Cabs"},
		"invited, known":   SignIn{Action: "join", CSRF: "c", Email: "ana@metro.example", Invites: "Metro Cabs"},
		"joined":           Message{Kind: "joined", SignIn: "apps"},
		"member":           Message{Kind: "member", SignIn: "apps"},
		"created":          Message{Kind: "created", SignIn: "apps"},
		"mailed":           Mailed{Action: "forgot?x=1", CSRF: "c", Email: "ana@metro.example", SignIn: "apps"},
		"link":             Message{Kind: "link", Again: "forgot?x=1", SignIn: "apps", Request: "req_1"},
		"sign-in, own":     SignIn{Action: "signin", CSRF: "c", Problem: "cookies", Riders: "apps?a", Drivers: "apps?b"},
		"company":          Company{Action: "authorize", Query: map[string][]string{"resource": {"a", "b"}}, Slug: "metro"},
		"company, unknown": Company{Action: "apps", Slug: "x", Problem: true, Driver: true},
		"onward":           Message{Kind: "onward", Again: "https://ride.nova.example/oauth/authorize?x=1"},
		"saved":            Message{Kind: "saved", SignIn: "apps"},
		"terms": Terms{Action: "terms?x=1", CSRF: "c", Account: "ana@metro.example", Agree: "a", Problem: "agree",
			Switch: "authorize"},
		"device":           Device{Action: "device", CSRF: "c"},
		"device, wrong":    Device{Action: "device", CSRF: "c", Code: "WDJB-MJHT", Problem: "wrong"},
		"device, consent":  Consent{Action: "consent?x=1", CSRF: "c", Client: "svc", Own: "platform", Code: "WDJB-MJHT"},
		"device, approved": Message{Kind: "deviceapproved"},
		"device, denied":   Message{Kind: "devicedenied"},
		"device, gone":     Message{Kind: "devicegone", Again: "device"},
		"picker": Picker{Action: "tenant?x=1", CSRF: "c", Account: "ana@metro.example",
			Choices: slices.Repeat([]Choice{{"metro", "Metro Cabs"}}, 40)},
		"consent": Consent{Action: "consent?x=1", CSRF: "c", Client: "Planner", Host: "planner.example",
			Tenant: "Metro Cabs", Scopes: authz.Scopes(authz.Dashboard), Later: []string{"tenant.builds:read"}},
		"consent, local": Consent{Action: "consent?x=1", CSRF: "c", Client: "Planner", Local: true, Company: "tenant?x=1",
			Scopes: authz.Scopes(authz.Rider), Policy: "https://planner.example/p"},
		"apps":            Apps{Action: "apps", CSRF: "c", Apps: apps, Ended: true, Logout: "logout"},
		"apps, none":      Apps{Action: "apps"},
		"logout":          Logout{Action: "logout", CSRF: "c", Hidden: map[string]string{"state": "s"}},
		"password":        Password{Action: "password", CSRF: "c", First: true, Least: 10},
		"password, again": Password{Action: "password", CSRF: "c", Problem: "differ", Least: 10},
		"leave": Message{Kind: "leave", Back: Back{Host: "planner.example",
			To: "https://planner.example/cb?code=1"}},
		"sign-in, busy":  SignIn{Action: "signin?x=1", CSRF: "c", Email: "ana@metro.example", Problem: "busy"},
		"forgot, busy":   Forgot{Action: "forgot?x=1", CSRF: "c", Email: "ana@metro.example", Problem: "busy"},
		"password, busy": Password{Action: "password", CSRF: "c", Problem: "busy", Least: 10},
		"busy":           Message{Kind: "busy", Again: "authorize?x=1", Request: "req_1"},
		"audience": Audience{Client: "Planner", Choices: []AudienceChoice{{"rider", "authorize?x=1"},
			{"dashboard", "authorize?x=2"}}},
		"error": Message{Kind: "request", Detail: "scope: repeated", Request: "req_1"},
	}
}

func TestPages(t *testing.T) {
	for name, content := range all() {
		for _, lang := range langs() {
			t.Run(name+" "+string(lang), func(t *testing.T) {
				rec := httptest.NewRecorder()
				if err := Write(rec, http.StatusOK, Frame{Lang: lang, Brand: brand, FormTo: []string{"https://planner.example/cb"}},
					content); err != nil {
					t.Fatal(err)
				}
				body := rec.Body.String()
				if len(body) >= 40<<10 {
					t.Errorf("the page has %d bytes", len(body))
				}
				for _, forbidden := range []string{"<script", "javascript:", " style=", "ZgotmplZ", "onclick"} {
					if strings.Contains(body, forbidden) {
						t.Errorf("the page has %q in it", forbidden)
					}
				}
				if dir := direction[lang]; !strings.Contains(body, `<html lang="`+string(lang)+`" dir="`+dir+`">`) {
					t.Errorf("the page does not say its language, or not that it is %s", dir)
				}
				caching := "no-store"
				refused := strings.Contains(body, `id="email"`) && strings.Contains(body, `id="problem"`)
				if strings.HasSuffix(name, "mailed") || refused {
					caching = "private, no-cache" // the back button leads to it
				}
				want := map[string]string{"Cache-Control": caching, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
					"X-Content-Type-Options": "nosniff", "Content-Language": string(lang), "Content-Type": "text/html; charset=utf-8"}
				for header, value := range want {
					if got := rec.Header().Get(header); got != value {
						t.Errorf("%s: %q, want %q", header, got, value)
					}
				}
				style := body[strings.Index(body, "<style>")+len("<style>") : strings.Index(body, "</style>")]
				sum := sha256.Sum256([]byte(style))
				policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
					"'; img-src https: data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https://planner.example"
				if diff := cmp.Diff(policy, rec.Header().Get("Content-Security-Policy")); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	evil := `"><script>alert(1)</script><b title='`
	contents := []Content{
		SignIn{Action: "signin?" + evil, Email: evil, Client: evil, CSRF: evil},
		Consent{Client: evil, Host: evil, Account: evil, Tenant: evil, Scopes: []string{evil}, Policy: "javascript:alert(1)",
			Switch: "javascript:alert(1)"},
		Picker{Account: evil, Choices: []Choice{{evil, evil}}},
		Message{Kind: "request", Detail: evil, Request: evil},
		Message{Kind: "request", Back: Back{Host: evil, Fields: map[string][]string{evil: {evil}}}},
		Audience{Client: evil, Choices: []AudienceChoice{{evil, "javascript:alert(1)"}}},
		FormPost{Back: Back{Host: evil, Fields: map[string][]string{"state": {evil}}}},
		Password{Named: true, Given: evil, Family: evil, Agree: evil},
		Apps{Apps: []App{{ClientID: evil, Name: evil, Grants: []Grant{{Tenant: evil, Company: evil}}}}},
	}
	for _, content := range contents {
		body, _, err := render(Frame{Brand: Brand{Name: evil, Primary: "red;}</style><script>",
			LogoURL: "https://x.example/" + evil, SupportURL: "javascript:alert(1)"}}, content)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(body), "<script>"+submitScript+"</script>", "", 1)
		for _, forbidden := range []string{"<script", "<b ", `href="javascript:`, `action="javascript:`} {
			if strings.Contains(text, forbidden) {
				t.Errorf("%T: %q came through", content, forbidden)
			}
		}
	}
}

// A client's name stands in a block of its own: no text of the page is beside it.
func TestClientNameStandsAlone(t *testing.T) {
	for _, content := range []Content{SignIn{Client: "Planner"}, Audience{Client: "Planner"},
		Consent{Client: "Planner", Tenant: "Metro Cabs"}} {
		for _, lang := range langs() {
			body, _, err := render(Frame{Lang: lang}, content)
			if err != nil || strings.Count(string(body), "Planner") != 1 ||
				!strings.Contains(string(body), `<p class="name"><bdi>Planner</bdi></p>`) {
				t.Errorf("%T in %s: %v\n%s", content, lang, err, body)
			}
		}
	}
}

// A logo is an image of the company's host, or the image itself. Anything else
// is no logo: the page shows the company's initial.
func TestLogo(t *testing.T) {
	for address, want := range map[string]string{
		"https://cdn.metro.example/logo.svg": `<img src="https://cdn.metro.example/logo.svg" alt="Metro Cabs">`,
		"data:image/svg+xml;base64,PHN2Zy8+": `<img src="data:image/svg&#43;xml;base64,PHN2Zy8&#43;" alt="Metro Cabs">`,
		"data:text/html;base64,PHN2Zy8+":     `<span class="badge" aria-hidden="true">M</span>`,
		"javascript:alert(1)":                `<span class="badge" aria-hidden="true">M</span>`,
		"http://cdn.metro.example/logo.svg":  `<span class="badge" aria-hidden="true">M</span>`,
	} {
		body, _, err := render(Frame{Brand: Brand{Name: "Metro Cabs", LogoURL: address}}, SignIn{})
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, %s", address, err, body)
		}
	}
}

// Whatever colours a tenant chose, text has a contrast of 4.5 and the parts of
// controls of 3 (WCAG 2.2, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	chosen := []string{"", "nonsense", "#000000", "#ffffff", "#FFFF00", "#777", "#767676", "#0a7", "#1e90ffcc", "#f0f",
		"#101217"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		chosen = append(chosen, fmt.Sprintf("#%06x", random.IntN(1<<24)))
	}
	value := regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{6})`)
	for _, color := range chosen {
		for _, p := range []palette{light, dark} {
			vars := map[string]Color{}
			for _, m := range value.FindAllStringSubmatch(Brand{Primary: color, Secondary: color,
				IconBackground: color}.colors(p), -1) {
				vars[m[1]], _ = ParseColor(m[2])
			}
			for _, pair := range []struct {
				front, back string
				ratio       float64
			}{
				{"ink", "ground", 7}, {"ink", "card", 7}, {"muted", "ground", 4.5}, {"muted", "card", 4.5}, {"edge", "card", 3},
				{"problem", "problem-ground", 4.5}, {"on-primary", "primary", 4.5}, {"primary-edge", "card", 3},
				{"link", "card", 4.5}, {"link", "ground", 4.5}, {"on-badge", "badge", 4.5},
			} {
				if got := Contrast(vars[pair.front], vars[pair.back]); got < pair.ratio {
					t.Errorf("%s in %s: %s on %s is %.2f, want %.1f", color, p.scheme, pair.front, pair.back, got, pair.ratio)
				}
			}
		}
	}
}

func TestTheme(t *testing.T) {
	for theme, want := range map[string][2]bool{"light": {true, false}, "dark": {false, true}, "system": {true, true},
		"": {true, true}, "DARK": {false, true}} {
		style := Brand{Theme: theme}.style()
		got := [2]bool{strings.Contains(style, "color-scheme:light"), strings.Contains(style, "color-scheme:dark")}
		if got != want {
			t.Errorf("%q: light and dark are %v, want %v", theme, got, want)
		}
	}
}

func TestContrastRatio(t *testing.T) {
	for _, c := range []struct {
		a, b Color
		want string
	}{{white, Color{}, "21.00"}, {white, white, "1.00"}, {Color{0x76, 0x76, 0x76}, white, "4.54"},
		{Color{255, 0, 0}, white, "4.00"}} {
		if got := fmt.Sprintf("%.2f", Contrast(c.a, c.b)); got != c.want {
			t.Errorf("%v on %v: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestFormSource(t *testing.T) {
	for address, want := range map[string]string{
		"https://App.example/cb?x=1":      "https://app.example",
		"https://app.example:8443/cb":     "https://app.example:8443",
		"http://127.0.0.1:51234/callback": "http://127.0.0.1:51234",
		"http://[::1]:51234/callback":     "http:",
		"com.example.app:/cb":             "com.example.app:",
		"com.example.app://cb":            "com.example.app:",
		"javascript:alert(1)":             "",
		"data:text/html,x":                "",
		"/relative":                       "",
		"https://a;b.example/":            "",
		"":                                "",
	} {
		if got := formSource(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func FuzzColors(f *testing.F) {
	f.Add("#0a7", "dark")
	f.Fuzz(func(t *testing.T, color, theme string) {
		style := Brand{Primary: color, Secondary: color, IconBackground: color, Theme: theme}.style()
		if strings.Contains(style, "<") {
			t.Errorf("%q came into the style", color)
		}
	})
}

// Support may be a web address, a mail address or a phone number. Nothing else
// becomes a link.
func TestBrandLinks(t *testing.T) {
	for address, want := range map[string]string{
		"mailto:help@metro.example": `href="mailto:help@metro.example"`,
		"tel:+1-212-555-0181":       `href="tel:&#43;1-212-555-0181"`,
		"http://metro.example/help": `href="http://metro.example/help"`, "javascript:alert(1)": "", "data:text/html,x": "",
		"vbscript:x": "", "//metro.example": "",
	} {
		b := brand
		b.SupportURL, b.TermsURL, b.PrivacyURL = address, "", ""
		body, _, err := render(Frame{Brand: b}, Message{Kind: "failed"})
		if err != nil || (want != "" && !strings.Contains(string(body), want)) ||
			(want == "" && strings.Contains(string(body), address)) {
			t.Errorf("%s: %v\n%s", address, err, body)
		}
	}
}

package oauth_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth"
	"svc/pkg/oauth/link"
)

var inputName = regexp.MustCompile(`<(?:input|button)[^>]* name="([a-z_]+)"(?:[^>]* value="([^"]*)")?`)

// hostile lists values that no form of a page sends; nil is a missing
// parameter.
var hostile = map[string][]string{
	"missing":                 nil,
	"empty":                   {""},
	"repeated":                {"a", "b"},
	"longer than a sort key":  {strings.Repeat("a", 1100)},
	"longer than a key":       {strings.Repeat("a", 3000)},
	"nearly the largest body": {strings.Repeat("a", 60_000)},
	"longest in bytes":        {strings.Repeat("é", 1500)},
	"folds to more":           {strings.Repeat("ﷺ", 200) + "@a.example"},
	"a long client's address": {"https://planner.example/" + strings.Repeat("a", 2500)},
	"not UTF-8":               {"\xff\xfe\xc3("},
	"NUL":                     {"a\x00b"},
	"a line break":            {"a\r\nX-Evil: b"},
	"a key's separator":       {"a#b#T#"},
	"markup":                  {`"><script>alert(1)</script>`},
	"format characters":       {"\u202e\u200b\ufeff"},
	"an array":                {"[]", `{"a":1}`},
}

// formPage is a page with a form, as a signed-in operator reaches it.
type formPage struct {
	name, method string
	open         func(t *testing.T, f *fixture, b *browser, c client) response
}

var formPages = []formPage{
	{"sign-in", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, c client) response {
		return b.authorize(authorization(c, "prompt", "login"))
	}},
	{"consent", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, c client) response {
		return b.signedIn(b.authorize(authorization(c, "prompt", "consent")))
	}},
	{"tenant", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, c client) response {
		return b.signedIn(b.authorize(authorization(c, "tenant_hint", "")))
	}},
	{"code of a device", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, _ client) response {
		return b.get("/oauth/device")
	}},
	{"consent to a device", http.MethodPost, func(_ *testing.T, f *fixture, b *browser, _ client) response {
		_, user := f.newDevice()
		return b.signedIn(b.typeCode(user))
	}},
	{"own sign-in", http.MethodPost, func(_ *testing.T, f *fixture, _ *browser, _ client) response {
		return f.newBrowser().get("/oauth/apps")
	}},
	{"connected applications", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, _ client) response {
		return b.signedIn(b.get("/oauth/apps"))
	}},
	{"sign-out", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, c client) response {
		b.signedIn(b.get("/oauth/apps"))
		return b.get("/oauth/logout?state=x&post_logout_redirect_uri=https://planner.example/bye&client_id=" + c.ID)
	}},
	{"forgotten password", http.MethodPost, func(_ *testing.T, _ *fixture, b *browser, _ client) response {
		return b.get("/oauth/forgot?audience=dashboard")
	}},
	{"new password", http.MethodPost, func(t *testing.T, f *fixture, b *browser, _ client) response {
		link, err := link.New(t.Context(), f.db, baseURL, authz.Dashboard, "", "ana@metro.example", f.now())
		testkit.Must(t, err)
		return b.get(link)
	}},
}

// signedIn signs Ana in when the page asks for it.
func (b *browser) signedIn(s response) response {
	b.t.Helper()
	if s.page() == "sign-in" {
		s = b.signIn(s, "ana@metro.example")
	}
	return s
}

// TestNoFormCausesA500 sends every form of every page with hostile values, as a
// signed-in person.
func TestNoFormCausesA500(t *testing.T) {
	t.Parallel()
	for _, p := range formPages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f, _ := newFixtureWithMail(t, func(c *oauth.Config) {
				c.Limits.SignIns, c.Limits.SignInsAnAccount, c.Limits.SignInsOfAnybody, c.Limits.Links = -1, -1, -1, -1
				c.Limits.SignUps, c.Limits.Devices = -1, -1
				c.Documents = newPublisher()
			})
			c, b := f.storeClient(nil), f.newBrowser()
			b.obtainCode(authorization(c), "ana@metro.example")
			sendHostileForms(t, p, func() (response, *browser) {
				s := p.open(t, f, b, c)
				return s, b
			})
		})
	}
}

func sendHostileForms(t *testing.T, p formPage, open func() (response, *browser)) {
	t.Helper()
	first, _ := open()
	form := fieldsOf(first)
	address, _ := first.form(t)
	at, err := url.Parse(address)
	testkit.Must(t, err)
	if len(form) < 2 {
		t.Fatalf("no fields on the page: %s", first.text())
	}
	for _, field := range slices.Sorted(maps.Keys(form)) {
		for name, values := range hostile {
			s, b := open()
			to, _ := s.form(t)
			changed := fieldsOf(s)
			changed[field] = values
			expectNo500(t, fmt.Sprintf("%s, %s in the form: %s", p.name, field, name), b.do(p.method, to, changed))
		}
	}
	for field := range at.Query() {
		for name, values := range hostile {
			s, b := open()
			to, _ := s.form(t)
			at, err := url.Parse(to)
			testkit.Must(t, err)
			q := at.Query()
			q[field] = values
			at.RawQuery = q.Encode()
			what := fmt.Sprintf("%s, %s in the address: %s", p.name, field, name)
			expectNo500(t, what, b.do(p.method, at.String(), fieldsOf(s)))
			expectNo500(t, what+", by GET", b.get(at.String()))
		}
	}
}

// fieldsOf returns the fields of a page's forms, filled in as a person would.
func fieldsOf(s response) url.Values {
	out := url.Values{}
	for _, m := range inputName.FindAllStringSubmatch(s.body, -1) {
		if value := m[2]; !out.Has(m[1]) {
			out.Set(m[1], value)
		}
	}
	for name, value := range map[string]string{"email": "ana@metro.example", "password": "another battery staple",
		"again": "yet another staple"} {
		if out.Has(name) {
			out.Set(name, value)
		}
	}
	return out
}

func expectNo500(t *testing.T, what string, s response) {
	t.Helper()
	if s.status >= http.StatusInternalServerError {
		t.Errorf("%s: %d %s", what, s.status, s.text())
	}
}

package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A browser gets a page at an unknown path, in its language. A program gets
// nothing from here, and neither does a browser at the API or the MCP server.
func TestMissing(t *testing.T) {
	const chromium = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	for _, test := range []struct {
		name, method, path, accept string
		want                       bool
	}{
		{"a browser", "GET", "/nothing", chromium, true},
		{"a browser, HEAD", "HEAD", "/nothing", chromium, true},
		{"below the pages", "GET", "/oauth/nothing?x=evil", chromium, true},
		{"much like the API", "GET", "/apis", chromium, true},
		{"much like the MCP server", "GET", "/mcp.html", chromium, true},
		{"no path", "GET", "//evil", chromium, true},
		{"in capitals", "GET", "/nothing", "Text/HTML", true},
		{"as well as JSON", "GET", "/nothing", "application/json, text/html", true},
		{"rather JSON", "GET", "/nothing", "application/json, text/html;q=0.9", false},
		{"no HTML", "GET", "/nothing", "text/html;q=0, */*", false},
		{"a form", "POST", "/nothing", chromium, false},
		{"the API", "GET", "/api/v1/nothing", chromium, false},
		{"the API's root", "GET", "/api", chromium, false},
		{"the MCP server", "GET", "/mcp/nothing", chromium, false},
		{"curl", "GET", "/nothing", "*/*", false},
		{"fetch", "GET", "/nothing", "application/json", false},
		{"nothing", "GET", "/nothing", "", false},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(test.method, "https://svc.example"+test.path, http.NoBody)
		r.Header.Set("Accept", test.accept)
		r.Header.Set("Accept-Language", "ar, evil")
		got := ShowMissing(rec, r, "https://svc.example/stage")
		body := rec.Body.String()
		if got != test.want || !got && (body != "" || len(rec.Header()) > 0) {
			t.Errorf("%s: %v, %s", test.name, got, body)
			continue
		}
		if !got {
			continue
		}
		if rec.Code != http.StatusNotFound || (body == "") != (test.method == "HEAD") || strings.Contains(body, "evil") ||
			rec.Header().Get("Content-Language") != "ar" ||
			!strings.Contains(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
			!strings.Contains(strings.Join(rec.Header().Values("Vary"), ", "), "Accept, Accept-Language") {
			t.Errorf("%s: %d %v\n%s", test.name, rec.Code, rec.Header(), body)
		}
		if body != "" && (!strings.Contains(body, `<html lang="ar" dir="rtl">`) ||
			!strings.Contains(body, `href="https://svc.example/stage/oauth/apps?ui_locales=ar"`)) {
			t.Errorf("%s: %s", test.name, body)
		}
	}
}

// The page for an unknown path has every text and no placeholder, in each language.
func TestMissingInEveryLanguage(t *testing.T) {
	for _, lang := range langs() {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/nothing?ui_locales="+string(lang), http.NoBody)
		r.Header.Set("Accept", "text/html")
		ShowMissing(rec, r, "https://svc.example")
		for _, rest := range []string{"LANG", "DIR", "STYLE", "TITLE", "TEXT", "SIGNIN", "LABEL", "<h1></h1>"} {
			if strings.Contains(rec.Body.String(), rest) {
				t.Errorf("%s: %q in %s", lang, rest, rec.Body)
			}
		}
	}
}

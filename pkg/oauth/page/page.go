package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"unicode"
)

//go:embed templates
var files embed.FS

// Brand is what a tenant chose for its pages. Any of it may be empty and any
// colour may be anything.
type Brand struct {
	Name           string // what the company calls itself
	Primary        string // colours, #rrggbb
	Secondary      string
	IconBackground string
	Theme          string // "light", "dark"; anything else follows the browser
	LogoURL        string
	FaviconURL     string
	SupportURL     string
	TermsURL       string
	PrivacyURL     string
}

// Frame is what every page has around its content.
type Frame struct {
	Lang  Lang
	Brand Brand
	// FormTo lists where the answer to one of the page's forms may redirect,
	// beside the page's own origin: addresses, of which the origin is taken.
	// Chromium and Safari hold the policy's form-action against redirects too,
	// the further ones included.
	FormTo []string
}

// Content is what one kind of page shows.
type Content interface{ template() string }

// view is what a template sees: C is the Content.
type view struct {
	Frame
	C     any
	Style template.CSS
}

// T gives the text of a key in the page's language.
func (v view) T(key string, args ...any) (string, error) { return v.Lang.text(key, args...) }

// Scope describes a scope of the catalog in the page's language.
func (v view) Scope(scope string) string { return v.Lang.scope(scope) }

// Initial is the first letter of the company's name, for where it has no logo.
func (v view) Initial() string {
	for _, r := range v.Brand.Name {
		return string(unicode.ToUpper(r))
	}
	return ""
}

// Secure says whether an address may be loaded or linked: https only.
func (v view) Secure(address string) bool {
	return strings.HasPrefix(strings.ToLower(address), "https://")
}

var templates = parse("signin", "forgot", "picker", "consent", "apps", "logout", "password", "message")

func parse(names ...string) map[string]*template.Template {
	out := map[string]*template.Template{}
	for _, name := range names {
		out[name] = template.Must(template.ParseFS(files, "templates/layout.html", "templates/"+name+".html"))
	}
	return out
}

// Write sends the page with its headers: never kept by a cache, never framed,
// nothing loaded but style and logo, no referrer.
func Write(w http.ResponseWriter, status int, f Frame, c Content) error {
	body, policy, err := render(f, c)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(f.Lang))
	h.Set("Content-Security-Policy", policy)
	Guard(h)
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// Guard sets the headers that pages and the redirects between them share.
func Guard(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Add("Vary", "Accept-Language, Cookie")
}

func render(f Frame, c Content) (body []byte, policy string, err error) {
	if f.Lang == "" {
		f.Lang = English
	}
	style := f.Brand.style()
	v := view{Frame: f, C: c, Style: template.CSS(style)} //nolint:gosec // colours are parsed and written anew, the rest is ours
	var out bytes.Buffer
	if err := templates[c.template()].ExecuteTemplate(&out, "layout.html", v); err != nil {
		return nil, "", fmt.Errorf("page %s: %w", c.template(), err)
	}
	sum := sha256.Sum256([]byte(style))
	policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src https: data:; " +
		"base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	for _, address := range f.FormTo {
		if source := formSource(address); source != "" {
			policy += " " + source
		}
	}
	return out.Bytes(), policy, nil
}

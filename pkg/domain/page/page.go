package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"svc/pkg/domain/branding"
)

//go:embed templates
var files embed.FS

// Brand is the branding that a tenant chose for its pages. Every field may be
// empty, and a colour may be any text.
type Brand struct {
	Name           string // the company's own name
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

// Frame is what surrounds the content of every page.
type Frame struct {
	Lang  Lang
	Brand Brand
	// FormTo lists the addresses, besides the page's own origin, to which the
	// response to one of the page's forms may redirect. The policy contains only
	// their origins or schemes. Chromium and Safari also apply the policy's
	// form-action to redirects, including all further ones.
	FormTo []string
}

// Content is the content of one kind of page.
type Content interface{ template() string }

// view is the data of a page's template. Its field C contains the Content.
type view struct {
	Frame
	C      any
	Style  template.CSS
	Policy string // of a Paper, which people save as a file, without its headers
}

// T translates: it returns the text that the key names, in the page's language.
func (v view) T(key string, args ...any) (string, error) { return v.Lang.textOf(key, args...) }

// Problem returns the text of a form's problem. That of a missing cookie is the
// same for every form.
func (v view) Problem(form, problem string) (string, error) {
	if problem == "cookies" {
		return v.T(problem)
	}
	return v.T(form + "." + problem)
}

// Scope returns the description of a catalog scope in the page's language.
func (v view) Scope(scope string) string { return v.Lang.scope(scope) }

// Initial returns the first letter of the company's name. Pages show it if the
// company has no logo.
func (v view) Initial() string {
	for _, r := range v.Brand.Name {
		return string(unicode.ToUpper(r))
	}
	return ""
}

// Secure reports whether an address may be linked: https only.
func (v view) Secure(address string) bool {
	return strings.HasPrefix(strings.ToLower(address), "https://")
}

// Image returns the address if it is https or a data URI of an image, else "".
// Without Image, html/template would reject a data URI.
func (v view) Image(address string) template.URL {
	if !v.Secure(address) && !branding.IsDataImage(address) {
		return ""
	}
	return template.URL(address) //nolint:gosec // only of the forms above; the template escapes the rest
}

// Link returns the address if its scheme is https, http, mailto or tel, else "".
// Without Link, html/template would reject telephone numbers.
func (v view) Link(address string) template.URL {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains([]string{"https", "http", "mailto", "tel"}, u.Scheme) {
		return ""
	}
	return template.URL(address) //nolint:gosec // only of the schemes above; the template escapes the rest
}

// templates parses the templates when the first page is shown, because most
// functions show none.
var templates = sync.OnceValue(func() map[string]*template.Template {
	out := map[string]*template.Template{}
	for _, name := range []string{"signin", "forgot", "mailed", "company", "audience", "picker", "consent", "apps",
		"logout", "password", "terms", "device", "message", "formpost", "receipt", "statement"} {
		out[name] = template.Must(template.ParseFS(files, "templates/layout.html", "templates/"+name+".html"))
	}
	return out
})

// Write sends the page with its headers. They forbid framing, scripts and a referrer.
// They forbid caching too, except of the pages that restorable names. The page may load
// only its style and images. Only a FormPost may run a script, which is the same for all.
// The form of a Back may lead anywhere: browsers would apply form-action to the client's
// redirects too.
func Write(w http.ResponseWriter, status int, f Frame, c Content) error {
	body, policy, err := render(f, c)
	if err != nil {
		return err
	}
	caching := "no-store"
	if browserMayKeep(c) {
		caching = "private, no-cache"
	}
	setHeader(w.Header(), f.Lang, policy, caching)
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// browserMayKeep reports whether the page is the response to a posted form and has
// links to other pages. If the browser did not keep it, the way back to it would
// end at the browser's own error, because a form is not posted again unasked. Such
// a page contains nothing but what the person typed, which the form has too.
func browserMayKeep(c Content) bool {
	switch c := c.(type) {
	case SignIn:
		return c.Problem != ""
	case Forgot:
		return c.Problem != ""
	case Mailed:
		return true
	}
	return false
}

func setHeader(h http.Header, lang Lang, policy, caching string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(lang))
	h.Set("Content-Security-Policy", policy)
	Guard(h)
	h.Set("Cache-Control", caching)
}

// policyOf returns the part of a page's policy that is the same for all pages.
func policyOf(style string) string {
	return "default-src 'none'; style-src '" + sourceHash(style) + "'; img-src https: data:; " +
		"base-uri 'none'; frame-ancestors 'none'; "
}

// Guard sets the headers that pages and the redirects between them share.
func Guard(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin") // loses window.opener, so clients must redirect
	h.Add("Vary", "Accept-Language, Cookie")
}

// submitScript is the script of a FormPost.
const submitScript = "document.forms[0].submit()"

func sourceHash(inline string) string {
	sum := sha256.Sum256([]byte(inline))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func render(f Frame, c Content) (body []byte, policy string, err error) {
	if f.Lang == "" {
		f.Lang = English
	}
	style := f.Brand.style()
	v := view{Frame: f, C: c}
	if _, prints := c.(Paper); prints {
		style += f.Brand.paperStyle()
		v.Policy, v.Brand.FaviconURL = policyOf(style)+"form-action 'none'", ""
	}
	v.Style = template.CSS(style) //nolint:gosec // colours are parsed and written anew, the rest is ours
	var out bytes.Buffer
	if err := templates()[c.template()].ExecuteTemplate(&out, "layout.html", v); err != nil {
		return nil, "", fmt.Errorf("page %s: %w", c.template(), err)
	}
	if v.Policy != "" {
		return out.Bytes(), v.Policy, nil
	}
	policy = policyOf(style)
	switch c := c.(type) {
	case FormPost:
		return out.Bytes(), policy + "script-src '" + sourceHash(submitScript) + "'", nil
	case Message:
		if len(c.Back.Fields) > 0 {
			return out.Bytes(), policy, nil
		}
	}
	policy += "form-action 'self'"
	for _, address := range f.FormTo {
		if source := formSource(address); source != "" {
			policy += " " + source
		}
	}
	return out.Bytes(), policy, nil
}

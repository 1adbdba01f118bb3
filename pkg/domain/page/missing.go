package page

import (
	_ "embed"
	"html"
	"net/http"
	"net/url"
	"strings"
)

//go:embed missing.html
var missing string

// ShowMissing sends a 404 page to a browser. It reports false, and writes nothing, for a
// program and for a path of the API or of the MCP server. baseURL is the service's public
// address. The page repeats nothing of the request. ShowMissing does not use html/template,
// which would make the Lambda function for unknown paths half as large again.
func ShowMissing(w http.ResponseWriter, r *http.Request, baseURL string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if top == "api" || top == "mcp" || !acceptsHTML(r.Header.Get("Accept")) ||
		r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	lang, style := Choose(r.URL.Query().Get("ui_locales"), r.Header.Get("Accept-Language")), Brand{}.style()
	texts := languages[lang]()
	signIn := baseURL + "/oauth/apps?" + url.Values{"ui_locales": {string(lang)}}.Encode()
	body := strings.NewReplacer("LANG", string(lang), "DIR", texts["dir"], "STYLE", style,
		"TITLE", html.EscapeString(texts["message.missing.title"]),
		"TEXT", html.EscapeString(texts["message.missing.text"]),
		"SIGNIN", html.EscapeString(signIn), "LABEL", html.EscapeString(texts["signin.title"])).Replace(missing)
	w.Header().Add("Vary", "Accept")
	setHeader(w.Header(), lang, policyOf(style)+"form-action 'none'", "no-store")
	w.WriteHeader(http.StatusNotFound)
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(body)) //nolint:gosec // nothing of the request is in it, only the language by its name
	}
	return true
}

// acceptsHTML reports whether an Accept header (RFC 9110 section 12.5.1) names HTML, as a
// browser's does, and does not prefer JSON.
func acceptsHTML(accept string) bool {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, _ := strings.Cut(part, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
		weights[kind] = max(weights[kind], quality(params))
	}
	return weights["text/html"] > 0 && weights["text/html"] >= weights["application/json"]
}

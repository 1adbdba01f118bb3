package published

import (
	"embed"
	"net/http"
	"path"
	"strings"
)

// console holds the operators' console. `make console` builds it from the folder
// console and compresses each file.
//
//go:embed console
var console embed.FS

// consolePath is the path below which the console is served.
const consolePath = "/console/"

// Tiles returns the origin of a company's map. It returns "" if the company has none or
// does not exist, or if the person in the request's browser is not one of the company's
// operators. Otherwise anybody could link to the console with another company's name and
// make its page contact that company's origin.
type Tiles func(r *http.Request, tenant string) string

// consolePolicy returns the console's Content-Security-Policy. It allows the console's own
// files, this service, and the origin of the map (tiles), which may be "".
func consolePolicy(tiles string) string {
	from := strings.TrimSuffix("'self' "+tiles, " ")
	return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src " + from + "; img-src " + from +
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

// kinds are the media types of the console's files.
var kinds = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".md": "text/plain; charset=utf-8"}

// readConsole returns the console's files by path. Its page is at consolePath.
func readConsole() map[string]file {
	out := map[string]file{}
	entries, _ := console.ReadDir("console") // the embedded folder exists
	for _, e := range entries {
		name, compressed := strings.CutSuffix(e.Name(), ".gz")
		if !compressed {
			continue
		}
		body, _ := console.ReadFile("console/" + e.Name())
		at := consolePath + strings.TrimSuffix(name, "index.html")
		out[at] = file{kinds[path.Ext(name)], body, true}
	}
	return out
}

// sendConsole serves a file of the console. The page and the worker script of the map have
// a policy that allows the map of the company in the query. So they are not cached.
func (h *Handler) sendConsole(w http.ResponseWriter, r *http.Request, f file) {
	tenant := r.URL.Query().Get("tenant")
	if strings.HasSuffix(r.URL.EscapedPath(), "/") || tenant != "" {
		tiles := ""
		if tenant != "" && h.tiles != nil {
			tiles = h.tiles(r, tenant)
		}
		w.Header().Set("Content-Security-Policy", consolePolicy(tiles))
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Referrer-Policy", "no-referrer")
		f.sendCached(w, r, "no-store")
		return
	}
	if strings.HasSuffix(r.URL.Path, ".md") { // its name has no hash: each build has the same
		f.sendCached(w, r, "no-cache")
		return
	}
	f.send(w, r)
}

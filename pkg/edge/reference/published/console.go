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

// consolePolicy lets the console load its own files and call its own service, and
// nothing else.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

var kinds = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".md": "text/plain; charset=utf-8"}

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

// sendConsole serves a file of the console. Only the page changes under its name.
func sendConsole(w http.ResponseWriter, r *http.Request, f file) {
	if strings.HasSuffix(r.URL.EscapedPath(), "/") {
		w.Header().Set("Content-Security-Policy", consolePolicy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Referrer-Policy", "no-referrer")
		f.sendCached(w, r, "no-store")
		return
	}
	f.send(w, r)
}

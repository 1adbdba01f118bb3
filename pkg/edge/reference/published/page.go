package published

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
)

// assets holds the reference page. `make reference-page` copies the page's
// script (Scalar) from npm, compressed, under a name that contains its hash.
//
//go:embed assets
var assets embed.FS

// pagePolicy lets the reference page load nothing but its own files and call nothing but
// its own service. The page's script inserts style sheets, which have the nonce, and style
// attributes, which cannot have one.
const pagePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; style-src 'self' 'nonce-NONCE'; style-src-attr 'unsafe-inline'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// file is one file of the reference page or of the console. The URL of a script or style
// sheet contains the hash of its content, so the content at the URL never changes.
type file struct {
	kind string // media type
	body []byte
	gzip bool // the body is compressed
}

// readPage returns the reference page, and its files by path.
func readPage() ([]byte, map[string]file) {
	files, names := map[string]file{}, []string{}
	entries, _ := assets.ReadDir("assets") // the embedded folder exists
	for _, e := range entries {
		body, _ := assets.ReadFile("assets/" + e.Name())
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".js.gz"): // its name has the hash already
			names = append(names, "SCALAR", strings.TrimSuffix(name, ".gz"))
			files["/docs/"+strings.TrimSuffix(name, ".gz")] = file{"text/javascript; charset=utf-8", body, true}
		case name == "docs.js", name == "docs.css":
			kind := map[string]string{"docs.js": "text/javascript", "docs.css": "text/css"}[name]
			sum := sha256.Sum256(body)
			hashed := "docs-" + hex.EncodeToString(sum[:8]) + strings.TrimPrefix(name, "docs")
			names = append(names, "DOCS"+strings.TrimPrefix(name, "docs"), hashed)
			files["/docs/"+hashed] = file{kind + "; charset=utf-8", body, false}
		}
	}
	page, _ := assets.ReadFile("assets/docs.html")
	return []byte(strings.NewReplacer(names...).Replace(string(page))), files
}

// sendPage serves the reference page with a new nonce. The page has the same opener
// policy as the pages of /oauth. With another policy the page would lose its
// link to the window that *Authorize* opens.
func sendPage(w http.ResponseWriter, r *http.Request, page []byte) {
	nonce := rand.Text()
	w.Header().Set("Content-Security-Policy", strings.Replace(pagePolicy, "NONCE", nonce, 1))
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	w.Header().Set("Referrer-Policy", "no-referrer")
	sendCached(w, r, "text/html; charset=utf-8", "no-store", bytes.Replace(page, []byte("NONCE"), []byte(nonce), 1))
}

// send serves a file that never changes.
func (f file) send(w http.ResponseWriter, r *http.Request) {
	f.sendCached(w, r, "public, max-age=31536000, immutable")
}

// sendCached serves a file with the Cache-Control caching. A client that does not accept
// gzip gets the file decompressed.
func (f file) sendCached(w http.ResponseWriter, r *http.Request, caching string) {
	body := f.body
	if f.gzip {
		w.Header().Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
		} else if unzipped, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(unzipped) // a test reads it to the end
		}
	}
	sendCached(w, r, f.kind, caching, body)
}

// sendDocument serves the OpenAPI document, which is a tenth of its size when compressed.
func (h *Handler) sendDocument(w http.ResponseWriter, r *http.Request) {
	body := h.document
	w.Header().Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		body = h.zipped()
	}
	send(w, r, "application/json", body)
}

// zip compresses a body with gzip.
func zip(body []byte) []byte {
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	_, _ = to.Write(body) // a buffer cannot fail
	_ = to.Close()
	return out.Bytes()
}

// acceptsGzip reports whether the header Accept-Encoding names gzip with a
// weight above zero (RFC 9110, section 12.5.3).
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		_, q, _ := strings.Cut(weight, "=")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.Trim(q, " \t0.") != "" || strings.TrimSpace(q) == ""
		}
	}
	return false
}

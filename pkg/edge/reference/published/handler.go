package published

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// canonical is the service's address in the repository's copy of the OpenAPI document. New
// replaces it by the address of this deployment.
const canonical = "https://api.svc.example"

// Handler serves the OpenAPI document, the reference page with its files and icon, the
// guides, the console, /health and /health/live. It responds to every other request with
// 404 or 405.
type Handler struct {
	baseURL  string
	document []byte
	zipped   func() []byte              // the document, compressed
	page     []byte                     // the reference page
	files    map[string]file            // the page's files by path
	guides   map[string]func() []byte   // the guides by path
	console  map[string]file            // the console's files by path
	paths    func() map[string][]string // methods by path template
	missing  Missing
	tiles    Tiles

	challenge string // WWW-Authenticate of a 401
}

// Missing may answer a request for a path that does not exist, for example with a
// page for a person. It reports whether it did.
type Missing func(w http.ResponseWriter, r *http.Request, baseURL string) bool

// New returns the handler of the service at baseURL, which has no trailing slash.
// missing and tiles may be nil.
func New(baseURL string, missing Missing, tiles Tiles) *Handler {
	address, _ := json.Marshal(baseURL) // marshaling a string cannot fail
	page, files := readPage()
	resource := authz.Resource{Path: authz.API}.Metadata(baseURL)
	document := bytes.ReplaceAll(bytes.TrimSuffix(svc.OpenAPI, []byte("\n")), []byte(canonical), bytes.Trim(address, `"`))
	return &Handler{baseURL: baseURL, page: page, files: files, guides: guides(baseURL, styleOf(files)),
		console: readConsole(), paths: sync.OnceValue(paths), missing: missing, tiles: tiles,
		challenge: fmt.Sprintf("Bearer resource_metadata=%q", resource),
		document:  document, zipped: sync.OnceValue(func() []byte { return zip(document) })}
}

// paths returns the methods of each path template of the document. Handler needs them only
// to choose between 404 and 405.
func paths() map[string][]string {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(svc.OpenAPI, &doc); err != nil {
		panic(fmt.Sprintf("docs/openapi.json: %v", err)) // a test reads the same file
	}
	out := map[string][]string{}
	for path, item := range doc.Paths {
		for method := range item {
			out[path] = append(out[path], strings.ToUpper(method))
			if method == "get" {
				out[path] = append(out[path], http.MethodHead)
			}
		}
		slices.Sort(out[path])
	}
	return out
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(gateway.RequestHeader, gateway.RequestID(r, time.Now()))
	path := r.URL.EscapedPath()
	methods := h.methods(path)
	switch {
	case methods == nil && strings.HasPrefix(path, "/api/v1/") && !hasToken(r):
		w.Header().Set("WWW-Authenticate", h.challenge)
		api.WriteError(w, fault.Unauthorized("The request needs an access token.", false))
		return
	case methods == nil && h.missing != nil && h.missing(w, r, h.baseURL):
		return
	case methods == nil:
		api.WriteError(w, fault.NotFound())
		return
	case !slices.Contains(methods, r.Method):
		api.WriteError(w, &fault.Error{Kind: fault.KindMethod, Allow: strings.Join(methods, ", "),
			Message: "The resource does not support this method."})
		return
	}
	switch path {
	case "/openapi.json":
		w.Header().Set("Access-Control-Allow-Origin", "*")
		h.sendDocument(w, r)
	case "/health", "/health/live":
		sendCached(w, r, "application/json", "no-store", []byte(`{"status":"ok"}`))
	case "/favicon.ico":
		icon, _ := assets.ReadFile("assets/icon.svg")
		send(w, r, "image/svg+xml", icon)
	case "/console":
		http.Redirect(w, r, consolePath, http.StatusPermanentRedirect)
	case "/", "/docs", "/docs/":
		sendPage(w, r, h.page)
	default:
		if f, ok := h.files[path]; ok {
			f.send(w, r)
			return
		}
		if guide, ok := h.guides[path]; ok {
			sendGuide(w, r, guide())
			return
		}
		if f, ok := h.console[path]; ok {
			h.sendConsole(w, r, f)
			return
		}
		api.WriteError(w, fault.NotFound()) // a path that another function serves
	}
}

// hasToken reports whether the request has an access token. This function cannot
// verify it, so a request with any token gets the 404 of an unknown path.
func hasToken(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && token != ""
}

// own reports whether this handler serves the path.
func (h *Handler) own(path string) bool {
	_, isFile := h.files[path]
	_, isConsole := h.console[path]
	return isFile || isConsole || h.guides[path] != nil || slices.Contains([]string{"/", "/docs", "/docs/", "/console",
		"/openapi.json", "/health", "/health/live", "/favicon.ico"}, path)
}

// send writes a response that clients may cache for five minutes.
func send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	sendCached(w, r, kind, "public, max-age=300", body)
}

// sendCached writes a response. kind is its media type, and caching its Cache-Control.
func sendCached(w http.ResponseWriter, r *http.Request, kind, caching string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", caching)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// methods returns the methods of the path, nil if no endpoint has the path.
func (h *Handler) methods(path string) []string {
	if h.own(path) {
		return []string{http.MethodGet, http.MethodHead}
	}
	if methods, ok := h.paths()[path]; ok {
		return methods
	}
	asked := strings.Split(path, "/")
	for template, methods := range h.paths() {
		segments := strings.Split(template, "/")
		if len(segments) == len(asked) && slices.EqualFunc(segments, asked, func(s, a string) bool {
			return s == a || (strings.HasPrefix(s, "{") && a != "")
		}) {
			return methods
		}
	}
	return nil
}

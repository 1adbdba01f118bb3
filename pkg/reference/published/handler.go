package published

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"svc"
	"svc/pkg/api"
	"svc/pkg/fault"
	"svc/pkg/ids"
)

//go:embed page.html
var page []byte

// canonical is the address that the document in the repository is made for.
const canonical = "https://api.svc.example"

// Handler serves the document, the page and health, and answers every other
// request 404 or 405.
type Handler struct {
	baseURL  string
	document []byte
	paths    func() map[string][]string // methods by path template
}

// New makes the handler of the service at baseURL, without a closing slash.
func New(baseURL string) *Handler {
	address, _ := json.Marshal(baseURL) // a string can be marshaled
	return &Handler{baseURL: baseURL, paths: sync.OnceValue(paths),
		document: bytes.ReplaceAll(bytes.TrimSuffix(svc.OpenAPI, []byte("\n")), []byte(canonical), bytes.Trim(address, `"`))}
}

// paths reads what endpoints there are out of the document. Only a request for something else needs it.
func paths() map[string][]string {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(svc.OpenAPI, &doc); err != nil {
		panic(fmt.Sprintf("docs/openapi.json: %v", err)) // a test reads the very same file
	}
	out := map[string][]string{}
	for path, item := range doc.Paths {
		for method := range item {
			out[path] = append(out[path], strings.ToUpper(method))
		}
		slices.Sort(out[path])
	}
	return out
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := api.RequestID(r)
	if !ok {
		id = ids.Secret()[:22]
	}
	w.Header().Set("X-Request-Id", id)
	path := r.URL.EscapedPath()
	methods := h.methods(path)
	switch {
	case methods == nil:
		api.WriteError(w, fault.NotFound(), h.baseURL)
		return
	case !slices.Contains(methods, r.Method) && (r.Method != http.MethodHead || !own(path)):
		api.WriteError(w, &fault.Error{Code: fault.CodeMethod, Allow: strings.Join(methods, ", "), Message: "This resource does not take the method."}, h.baseURL)
		return
	}
	switch path {
	case "/openapi.json":
		w.Header().Set("Access-Control-Allow-Origin", "*")
		send(w, r, "application/json", h.document)
	case "/health":
		send(w, r, "application/json", []byte(`{"status":"ok"}`))
	case "/", "/docs":
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		send(w, r, "text/html; charset=utf-8", page)
	default:
		api.WriteError(w, fault.NotFound(), h.baseURL) // another function's, and not routed to it
	}
}

// own says whether the path is the handler's, which has HEAD beside GET.
func own(path string) bool {
	return path == "/" || path == "/docs" || path == "/openapi.json" || path == "/health"
}

func send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// methods gives the methods of the path, nil when no endpoint has it.
func (h *Handler) methods(path string) []string {
	if own(path) {
		return []string{http.MethodGet}
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

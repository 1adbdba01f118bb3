package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/api"
	"svc/pkg/fault"
	"svc/pkg/ids"
)

func statusText(status int) string { return strconv.Itoa(status) }

//go:embed page.html
var pages embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"prose": prose}).ParseFS(pages, "page.html"))

// Handler serves the document, the page and health, and answers every other
// request 404 or 405.
type Handler struct {
	baseURL  string
	document []byte
	page     []byte
	paths    map[string][]string // methods by path template
}

// New makes the handler of a finished document.
func New(baseURL string, doc *huma.OpenAPI, document []byte) (*Handler, error) {
	h := &Handler{baseURL: baseURL, document: document, paths: map[string][]string{"/": {"GET"}, "/openapi.json": {"GET"}, "/docs": {"GET"}, "/health": {"GET"}}}
	for path, item := range doc.Paths {
		for _, op := range operations(item) {
			h.paths[path] = append(h.paths[path], op.Method)
		}
		slices.Sort(h.paths[path])
	}
	var buf bytes.Buffer
	if err := page.Execute(&buf, view(doc)); err != nil {
		return nil, fmt.Errorf("reference page: %w", err)
	}
	h.page = buf.Bytes()
	return h, nil
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
		send(w, r, "text/html; charset=utf-8", h.page)
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
	if methods, ok := h.paths[path]; ok {
		return methods
	}
	asked := strings.Split(path, "/")
	for template, methods := range h.paths {
		segments := strings.Split(template, "/")
		if len(segments) == len(asked) && slices.EqualFunc(segments, asked, func(s, a string) bool {
			return s == a || (strings.HasPrefix(s, "{") && a != "")
		}) {
			return methods
		}
	}
	return nil
}

// Examples reads recorded answers, by operation id.
func Examples(raw []byte) (map[string]json.RawMessage, error) {
	examples := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return examples, nil
	}
	if err := json.Unmarshal(raw, &examples); err != nil {
		return nil, fmt.Errorf("examples: %w", err)
	}
	return examples, nil
}

package published_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc/pkg/edge/reference/published"
)

// get returns the console's file as a browser gets it.
func get(h *published.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestConsolePolicy: the page and the map's worker may load the map from the company's origin. Any other page may load
// nothing from elsewhere.
func TestConsolePolicy(t *testing.T) {
	h := published.New("https://api.fleet.example", nil, func(_ *http.Request, tenant string) string {
		return map[string]string{"tnt_a": "https://tiles.example:8443"}[tenant]
	})
	const none = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	own := strings.NewReplacer("connect-src 'self'", "connect-src 'self' https://tiles.example:8443",
		"img-src 'self'", "img-src 'self' https://tiles.example:8443").Replace(none)
	_, worker := files(t, h)
	for path, want := range map[string]string{"/console/": none, "/console/?tenant=": none, "/console/?tenant=tnt_b": none,
		"/console/?tenant=tnt_a": own, "/console/?map=https://tiles.example:8443": none, worker + "?tenant=tnt_a": own,
		worker + "?tenant=tnt_b": none} {
		w := get(h, path)
		if got := w.Header().Get("Content-Security-Policy"); w.Code != 200 || got != want {
			t.Errorf("%s: %d %s", path, w.Code, got)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s is cached", path)
		}
	}
}

// TestOnlyHashedFilesNeverChange: a browser keeps a file of the console for a year only if its name has a hash.
func TestOnlyHashedFilesNeverChange(t *testing.T) {
	h := published.New("https://api.fleet.example", nil, nil)
	files, err := filepath.Glob("console/*.gz")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	hash := regexp.MustCompile(`-[\w-]{8}\.\w+$`)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gz")
		if name == "index.html" {
			name = ""
		}
		w := get(h, "/console/"+name)
		cached := w.Header().Get("Cache-Control")
		if kept := strings.Contains(cached, "immutable"); w.Code != 200 || kept != hash.MatchString(name) {
			t.Errorf("%q: %d, %s", name, w.Code, cached)
		}
	}
}

// TestConsoleSize: without the map of a company the console stays small, and with it too.
func TestConsoleSize(t *testing.T) {
	h := published.New("https://api.fleet.example", nil, nil)
	at, worker := files(t, h)
	size := func(path string) int {
		w := get(h, path)
		if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, %s", path, w.Code, w.Header())
		}
		return w.Body.Len()
	}
	total := size("/console/")
	for _, path := range at["page"] {
		total += size(path)
	}
	if total > 400<<10 {
		t.Errorf("%d bytes without a map", total)
	}
	for _, path := range at["later"] {
		total += size(path)
	}
	if total += size(worker); total > 900<<10 || total < 200<<10 {
		t.Errorf("%d bytes with a map", total)
	}
	t.Log(total, "bytes with a map")
}

// files returns the console's files that its page names and that a script names, and the map's worker.
func files(t *testing.T, h *published.Handler) (at map[string][]string, worker string) {
	t.Helper()
	text := func(path string) string {
		unzipped, err := gzip.NewReader(get(h, path).Body)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(unzipped)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	at = map[string][]string{"page": regexp.MustCompile(`/console/[\w-]+\.(?:js|css)`).FindAllString(text("/console/"), -1)}
	for _, path := range at["page"] {
		if strings.HasSuffix(path, ".js") {
			for _, name := range regexp.MustCompile(`\./(tiles-[\w-]+\.js)`).FindStringSubmatch(text(path))[1:] {
				at["later"] = append(at["later"], "/console/"+name)
			}
		}
	}
	if len(at["page"]) != 2 || len(at["later"]) != 1 {
		t.Fatalf("files %v", at)
	}
	worker = regexp.MustCompile(`/console/maplibre-gl-worker-[\w-]+\.mjs`).FindString(text(at["later"][0]))
	return at, worker
}

package published_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"svc/pkg/edge/reference/published"
)

var (
	targets = regexp.MustCompile(`href="([^"]+)"`)
	anchors = regexp.MustCompile(` id="([^"]+)"`)
)

// Every guide is a page whose links lead somewhere: to a page of this handler, with
// the named heading, or to another site. The service's own address is in the text.
func TestGuides(t *testing.T) {
	t.Parallel()
	h := published.New("https://api.fleet.example", nil, nil)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	menu := targets.FindAllStringSubmatch(get("/docs").Body.String(), -1)
	guides := 0
	for _, m := range menu {
		if !strings.HasPrefix(m[1], "/docs/guides/") {
			continue
		}
		guides++
		res := get(m[1])
		page := res.Body.String()
		if res.Code != http.StatusOK || !strings.Contains(page, "<h1") || strings.Contains(page, "127.0.0.1:8080") {
			t.Errorf("%s: %d, without heading or with a laptop's address", m[1], res.Code)
		}
		if policy := res.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(page, "<script") {
			t.Errorf("%s has a script or no policy: %s", m[1], policy)
		}
		for _, link := range targets.FindAllStringSubmatch(page, -1) {
			file, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			target := page
			if file != "" {
				answer := get(file)
				if target = answer.Body.String(); answer.Code != http.StatusOK {
					t.Errorf("%s links to %s: %d", m[1], link[1], answer.Code)
				}
			}
			named := anchor == ""
			for _, id := range anchors.FindAllStringSubmatch(target, -1) {
				named = named || id[1] == anchor
			}
			if !named {
				t.Errorf("%s links to %s, which has no such heading", m[1], link[1])
			}
		}
	}
	nav, _, _ := strings.Cut(get("/docs/guides/tutorial").Body.String(), "</nav>")
	if all := strings.Count(nav, `<a href="/docs/guides/`); guides != all {
		t.Errorf("the reference links to %d guides of %d", guides, all)
	}
	if got := get("/docs/guides/decisions").Code; got != http.StatusNotFound {
		t.Errorf("a document that is no guide: %d", got)
	}
}

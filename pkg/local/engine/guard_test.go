package engine_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/pkg/local/engine"
)

func TestGuardRefusesWebPages(t *testing.T) {
	served := 0
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = io.Copy(w, r.Body)
	}))
	defer behind.Close()
	guard, err := engine.Guard(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(guard)
	defer front.Close()
	for name, tc := range map[string]struct {
		header, value, host string
		want                int
	}{
		"a program":                      {"", "", "", http.StatusOK},
		"a program by name":              {"", "", "localhost:80", http.StatusOK},
		"a container":                    {"", "", "172.17.0.1:8000", http.StatusOK},
		"a page of another origin":       {"Origin", "https://evil.example", "", http.StatusForbidden},
		"a page without an origin":       {"Origin", "null", "", http.StatusForbidden},
		"a page that sends no Origin":    {"Sec-Fetch-Site", "same-origin", "", http.StatusForbidden},
		"a name that leads here":         {"", "", "evil.example", http.StatusForbidden},
		"a name that leads here, ported": {"", "", "evil.example:80", http.StatusForbidden},
		"a name that begins as ours":     {"", "", "localhost.evil.example", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			before := served
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			if tc.header != "" {
				req.Header.Set(tc.header, tc.value)
			}
			req.Host = tc.host
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			passed := served > before
			if res.StatusCode != tc.want || passed != (tc.want == http.StatusOK) || passed != (string(text) == "body") {
				t.Errorf("%d, passed %v: %s", res.StatusCode, passed, text)
			}
			if allowed := res.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
				t.Errorf("pages of %s may read the answer", allowed)
			}
		})
	}
}

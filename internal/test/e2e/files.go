package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/edge/api"
)

// beginExport begins an export, and returns its path.
func (s *suite) beginExport(t *testing.T, kind, from string) string {
	t.Helper()
	return "/api/v1/exports/" + s.create(t, s.token(t, operator), "/api/v1/exports",
		fmt.Sprintf(`{"kind": %q, "from": %q}`, kind, from)).must(201).text("id")
}

// fileOf waits for the file of an export, and returns its content.
func (s *suite) fileOf(t *testing.T, path string) string {
	t.Helper()
	var link string
	s.eventually(t, "the file of "+path, func() bool {
		link, _ = s.get(t, s.token(t, operator), path).must(200).json()["url"].(string)
		return link != ""
	})
	return s.download(t, link)
}

// download reads a file at a signed address. The address must be signed with its end.
func (s *suite) download(t *testing.T, link string) string {
	t.Helper()
	read := func(link string) (int, string) {
		res, err := s.http.Get(link)
		testkit.Must(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		testkit.Must(t, err)
		return res.StatusCode, string(text)
	}
	status, text := read(link)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", link, status, text)
	}
	u, err := url.Parse(link)
	testkit.Must(t, err)
	for _, end := range []string{"X-Amz-Expires", "until"} {
		if q := u.Query(); q.Has(end) {
			q.Set(end, q.Get(end)+"0")
			u.RawQuery = q.Encode()
		}
	}
	if status, _ := read(u.String()); status != http.StatusForbidden {
		t.Errorf("%s: status %d, want 403 for a later end", u, status)
	}
	return text
}

// upload sends a file as the form that a response describes. The same form sends
// nothing under another name.
func (s *suite) upload(t *testing.T, made answer, file string) {
	t.Helper()
	var to struct{ Upload api.Upload }
	testkit.Must(t, json.Unmarshal(made.body, &to))
	other := api.Upload{URL: to.Upload.URL, Fields: maps.Clone(to.Upload.Fields)}
	other.Fields["key"] = strings.Replace(other.Fields["key"], "ten_", "ten_0", 1)
	if status, _ := testkit.Upload(t, s.http, other, []byte(file)); status != http.StatusForbidden {
		t.Errorf("the upload as %s: %d, want 403", other.Fields["key"], status)
	}
	if status, _ := testkit.Upload(t, s.http, to.Upload, []byte(file)); status != http.StatusNoContent {
		t.Errorf("the upload: %d", status)
	}
}

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

// fileOf waits for the file of an export, and returns its content. kept is false if an
// erasure has deleted the file meanwhile: every erasure runs a second time after two
// minutes.
func (s *suite) fileOf(t *testing.T, path string) (text string, kept bool) {
	t.Helper()
	var link string
	var ended bool
	read := func() bool {
		job := s.get(t, s.token(t, operator), path).must(200).json()
		link, _ = job["url"].(string)
		ended = job["status"] == "READY" && link == ""
		return link != "" || ended
	}
	if s.eventually(t, "the file of "+path, read); ended {
		return "", false
	}
	if text, kept = s.download(t, link); !kept { // the file goes first, then its link
		s.eventually(t, path+" has no file any more", func() bool { return read() && ended })
	}
	return text, kept
}

// download returns the content at a signed address, or reports false if there is no such
// file any more. It also checks that the signature covers the time at which the address ends.
func (s *suite) download(t *testing.T, link string) (text string, kept bool) {
	t.Helper()
	status, text := s.fetched(t, link)
	if status == http.StatusNotFound {
		return "", false
	}
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
	if status, _ := s.fetched(t, u.String()); status != http.StatusForbidden {
		t.Errorf("%s: status %d, want 403 for a later end", u, status)
	}
	return text, true
}

// fetched returns the status and the body at an address.
func (s *suite) fetched(t *testing.T, link string) (int, string) {
	t.Helper()
	res, err := s.http.Get(link)
	testkit.Must(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return res.StatusCode, string(text)
}

// upload sends a file with the form that a response describes. It also checks that the
// form cannot send a file under another name.
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

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/pkg/local/testkit"
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
func (s *suite) upload(t *testing.T, to map[string]any, file string) {
	t.Helper()
	fields, _ := to["fields"].(map[string]any)
	other := maps.Clone(fields)
	other["key"] = strings.Replace(fmt.Sprint(fields["key"]), "ten_", "ten_0", 1)
	if status := s.send(t, to["url"], other, file); status != http.StatusForbidden {
		t.Errorf("the upload as %s: %d, want 403", other["key"], status)
	}
	if status := s.send(t, to["url"], fields, file); status != http.StatusNoContent {
		t.Errorf("the upload: %d", status)
	}
}

func (s *suite) send(t *testing.T, to any, fields map[string]any, file string) (status int) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		_ = form.WriteField(name, fmt.Sprint(value)) // a buffer accepts everything
	}
	part, _ := form.CreateFormFile("file", "people.csv")
	_, _ = part.Write([]byte(file))
	_ = form.Close()
	res, err := s.http.Post(fmt.Sprint(to), form.FormDataContentType(), &body)
	testkit.Must(t, err)
	_ = res.Body.Close()
	return res.StatusCode
}

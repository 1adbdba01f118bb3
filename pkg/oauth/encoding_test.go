package oauth_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"testing"

	"svc/internal/test/testkit"
)

// On every endpoint that accepts a body, a body with a content coding gets a
// 415 that names the reason. A byte order mark is ignored.
func TestEncodedBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const metadata = `{"redirect_uris":["` + callback + `"],"audiences":["rider"]}`
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(metadata))
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	for _, path := range []string{"/oauth/register", "/oauth/token", "/oauth/revoke", "/oauth/introspect",
		"/oauth/authorize", "/oauth/signin", "/oauth/consent", "/oauth/userinfo", "/oauth/logout", "/oauth/apps"} {
		for _, coding := range []string{"gzip", "identity, gzip", "br", "x"} {
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(packed.Bytes()))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", coding)
			got := f.do(r)
			if got.status != http.StatusUnsupportedMediaType || got.text("error") != "unsupported_media_type" ||
				got.header.Get("Accept-Encoding") != "identity" {
				t.Errorf("%s by %s: %d %s", path, coding, got.status, got.raw)
			}
		}
	}
	for _, body := range []string{metadata, "\ufeff" + metadata} {
		r := httptest.NewRequest(http.MethodPost, "/oauth/register", bytes.NewReader([]byte(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", "Identity")
		if got := f.do(r); got.status != http.StatusCreated {
			t.Errorf("%q: %d %s", body[:4], got.status, got.raw)
		}
	}
}

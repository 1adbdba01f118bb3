package published_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strconv"
	"testing"

	"svc/pkg/edge/reference/published"
)

// TestDocumentIsCompressed: a client that accepts gzip gets the OpenAPI document in at most
// a fifth of its size, and any other one gets it plain. Both are the same document.
func TestDocumentIsCompressed(t *testing.T) {
	t.Parallel()
	handler := published.New("https://api.metro.example", nil, nil)
	get := func(method, coding string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/openapi.json", nil)
		if coding != "" {
			r.Header.Set("Accept-Encoding", coding)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: %v", coding, w.Header())
		}
		return w
	}
	plain := get("GET", "")
	for coding, compressed := range map[string]bool{"": false, "identity": false, "gzip;q=0": false, "br": false,
		"deflate, br": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "gzip, deflate, br, zstd": true} {
		w := get("GET", coding)
		body := w.Body.Bytes()
		if (w.Header().Get("Content-Encoding") == "gzip") != compressed ||
			w.Header().Get("Content-Length") != strconv.Itoa(len(body)) || compressed && len(body)*5 > plain.Body.Len() {
			t.Errorf("%q: %d bytes, %v", coding, len(body), w.Header())
		}
		if compressed {
			from, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(from); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain.Body.Bytes()) || !json.Valid(body) {
			t.Errorf("%q: another document", coding)
		}
	}
	if head := get("HEAD", "gzip"); head.Body.Len() != 0 || head.Header().Get("Content-Encoding") != "gzip" ||
		head.Header().Get("Content-Length") != get("GET", "gzip").Header().Get("Content-Length") {
		t.Errorf("HEAD: %v", head.Header())
	}
}

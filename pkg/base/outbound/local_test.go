package outbound

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLocal: on a developer's machine, the machine's own names lead to it, by http and by
// https with any certificate. Other private addresses are refused as everywhere.
func TestLocal(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	get := func(address string) error {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Local().RoundTrip(r)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	for _, server := range []*httptest.Server{plain, secure} {
		for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
			if err := get(strings.Replace(server.URL, "127.0.0.1", name, 1)); err != nil {
				t.Errorf("%s at %s: %v", server.URL, name, err)
			}
		}
	}
	for _, address := range []string{"https://10.0.0.1/", "https://127.0.0.2/", "https://169.254.169.254/",
		"https://0.0.0.0/"} {
		if err := get(address); !errors.Is(err, ErrNotPublic) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

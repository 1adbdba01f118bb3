package emulator_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/pkg/edge/gateway/emulator"
)

// A malformed path reaches the handler and is not rejected by net/http. All
// other bytes are unchanged.
func TestListenerPassesMalformedPathsOn(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %q %v", r.RequestURI, body, err)
	}))
	server.Listener = emulator.Listener(server.Listener)
	server.Start()
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	const bait = "GET /%zz HTTP/1.1\r\n"
	for _, tc := range []struct{ method, target, body, want string }{
		{"GET", "/api/v1/trips/%zz", "", "/api/v1/trips/%25zz"},
		{"GET", "/%", "", "/%25"},
		{"GET", "/a%2", "", "/a%252"},
		{"GET", "/a b/c d", "", "/a%20b/c%20d"},
		{"GET", "/a\tb\x7f\x01", "", "/a%09b%7F%01"},
		{"GET", "/a?q=a b&r=%zz", "", "/a?q=a%20b&r=%zz"},
		{"GET", "/a HTTP/1.1", "", "/a%20HTTP/1.1"},
		{"GET", "/a%2Fb/é?x=%41", "", "/a%2Fb/é?x=%41"},
		{"POST", "/%zz", "a b\n" + bait, "/%25zz"},
		{"POST", "/b", bait, "/b"},
	} {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", tc.method, tc.target, len(tc.body))
		for _, part := range []string{head, tc.body} { // the body may come apart
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.target, err)
		}
		got, err := io.ReadAll(res.Body)
		if want := fmt.Sprintf("%s %q <nil>", tc.want, tc.body); err != nil || string(got) != want {
			t.Errorf("%s: got %d %s, want %s", tc.target, res.StatusCode, got, want)
		}
	}
	long := "/" + strings.Repeat("a", 5000) // in more than one read
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", long); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != 200 {
		t.Errorf("a long path: %v %v", res, err)
	}
}

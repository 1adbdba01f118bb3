package clients

import (
	"net/url"
	"testing"
)

// trickAddresses says which redirect URIs are allowed for the client in
// TestRedirectTricks.
var trickAddresses = map[string]bool{
	"https://planner.example/cb":                     true,
	"https://planner.example/cb?app=1":               true,
	"com.example.planner:/cb":                        true,
	"http://127.0.0.1/callback":                      true,
	"http://127.0.0.1:1/callback":                    true,
	"http://127.0.0.1:65535/callback":                true,
	"http://[::1]/cb":                                true,
	"http://[::1]:61023/cb":                          true,
	"http://localhost:8000/cb":                       true,
	"http://localhost:8001/cb":                       true,
	"http://localhost/cb":                            true,
	"http://localhost:65535/cb":                      true,
	"http://localhost:0/cb":                          false,
	"http://localhost:65536/cb":                      false,
	"http://localhost:/cb":                           false,
	"http://localhost:8000/cb/":                      false,
	"http://localhost:8000/CB":                       false,
	"http://localhost:8000/cb?x=1":                   false,
	"http://localhost:8000/callback":                 false, // the path of another name
	"http://127.0.0.1:8000/cb":                       false,
	"http://[::1]:8000/callback":                     false,
	"https://localhost:8001/cb":                      false,
	"http://localhost.evil/cb":                       false,
	"http://localhost.evil:8000/cb":                  false,
	"http://localhost.:8001/cb":                      false,
	"http://evil.localhost:8001/cb":                  false,
	"http://localhost@evil.example/cb":               false,
	"http://localhost:8000@evil.example/cb":          false,
	"http://user@localhost:8001/cb":                  false,
	"http://LOCALHOST:8001/cb":                       false,
	"HTTP://localhost:8001/cb":                       false,
	"http://localhost:8001/../cb":                    false,
	"http://localhost:8001\\@evil.example/cb":        false,
	"http://localhost:+8001/cb":                      false,
	"http://localhost:08001x/cb":                     false,
	"http://localhost:8001/cb\n":                     false,
	"cursor://anysphere.cursor-mcp/oauth/callback":   true,
	"cursor://anysphere.cursor-mcp:1/oauth/callback": false,
	"cursor://anysphere.cursor-mcp/oauth/callback?x": false,
	"cursors://anysphere.cursor-mcp/oauth/callback":  false,
	"cursor:/anysphere.cursor-mcp/oauth/callback":    false,
	"http://127.0.0.1:0/callback":                    false,
	"http://127.0.0.1:65536/callback":                false,
	"http://127.0.0.1:80:80/callback":                false,
	"http://127.0.0.1:/callback":                     false,
	"http://127.0.0.1@evil.example/callback":         false,
	"http://127.0.0.1:80@evil.example/callback":      false,
	"http://127.0.0.1.evil.example/callback":         false,
	"http://127.0.0.1:9000/callback/../other":        false,
	"http://127.0.0.1:9000/callback?x=1":             false,
	"http://127.0.0.1:9000/callback#x":               false,
	"https://127.0.0.1:9000/callback":                false,
	"http://127.1/callback":                          false,
	"http://0x7f.0.0.1/callback":                     false,
	"http://[0:0:0:0:0:0:0:1]/cb":                    false,
	"https://planner.example/cb/":                    false,
	"https://planner.example/CB":                     false,
	"https://planner.example//cb":                    false,
	"https://planner.example/x/../cb":                false,
	"https://planner.example/cb/..":                  false,
	"https://planner.example/%63b":                   false,
	"https://planner.example/cb%2f..":                false,
	"https://planner.example/cb%00":                  false,
	"https://planner.example/cb#":                    false,
	"https://planner.example/cb#x":                   false,
	"https://planner.example/cb?":                    false,
	"https://planner.example/cb?app=1&x=2":           false,
	"https://planner.example/cb?app=2":               false,
	"https://planner.example:443/cb":                 false,
	"https://planner.example./cb":                    false,
	"https://PLANNER.example/cb":                     false,
	"HTTPS://planner.example/cb":                     false,
	"http://planner.example/cb":                      false,
	"https://a.planner.example/cb":                   false,
	"https://planner.example.evil.example/cb":        false,
	"https://planner.example@evil.example/cb":        false,
	"https://user@planner.example/cb":                false,
	"https://evil.example/https://planner.example":   false,
	"https://evil.example\\@planner.example/cb":      false,
	"https://planner.example\\.evil.example/cb":      false,
	" https://planner.example/cb":                    false,
	"https://planner.example/cb ":                    false,
	"https://planner.example/cb\r\nX: y":             false,
	"//planner.example/cb":                           false,
	"/cb":                                            false,
	"javascript:alert(1)":                            false,
	"data:text/html,x":                               false,
	"com.example.planner://cb":                       false,
	"com.example.plannerx:/cb":                       false,
	"":                                               false,
}

// RFC 9700 section 4.1: addresses that look like a registered address are
// rejected.
func TestRedirectTricks(t *testing.T) {
	registered := []string{"https://planner.example/cb", "https://planner.example/cb?app=1", "http://127.0.0.1/callback",
		"http://[::1]:5000/cb",
		"com.example.planner:/cb", "http://localhost:8000/cb", "cursor://anysphere.cursor-mcp/oauth/callback"}
	for uri, want := range trickAddresses {
		if got := RedirectAllowed(registered, uri); got != want {
			t.Errorf("%q: %v, want %v", uri, got, want)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	f.Add("http://127.0.0.1:80/callback")
	f.Add("https://planner.example/cb")
	f.Fuzz(func(t *testing.T, uri string) {
		if !RedirectAllowed([]string{"https://planner.example/cb", "http://127.0.0.1/callback",
			"http://localhost:1/callback"}, uri) {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || u.User != nil || u.Fragment != "" ||
			(u.Hostname() != "planner.example" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost") {
			t.Errorf("%q is accepted", uri)
		}
	})
}

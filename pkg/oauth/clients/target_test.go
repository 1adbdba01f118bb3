package clients

import "testing"

// The host of a private scheme's address is not the target: the device hands the
// whole address to the application that claims the scheme.
func TestRedirectTargetOfAPrivateScheme(t *testing.T) {
	for uri, want := range map[string]struct {
		target string
		local  bool
	}{
		"com.evil.app://metro.example/cb": {"com.evil.app:", true},
		"com.evil.app:/cb":                {"com.evil.app:", true},
		"https://metro.example/cb":        {"metro.example", false},
		"http://127.0.0.1:8000/cb":        {"127.0.0.1:8000", true},
		"http://localhost:8000/cb":        {"localhost:8000", true},
		"http://localhost.evil/cb":        {"localhost.evil", false},
		"cursor://metro.example/cb":       {"cursor:", true},
	} {
		if target, local := RedirectTarget(uri); target != want.target || local != want.local {
			t.Errorf("%s: %q, on the device %v", uri, target, local)
		}
	}
}

// A host that a person would read as another one may not be registered.
func TestRedirectHosts(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://m%D0%B5tro.example/cb": false, "https://m\u0435tro.example/cb": false, "https://metro%2eexample/cb": false,
		"https://[fe80::1%25eth0]/cb": false, "com.app://m%D0%B5tro.example/cb": false,
		"https://metro.example/cb": true, "https://metro.example:8443/cb%20x": true, "https://[2001:db8::1]:8443/cb": true,
		"https://xn--mtro-f5d.example/cb": true, "com.app:/cb": true, "com.app://metro.example/cb": true,
		"http://127.0.0.1/cb": true,
	} {
		if fault := redirectFault(uri, true); (fault == "") != want {
			t.Errorf("%s: %q", uri, fault)
		}
	}
}

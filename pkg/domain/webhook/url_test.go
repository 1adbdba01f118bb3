package webhook_test

import (
	"testing"

	"svc/pkg/domain/webhook"
)

// TestLocalURLs: svc dev also takes http addresses of this machine, with any port that
// exists.
func TestLocalURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{"http://localhost:9310/ok": true, "http://[::1]/": true,
		"http://127.0.0.1:65535/": true, "http://localhost:0/": false, "http://127.0.0.1:99999/": false,
		"http://[::1]:65536/": false, "http://127.0.0.2/": false, "http://localhost.localdomain/": false,
		"http://me@localhost/": false, "http://[::ffff:127.0.0.1]/": false, "http://localhost.:80/": false} {
		if got := webhook.CheckURL(url, true); (got == "") != want {
			t.Errorf("%s: %q", url, got)
		}
		if got := webhook.CheckURL(url, false); got == "" {
			t.Errorf("%s is taken in AWS", url)
		}
	}
}

// TestAddressesThatHideSomething: an address shows all that it consists of.
func TestAddressesThatHideSomething(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"\u202e", "\u200b", "\u2066", "\u00ad", " ", "\u00a0", "\u2028"} {
		for _, url := range []string{"https://hooks.metro.example/a" + hidden + "b", "https://hooks.metro" + hidden +
			".example/", "http://localhost/" + hidden} {
			if webhook.CheckURL(url, true) == "" {
				t.Errorf("%q is taken", url)
			}
		}
	}
	if got := webhook.CheckURL("https://bücher.example/käse?q=%20", false); got != "" {
		t.Error(got)
	}
}

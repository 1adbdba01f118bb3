package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/pkg/app"
	"svc/pkg/base/config"
)

// The function of the authorization server rejects a malformed REFRESH_GRACE
// instead of running without a grace period.
func TestRefreshGraceIsRead(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "0s": 0, "10s": 10 * time.Second} {
		t.Setenv("REFRESH_GRACE", text)
		if c := config.Read(os.Getenv); c.Wrong != nil || c.RefreshGrace != want {
			t.Errorf("%q: %v, %v", text, c.RefreshGrace, c.Wrong)
		}
	}
	for _, text := range []string{"10", "ten", "10 s", "-1s", " 10s"} {
		t.Setenv("REFRESH_GRACE", text)
		t.Setenv("SEALING_KEY_FILE", filepath.Join(t.TempDir(), "sealing.key"))
		if _, err := app.Authorization(&app.Runtime{Config: config.Read(os.Getenv)}, "OAuthFunction"); err == nil ||
			!strings.Contains(err.Error(), "REFRESH_GRACE") {
			t.Errorf("%q: the function starts: %v", text, err)
		}
	}
}

// A function with at most one processor's share runs Go code on one thread.
func TestOneProcessor(t *testing.T) {
	for memory, want := range map[int64]bool{0: false, 128: true, 512: true, 1769: true, 1770: false, 3008: false} {
		if got := app.OneProcessor(memory); got != want {
			t.Errorf("%d MB: %v", memory, got)
		}
	}
}

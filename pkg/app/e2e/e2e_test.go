package e2e_test

import (
	"os"
	"testing"
	"time"

	"svc/pkg/app/e2e"
	"svc/pkg/local/testkit"
)

// TestEndToEnd runs the suite on the deployment at SVC_URL. Without that
// variable, it starts `svc dev` and runs the suite there.
func TestEndToEnd(t *testing.T) {
	testkit.Long(t)
	target := e2e.Target{BaseURL: os.Getenv("SVC_URL")}
	target.NoFiles = target.BaseURL != ""
	if text := os.Getenv("SVC_PATIENCE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SVC_PATIENCE: %v", err)
		}
		target.Patience = d
	}
	if target.BaseURL == "" {
		target.BaseURL = testkit.StartDev(t, "--memory").BaseURL
		target.Patience = max(target.Patience, 10*time.Minute)
	}
	e2e.Run(t, target)
}

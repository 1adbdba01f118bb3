package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/pkg/app/e2e"
	"svc/pkg/local/testkit"
)

// TestEndToEnd runs the suite on the deployment at SVC_URL; where that is not
// set, on `svc dev`, started for it.
func TestEndToEnd(t *testing.T) {
	testkit.Long(t)
	target := e2e.Target{BaseURL: os.Getenv("SVC_URL")}
	if text := os.Getenv("SVC_PATIENCE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SVC_PATIENCE: %v", err)
		}
		target.Patience = d
	}
	if target.BaseURL == "" {
		target.BaseURL = dev(t)
		target.Patience = max(target.Patience, 10*time.Minute)
	}
	e2e.Run(t, target)
}

// output keeps the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// dev builds svc, runs `svc dev` until the test ends and gives its address.
func dev(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "svc")
	if out, err := exec.Command("go", "build", "-o", program, "svc/cmd/svc").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	data := t.TempDir()
	cmd := exec.Command(program, "dev", "--memory", "--port", "0", "--data", data)
	cmd.Dir = "../../.."
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("svc dev ended with %v:\n%s", err, said.String())
			}
		case <-time.After(10 * time.Minute):
			_ = cmd.Process.Kill()
			t.Error("svc dev does not end")
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for {
		var running struct {
			BaseURL string `json:"baseUrl"`
		}
		// svc prints its address when the demo data is loaded.
		text, err := os.ReadFile(filepath.Join(data, "dev.json"))
		if err == nil && strings.Contains(said.String(), "svc runs at") && json.Unmarshal(text, &running) == nil &&
			running.BaseURL != "" {
			return running.BaseURL
		}
		select {
		case err := <-ended:
			ended <- nil
			t.Fatalf("svc dev ended with %v:\n%s", err, said.String())
		case <-ctx.Done():
			t.Fatalf("svc dev does not start:\n%s", said.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

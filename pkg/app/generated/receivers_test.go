package generated

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/webhook"
)

// output keeps what a program prints.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestReceivers runs each receiver of docs/events.md against the service. It verifies
// with the official library of its language, before and after the secret is replaced
// with an overlap, and refuses what another secret signed.
func TestReceivers(t *testing.T) {
	testkit.Long(t)
	python, err := filepath.Abs("../../../.cache/python/bin/python")
	testkit.Must(t, err)
	for language, one := range map[string]struct {
		folder, file string
		command      []string
	}{
		"go":     {"../../..", ".cache/receiver/main.go", []string{".cache/receiver/receiver"}},
		"ts":     {".", "node_modules/.cache/receiver.mjs", []string{"node", "node_modules/.cache/receiver.mjs"}},
		"python": {".", "node_modules/.cache/receiver.py", []string{python, "-B", "node_modules/.cache/receiver.py"}},
	} {
		t.Run(language, func(t *testing.T) {
			text, err := os.ReadFile("../../../docs/events.md")
			testkit.Must(t, err)
			found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?\n)```\n").FindSubmatch(text)
			if found == nil {
				t.Fatalf("docs/events.md has no receiver in %s", language)
			}
			path := filepath.Join(one.folder, one.file)
			testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o750))
			testkit.Must(t, os.WriteFile(path, found[1], 0o600))
			if language == "go" { // the process that go run starts would outlive it
				run(t, one.folder, nil, "go", "build", "-o", one.command[0], one.file)
			}
			receiver(t, apptest.New(t), one.folder, one.command)
		})
	}
}

// receiver registers an endpoint, starts its receiver with the secret, and lets it echo
// the challenge that a changed endpoint gets.
func receiver(t *testing.T, s *apptest.Service, folder string, command []string) {
	t.Helper()
	token := s.Token(t, s.Operator(t, "metro", "olga"))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	testkit.Must(t, listener.Close())
	var made webhook.WithSecret
	testkit.Must(t, json.Unmarshal(s.Post(t, token, "/api/v1/webhooks",
		fmt.Sprintf(`{"url": "http://127.0.0.1:%d/"}`, port)).Must(t, 201).Body, &made))
	at := "/api/v1/webhooks/" + made.ID
	var printed output
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir, program.Stdout, program.Stderr = folder, &printed, &printed
	program.Env = append(os.Environ(), "SECRET="+made.Secret, fmt.Sprint("PORT=", port))
	testkit.Must(t, program.Start())
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	until(t, "the receiver listens", &printed, func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	until(t, "the first challenge failed", &printed, func() bool {
		s.Drain(t)
		body := string(s.Get(t, token, at).Must(t, 200).Body)
		return !strings.Contains(body, "unverified")
	})
	if !strings.Contains(string(s.Get(t, token, at).Must(t, 200).Body), `"status":"enabled"`) {
		s.Patch(t, token, at, `{"enabled": true}`).Must(t, 200)
	}
	until(t, "the endpoint is enabled", &printed, func() bool {
		s.Drain(t)
		return strings.Contains(string(s.Get(t, token, at).Must(t, 200).Body), `"status":"enabled"`)
	})
	send := func(kind string) (id string) {
		var asked webhook.Asked
		testkit.Must(t, json.Unmarshal(s.Post(t, token, at+"/test", `{"type": "`+kind+`"}`).Must(t, 200).Body, &asked))
		return asked.Event
	}
	has := func(id string) func() bool {
		return func() bool { s.Drain(t); return strings.Contains(printed.String(), id) }
	}
	until(t, "an event", &printed, has("trip.completed "+send("trip.completed")))
	s.Post(t, token, at+"/rotate", `{"overlapHours": 1.0}`).Must(t, 200)
	until(t, "an event that the old secret signs too", &printed, has("withdrawal.paid "+send("withdrawal.paid")))
	s.Post(t, token, at+"/rotate", `{"overlapHours": 0}`).Must(t, 200)
	refused := send("trip.rated")
	until(t, "a refusal", &printed, func() bool {
		s.Drain(t)
		return strings.Contains(string(s.Get(t, token, at+"/deliveries?status=failed").Must(t, 200).Body), refused)
	})
	if strings.Contains(printed.String(), refused) {
		t.Errorf("another secret signed, and the receiver took it:\n%s", printed.String())
	}
}

func until(t *testing.T, what string, printed *output, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited for %s; the receiver printed:\n%s", what, printed)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/local/engine"
)

// mayNot returns the program and first arguments that run a command without the
// right of root to ignore files' permissions.
func mayNot(t *testing.T, program string) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return []string{program}
	}
	return []string{"setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", program}
}

// TestReadOnlyFolder: on a data folder that cannot be written, every command that
// needs to write ends at once with one line that names the folder.
func TestReadOnlyFolder(t *testing.T) {
	data := demoFolder(t)
	testkit.Must(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		testkit.Must(t, err)
		if d.IsDir() {
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
			return os.Chmod(path, 0o500)
		}
		return os.Chmod(path, 0o400)
	}))
	missing := filepath.Join(data, "new", "folder")
	for _, args := range [][]string{
		{"dev", "--port", "0", "--data", data},
		{"dev", "--port", "0", "--data", missing},
		{"seed", "--tenant", "metro", "--trips", "5", "--data", data},
	} {
		words := append(mayNot(t, os.Args[0]), args...)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "TABLE_NAME=", "AWS_ENDPOINT_URL_DYNAMODB=")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != cli.ExitFailure {
			t.Errorf("svc %v: %v %s", args, err, out)
		}
		if text := string(out); strings.Count(text, "\n") != 1 || !strings.Contains(text, data) ||
			!strings.Contains(text, "you may not read or write it") {
			t.Errorf("svc %v: %s", args, text)
		}
	}
}

// limited returns an engine whose files in the data folder may not grow much.
func limited(t *testing.T, data string) string {
	t.Helper()
	most := int64(0)
	testkit.Must(t, filepath.WalkDir(data, func(_ string, d fs.DirEntry, err error) error {
		testkit.Must(t, err)
		info, err := d.Info()
		most = max(most, info.Size())
		return err
	}))
	// The engine's files may not grow, and its writes fail as on a full disk. Without
	// the trap, the signal XFSZ would end it.
	program := filepath.Join(t.TempDir(), "dynoxide")
	testkit.Must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\ntrap '' XFSZ\nulimit -f %d\nexec '%s' \"$@\"\n",
		(most+512<<10)/512, filepath.Join(engine.Repository(), "bin", "dynoxide")), 0o700))
	return program
}

// longRide requests ride n, whose record is long, and returns the status, and the
// trip's id or the error code.
func (c *client) longRide(n int) (int, string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.base+"/api/v1/me/trips",
		strings.NewReader(`{"originAddress":"`+strings.Repeat("A", 200)+`","originLat":1,"originLng":2}`))
	testkit.Must(c, err)
	r.Header = http.Header{"Authorization": {"Bearer " + c.tokens["rider"]}, "Content-Type": {"application/json"},
		"Idempotency-Key": {fmt.Sprint("full-", n)}}
	res, err := http.DefaultClient.Do(r)
	testkit.Must(c, err)
	defer func() { _ = res.Body.Close() }()
	var body struct{ ID, Error string }
	testkit.Must(c, json.NewDecoder(res.Body).Decode(&body))
	return res.StatusCode, body.ID + body.Error
}

// TestFullFolder: the data file can grow no further. Each request is then either
// done or rejected with 503, reads go on, and nothing that was confirmed is lost.
// With space again, the same request with the same key is done once.
func TestFullFolder(t *testing.T) {
	testkit.Long(t)
	data := demoFolder(t)
	t.Setenv("SVC_ENGINE_PATH", limited(t, data))
	full := startDev(t, detachedProgram(t), data, "")
	c := &client{world{T: t, data: data}, map[string]string{}}
	c.base = full.await(t)
	c.tokens["rider"] = c.token("rider", "rider1@metro.example")
	var confirmed []string
	rejected := -1
	for n := 0; n < 5000 && rejected < 0; n++ {
		switch status, text := c.longRide(n); status {
		case http.StatusCreated:
			confirmed = append(confirmed, text)
		case http.StatusServiceUnavailable:
			rejected = n
		default:
			t.Fatalf("request %d: %d %s", n, status, text)
		}
	}
	if rejected < 0 || len(confirmed) == 0 {
		t.Fatalf("%d rides were confirmed, and none was rejected: the folder did not fill", len(confirmed))
	}
	t.Logf("%d rides were confirmed before the folder was full", len(confirmed))
	c.expect("/api/v1/me/trips", c.tokens["rider"], 200, "")
	_ = full.cmd.Process.Signal(os.Interrupt)
	<-full.ended
	t.Setenv("SVC_ENGINE_PATH", "")

	roomy := startDev(t, detachedProgram(t), data, "")
	t.Cleanup(func() {
		_ = roomy.cmd.Process.Signal(os.Interrupt)
		<-roomy.ended
	})
	c.base = roomy.await(t)
	c.tokens["rider"] = c.token("rider", "rider1@metro.example") // the address, which is the issuer, is another one
	status, first := c.longRide(rejected)
	if status != http.StatusCreated {
		t.Fatalf("with space again: %d %s", status, first)
	}
	if _, again := c.longRide(rejected); again != first {
		t.Errorf("the same key requested %s and %s", first, again)
	}
	for _, id := range confirmed {
		if out, errs, code := c.run("trip", "show", "metro", id); code != 0 {
			t.Fatalf("the confirmed ride %s is lost: %s %s", id, out, errs)
		}
	}
	c.ok("verify")
}

// TestReadyWithoutDisk: /health/ready fails while the data folder takes no data.
func TestReadyWithoutDisk(t *testing.T) {
	data := demoFolder(t)
	base, _, _ := devFor(t, data, isRunning)
	awaitReady := func(status int, text string) {
		t.Helper()
		for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(200 * time.Millisecond) { // results live a second
			res, err := http.Get(base + "/health/ready")
			testkit.Must(t, err)
			body, err := io.ReadAll(res.Body)
			testkit.Must(t, errors.Join(err, res.Body.Close()))
			if res.StatusCode == status && strings.Contains(string(body), text) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("/health/ready: %d %s, want %d %s", res.StatusCode, body, status, text)
			}
		}
	}
	awaitReady(http.StatusOK, `"ok"`)
	testkit.Must(t, os.Mkdir(filepath.Join(data, "probe"), 0o700))
	testkit.Must(t, os.WriteFile(filepath.Join(data, "probe", "file"), nil, 0o600)) // so that it cannot be removed
	awaitReady(http.StatusServiceUnavailable, `"failed":"disk"`)
	testkit.Must(t, os.RemoveAll(filepath.Join(data, "probe")))
	awaitReady(http.StatusOK, `"ok"`)
}

// TestHangUp: svc dev ends cleanly when its terminal is closed.
func TestHangUp(t *testing.T) {
	// A program that nohup started ignores the signal, and so would the programs that it starts.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	p := startDev(t, detachedProgram(t), demoFolder(t), "")
	p.await(t)
	testkit.Must(t, p.cmd.Process.Signal(syscall.SIGHUP))
	select {
	case <-p.ended:
	case <-time.After(5 * time.Minute):
		_ = p.cmd.Process.Kill()
		t.Fatal("svc dev goes on")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.errs.text())
	}
}

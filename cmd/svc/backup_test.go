package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onDisk runs `svc dev` on a data folder and gives its address and its end.
func onDisk(t *testing.T, data string) (base string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, errs, done := &lines{}, &lines{}, make(chan int, 1)
	go func() { done <- newCLI(out, errs).run(ctx, []string{"dev", "--port", "0", "--data", data}) }()
	stop = func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("svc dev ended with %d: %s", code, errs.text())
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(out.text(), "Reference: "); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stop()
			t.Fatalf("svc dev did not start: %s %s", out.text(), errs.text())
		}
	}
	_, rest, _ := strings.Cut(out.text(), "svc runs at ")
	base, _, _ = strings.Cut(rest, "\n")
	return base, stop
}

// call sends a request with the token and gives the answer's body.
func call(t *testing.T, method, address, token, body string, status int) string {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s: status %d, want %d: %s %v", address, res.StatusCode, status, text, err)
	}
	return string(text)
}

// TestBackupAndRestore: a copy of the data folder, made while nothing runs,
// brings everything back as it was, the keys that sign included, and what
// happened since is gone.
func TestBackupAndRestore(t *testing.T) {
	t.Setenv("TABLE_NAME", "")
	data, backup := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	w := &world{T: t, data: data}
	token := func() string {
		return strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "rider", "--email", "rider1@metro.example", "--password", "demo-password"))
	}
	const trips, ride = "/api/v1/me/trips", `{"originAddress": "Pier 3", "originLat": 40.7, "originLng": -74}`
	newest := func(base, token string) string {
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(call(t, "GET", base+trips, token, "", 200)), &page); err != nil || len(page.Items) == 0 {
			t.Fatalf("trips: %v", err)
		}
		return page.Items[0].ID
	}

	base, stop := onDisk(t, data)
	call(t, "POST", base+trips, token(), ride, 201)
	kept := newest(base, token())
	operator := strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "dashboard", "--email", "operator@metro.example", "--password", "demo-password"))
	w.ok("rebuild") // the demo is settled, however slow the stream is
	wallets := call(t, "GET", base+"/api/v1/wallets", operator, "", 200)
	keys := w.ok("keys", "list")
	stop()
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(backup, "sealing.key"), 0o600); err != nil {
		t.Fatal(err)
	}

	base, stop = onDisk(t, data)
	call(t, "POST", base+trips, token(), ride, 201)
	if newest(base, token()) == kept {
		t.Error("nothing happened since the backup")
	}
	stop()

	w.data = backup
	base, stop = onDisk(t, backup)
	defer stop()
	if got := newest(base, token()); got != kept {
		t.Errorf("the newest trip is %s, it was %s", got, kept)
	}
	got := w.ok("keys", "list") // a start may add the next ones
	for line := range strings.Lines(keys) {
		if !strings.Contains(got, line) {
			t.Errorf("keys:\n%s\nthey were\n%s", got, keys)
		}
	}
	operator = strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "dashboard", "--email", "operator@metro.example", "--password", "demo-password"))
	if got := call(t, "GET", base+"/api/v1/wallets", operator, "", 200); got != wallets {
		t.Errorf("wallets: %s, they were %s", got, wallets)
	}
}

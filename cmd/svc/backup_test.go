package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// call sends a request with the token and returns the response body.
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
// restores the complete state, including the signing keys. Later changes are
// gone.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	data, backup := demoFolder(t), filepath.Join(t.TempDir(), "backup")
	w := &world{T: t, data: data}
	token := func() string {
		return strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "rider", "--email",
			"rider1@metro.example", "--password", "demo-password"))
	}
	const trips, ride = "/api/v1/me/trips", `{"originAddress": "Pier 3", "originLat": 40.7, "originLng": -74}`
	newest := func(base, token string) string {
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(call(t, "GET", base+trips, token, "", 200)),
			&page); err != nil || len(page.Items) == 0 {
			t.Fatalf("trips: %v", err)
		}
		return page.Items[0].ID
	}

	base, _, stop := devFor(t, data, hasDemo)
	call(t, "POST", base+trips, token(), ride, 201)
	kept := newest(base, token())
	operator := strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "dashboard", "--email",
		"operator@metro.example", "--password", "demo-password"))
	w.ok("rebuild") // the demo is settled, however slow the stream is
	wallets := call(t, "GET", base+"/api/v1/wallets", operator, "", 200)
	keys := w.ok("keys", "list")
	stop()
	copyFolder(t, backup, data)

	base, _, stop = devFor(t, data, hasDemo)
	call(t, "POST", base+trips, token(), ride, 201)
	if newest(base, token()) == kept {
		t.Error("nothing happened since the backup")
	}
	stop()

	w.data = backup
	base, _, stop = devFor(t, backup, hasDemo)
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
	operator = strings.TrimSpace(w.ok("token", "get", "--tenant", "metro", "--audience", "dashboard", "--email",
		"operator@metro.example", "--password", "demo-password"))
	if got := call(t, "GET", base+"/api/v1/wallets", operator, "", 200); got != wallets {
		t.Errorf("wallets: %s, they were %s", got, wallets)
	}
}

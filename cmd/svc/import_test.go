package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/pkg/local/testkit"
)

// TestImportCommand: svc import reads national phone numbers, says what it would do
// and what it did, and the same file again changes nothing.
func TestImportCommand(t *testing.T) {
	t.Parallel()
	w := start(t)
	file, mend := filepath.Join(t.TempDir(), "people.csv"), filepath.Join(t.TempDir(), "mend.csv")
	testkit.Must(t, os.WriteFile(file, []byte("Phone;Email;Name\n(212) 555-0177;i1@metro.example;Iris Novak\n"+
		"12;i2@metro.example;Nobody\n"), 0o600))
	w.ok("tenant", "set", "metro", "--country", "US")
	args := []string{"import", file, "--tenant", "metro", "--kind", "customers", "--key", "phone", "--json",
		"--failed", mend}
	for _, tt := range []struct {
		flag, want string
	}{{"--dry-run", `{"created":1,"updated":0,"unchanged":0,"failed":1}`},
		{"--yes", `{"created":1,"updated":0,"unchanged":0,"failed":1}`},
		{"--yes", `{"created":0,"updated":0,"unchanged":1,"failed":1}`}} {
		out, errs, code := w.run(append(args, tt.flag)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if code == 0 || lines[len(lines)-1] != tt.want || !strings.Contains(errs, "line 3: phone: invalid") {
			t.Errorf("%s: %d %q %q", tt.flag, code, out, errs)
		}
	}
	if text, err := os.ReadFile(mend); err != nil || string(text) != "Phone;Email;Name\n12;i2@metro.example;Nobody\n" {
		t.Errorf("%q %v", text, err)
	}
	if list := w.ok("rider", "list", "metro"); !strings.Contains(list, "(212) 555-0177") {
		t.Errorf("the riders are\n%s", list)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/testkit"
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

// TestImportWithMap: svc import takes --map and --dates, svc export --bom, and a wrong phone
// or mail address is refused as by the API.
func TestImportWithMap(t *testing.T) {
	t.Parallel()
	w := start(t)
	file, out := filepath.Join(t.TempDir(), "people.csv"), filepath.Join(t.TempDir(), "out.csv")
	testkit.Must(t, os.WriteFile(file, []byte("Post;Wer;Handy;Hut\rm1@metro.example;Novak Iris;212 555 0177;rot\r"+
		"mailto:m2@metro.example;Eve Fox;;\rm3@metro.example;Eve Fox;555-0181/555-0182;\r"), 0o600))
	args := []string{"import", file, "--tenant", "metro", "--kind", "customers", "--yes", "--map", "email=Post", "--map",
		"familyFirst=Wer"}
	if text, _, _ := w.run(append(args, "--dry-run")...); !strings.HasPrefix(text,
		"Dry run, nothing is changed: 1 created, 0 updated") {
		t.Errorf("%q", text)
	}
	text, errs, _ := w.run(args...)
	if !strings.Contains(errs, "ignored headings: Hut\n") ||
		!strings.Contains(errs, "svc: rows with faults: 2; mend them") {
		t.Errorf("%q", errs)
	}
	if !strings.Contains(text, "1 created, 0 updated, 0 unchanged, 2 failed") || !strings.Contains(errs,
		"line 3: email: invalid") || !strings.Contains(errs, "line 4: phone: invalid") {
		t.Errorf("%q %q", text, errs)
	}
	if _, errs, code := w.run(append(args, "--map", "colour=Farbe")...); code != 2 || !strings.Contains(errs, "colour") {
		t.Errorf("a wrong map: %d %q", code, errs)
	}
	w.ok("export", "customers", "--tenant", "metro", "--bom", "--columns", "email,firstName,lastName", "--out", out)
	if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), "\ufeffemail,firstName") ||
		!strings.Contains(string(text), "m1@metro.example,Iris,Novak") {
		t.Errorf("%q %v", text, err)
	}
	for _, wrong := range [][]string{{"rider", "add", "metro", "mailto:m4@metro.example", "--first", "A", "--last", "B"},
		{"rider", "add", "metro", "m4@metro.example", "--first", "A", "--last", "B", "--phone", "555-0181/555-0182"},
		{"driver", "add", "metro", "<m4@metro.example>", "--first", "A", "--last", "B"}} {
		if _, errs, code := w.run(wrong...); code == 0 || !strings.Contains(errs, "expected") {
			t.Errorf("%v: %d %q", wrong, code, errs)
		}
	}
}

// TestImportCommandTakesAnyTime: a time that is none is a fault of its line.
func TestImportCommandTakesAnyTime(t *testing.T) {
	t.Parallel()
	w := start(t)
	file := filepath.Join(t.TempDir(), "rides.csv")
	testkit.Must(t, os.WriteFile(file, []byte(
		"email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n"+
			"rider1@metro.example,C-1,0001-01-01T00:00:00,0001-01-01T00:00:00,1 Old Street,40.7,-74,10\n"+
			"rider1@metro.example,C-2,1899-12-30 08:00,1899-12-30 09:00,1 Old Street,40.7,-74,10\n"+
			"rider1@metro.example,C-3,2024-01-02 08:00,2024-01-02 09:00,1 Old Street,40.7,-74,10\n"), 0o600))
	for _, flag := range []string{"--dry-run", "--yes"} {
		out, errs, code := w.run("import", file, "--tenant", "metro", "--kind", "trips", "--json", flag)
		if code == 0 || !strings.Contains(out, `{"created":1,"updated":0,"unchanged":0,"failed":2}`) ||
			!strings.Contains(errs, "line 2: requestedAt: invalid: expected a time from 1970 on") ||
			!strings.Contains(errs, "line 3: requestedAt") || strings.Contains(errs, "goroutine") {
			t.Errorf("%s: %d %q %q", flag, code, out, errs)
		}
	}
}

// TestImportUndoCommand: svc import undo removes what svc import added, once.
func TestImportUndoCommand(t *testing.T) {
	t.Parallel()
	w := start(t)
	file := filepath.Join(t.TempDir(), "rides.csv")
	testkit.Must(t, os.WriteFile(file, []byte(
		"email,tripId,requestedAt,completedAt,originAddress,originLat,originLng,fare\n"+
			"rider1@metro.example,U-1,2024-01-02 08:00,2024-01-02 09:00,1 Old Street,40.7,-74,10\n"+
			"rider1@metro.example,U-2,2024-01-03 08:00,2024-01-03 09:00,1 Old Street,40.7,-74,10\n"), 0o600))
	args := []string{"import", file, "--tenant", "metro", "--kind", "trips", "--json", "--yes"}
	_, errs, code := w.run(args...)
	job := regexp.MustCompile(`imp_[0-9A-Z]{26}`).FindString(errs)
	if code != 0 || job == "" {
		t.Fatalf("%d %q", code, errs)
	}
	if want := "svc import undo " + job + " --tenant metro --yes\n"; !strings.Contains(errs, want) {
		t.Errorf("no command %q in %q", want, errs)
	}
	if _, _, code := w.run("import", "undo", job, "--tenant", "metro"); code == 0 {
		t.Error("an undo needs --yes")
	}
	for range 2 {
		if out := w.ok("import", "undo", job, "--tenant", "metro", "--yes"); !strings.Contains(out,
			"2 rides removed, 0 kept") {
			t.Errorf("%q", out)
		}
	}
	if out, errs, code := w.run(args...); code != 0 || !strings.Contains(out, `"created":2`) {
		t.Errorf("imported again: %d %q %q", code, out, errs)
	}
	if _, errs, code := w.run("import", "undo", "imp_01JT7M4C6Q8V2N5X9B3D1F7H0K", "--tenant", "metro",
		"--yes"); code == 0 ||
		!strings.Contains(errs, "imp_01JT7M4C6Q8V2N5X9B3D1F7H0K") {
		t.Errorf("an unknown import: %d %q", code, errs)
	}
}

package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestExportToFile: svc export writes the file of the API, to a file as a whole or
// to standard output, and the audit log names who did it.
func TestExportToFile(t *testing.T) {
	t.Parallel()
	w := start(t)
	file := filepath.Join(t.TempDir(), "riders.csv")
	w.ok("export", "customers", "--tenant", "metro", "--columns", "email,totalTrips", "--out", file)
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) < 2 || rows[0][0] != "email" || !strings.Contains(string(text), "rider1@metro.example,") {
		t.Errorf("%v\n%s", err, text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info.Mode(), err)
	}
	out := w.ok("export", "customers", "--tenant", "metro", "--columns", "email,totalTrips")
	if out != string(text) {
		t.Errorf("on standard output:\n%s\nin the file:\n%s", out, text)
	}
	if audit := w.ok("audit", "metro"); !strings.Contains(audit, "export.add") {
		t.Errorf("the audit log:\n%s", audit)
	}
	if _, errs, code := w.run("export", "customers", "--tenant", "metro", "--columns", "password"); code == 0 ||
		!strings.Contains(errs, "is no column of customers") {
		t.Errorf("a wrong column: %d %s", code, errs)
	}
}

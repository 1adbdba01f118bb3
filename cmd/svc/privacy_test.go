package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/erasure"
	"svc/pkg/domain/privacy"
)

// request runs a command of svc privacy and reads the request.
func (w *world) request(args ...string) (r privacy.PrivacyRequest) {
	w.Helper()
	args = append([]string{"privacy"}, append(args, "--tenant", "metro", "--json")...)
	if err := json.Unmarshal([]byte(w.ok(args...)), &r); err != nil {
		w.Fatal(err)
	}
	return r
}

// became does the work on a request, which the service does each minute, and checks
// the status after it.
func (w *world) became(id string, want privacy.Status) privacy.PrivacyRequest {
	w.Helper()
	c := newCLI(io.Discard, io.Discard)
	c.Data, c.DataGiven = w.data, true
	p, t, err := c.At(w.Context(), "metro")
	if err != nil {
		w.Fatal(err)
	}
	store, err := p.Files(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(50 * time.Millisecond) {
		r := erasure.Runner{DB: p.DB, Files: store, Now: time.Now}
		for more, err := true, error(nil); more; {
			if more, err = r.Slice(w.Context(), t, id); err != nil {
				w.Fatal(err)
			}
		}
		if r := w.request("show", id); r.Status == want || time.Now().After(deadline) {
			if r.Status != want {
				w.Errorf("the request is %+v, want %s", r, want)
			}
			return r
		}
	}
}

// TestPrivacy: an operator of the platform copies and erases persons as the API does,
// with the same refusals.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ok("rider", "add", "metro", "quill@metro.example", "--first", "Zwenda", "--last", "Quill", "--password",
		"correct horse battery")
	made := w.request("export", "--customer", "quill@metro.example")
	done := w.became(made.ID, privacy.Done)
	out := filepath.Join(t.TempDir(), "copy.ndjson")
	w.request("show", made.ID, "--out", out)
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "Zwenda") {
		t.Errorf("the copy is %s: %v", text, err)
	}
	driver := w.request("erase", "--driver", "driver1@metro.example")
	if r := w.became(driver.ID, privacy.Blocked); len(r.Reasons) == 0 || r.DriverID == nil {
		t.Errorf("the driver's request is %+v", r)
	}
	erase := w.request("erase", "--customer", *done.CustomerID)
	w.became(erase.ID, privacy.Ready)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"run " + erase.ID + " --tenant metro", 2, "--yes"},
		{"run " + made.ID + " --tenant metro --yes", 1, "is an export and DONE"},
		{"run " + erase.ID + " --tenant harbor --yes", 1, "there is no request"},
		{"show " + erase.ID + " --tenant harbor", 1, "there is no request"},
		{"show " + erase.ID + " --tenant metro --out " + out, 1, "only an export"},
		{"show " + erase.ID, 2, "--tenant is missing"},
		{"erase --tenant metro", 2, "exactly one"},
		{"erase --tenant metro --customer a@b.example --driver c@d.example", 2, "exactly one"},
		{"erase --tenant metro --customer nobody@metro.example", 1, "there is no rider"},
		{"erase --tenant harbor --customer " + *done.CustomerID, 1, "there is no rider"},
	} {
		_, errs, code := w.run(append([]string{"privacy"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("svc privacy %s: %d %s", tt.args, code, errs)
		}
	}
	w.request("run", erase.ID, "--yes")
	w.became(erase.ID, privacy.Done)
	// A second erasure also erases what was written after the first one. A copy of an erased
	// person is refused.
	w.ok("privacy", "erase", "--tenant", "metro", "--customer", *done.CustomerID)
	if _, errs, code := w.run("privacy", "export", "--tenant", "metro", "--customer", *done.CustomerID); code != 1 ||
		!strings.Contains(errs, "erased") {
		t.Errorf("a copy of an erased person: %d %s", code, errs)
	}
	if shown := w.ok("rider", "list", "metro"); strings.Contains(shown, "Zwenda") {
		t.Error("the rider is still there")
	}
	listed := w.ok("privacy", "list", "--tenant", "metro")
	for _, want := range []string{driver.ID + "  erase", erase.ID + "  erase"} {
		if !strings.Contains(listed, want) {
			t.Errorf("svc privacy list lacks %s:\n%s", want, listed)
		}
	}
	if strings.Contains(listed, made.ID) {
		t.Errorf("a copy's request outlives the person:\n%s", listed)
	}
	if log := w.ok("audit", "metro"); !strings.Contains(log, "privacy.download") || !strings.Contains(log, "privacy.run") {
		t.Errorf("the audit log is %s", log)
	}
}

// TestRetainSettings: svc tenant set bounds what svc tenant show prints.
func TestRetainSettings(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ok("tenant", "set", "metro", "--retain", "addresses=365,positions=30", "--retain", "audit=1000")
	w.ok("tenant", "set", "metro", "--retain", "positions=keep")
	shown := w.ok("tenant", "show", "metro")
	for _, want := range []string{"retain addresses  365 days", "retain positions  keep", "retain audit      1000 days"} {
		if !strings.Contains(shown, want) {
			t.Errorf("svc tenant show lacks %q:\n%s", want, shown)
		}
	}
	_, errs, code := w.run("tenant", "set", "metro", "--retain", "audit=30", "--retain", "addresses=1")
	if code != 2 || !strings.Contains(errs, "90 to 3650 days, or keep") || !strings.Contains(errs, "7 to 3650") {
		t.Errorf("out of bounds: %d %s", code, errs)
	}
}

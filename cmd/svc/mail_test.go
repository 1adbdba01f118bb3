package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/mail"
)

// TestMailCommands: a blocked address is listed without the address, shown by it in any
// spelling, and released once.
func TestMailCommands(t *testing.T) {
	w := share(t)
	c := newCLI(io.Discard, io.Discard)
	c.Data, c.DataGiven = w.data, true
	p, err := c.Platform(t.Context())
	testkit.Must(t, err)
	stops := mail.NewStops(p.DB, time.Now)
	testkit.Must(t, stops.Add(t.Context(), "blocked@x.example", mail.Complaint))
	testkit.Must(t, stops.Add(t.Context(), "other@x.example", mail.Bounce))
	defer w.ok("mail", "release", "other@x.example")
	listed := w.ok("mail", "blocked")
	if strings.Contains(listed, "@") || !strings.Contains(listed, mail.ID("blocked@x.example")[:16]) ||
		strings.Count(listed, "\n") != 3 {
		t.Errorf("listed\n%s", listed)
	}
	blocked := func() (found []mail.Stop) {
		t.Helper()
		testkit.Must(t, json.Unmarshal([]byte(w.ok("mail", "blocked", "Blocked@x.example", "--json")), &found))
		return found
	}
	if found := blocked(); len(found) != 1 || found[0].Reason != mail.Complaint || found[0].Until != nil {
		t.Errorf("shown %+v", found)
	}
	w.ok("mail", "release", " BLOCKED@x.example")
	if found := blocked(); found == nil || len(found) != 0 {
		t.Errorf("after the release: %+v", found)
	}
	if _, text, code := w.run("mail", "release", "blocked@x.example"); code != 1 ||
		!strings.Contains(text, "no blocked address") {
		t.Errorf("released again: %d %s", code, text)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestPrintedTutorial runs the commands of the tutorial as printed, in one
// shell, from the request to the receipt, and all of them again. Each response is
// on lines of its own.
func TestPrintedTutorial(t *testing.T) {
	testkit.Long(t)
	c := newCheckout(t)
	commands := strings.Join(printed(t, "docs/tutorial.md", "## Take a ride"), "\n")
	for range 2 {
		out := c.bash(commands)
		for _, want := range []string{`"status":"ASSIGNED"`, `"status":"DRIVER_ARRIVED"`, `"status":"IN_PROGRESS"`,
			`"status":"COMPLETED"`, `"TRIP_PAYMENT"`, `"amount":-18.5`, "EVENT", "BALANCE", "14.8"} {
			if !strings.Contains(out, want) {
				t.Errorf("the tutorial prints no %s: %s", want, out)
			}
		}
		receipt, err := os.ReadFile(filepath.Join(c.dir, "receipt.html"))
		if err != nil || !strings.Contains(string(receipt), "18.50") || !strings.Contains(string(receipt), "</html>") {
			t.Errorf("the receipt as a page: %v, %s", err, receipt)
		}
		for line := range strings.Lines(out) {
			at := strings.Index(line, "{")
			if at > 0 && !strings.HasPrefix(line, "  ") || at == 0 && !strings.HasSuffix(line, "}\n") {
				t.Errorf("a response is not on a line of its own: %s", line)
			}
		}
	}
}

// TestTutorialShowsFailures: a step of the tutorial that fails prints the error's
// response, and ends what was pasted with it.
func TestTutorialShowsFailures(t *testing.T) {
	testkit.Long(t)
	c := newCheckout(t)
	commands := strings.Join(printed(t, "docs/tutorial.md", "## Take a ride"), "\n")
	for name, change := range map[string][3]string{
		"a ride that is refused": {`"paymentType": "WALLET"`, `"paymentType": "SHELLS"`, "No ride: {"},
		"a step out of order":    {"/arrived -H", "/start -H", `"error":"invalid_state"`},
		"a step of somebody else": {`/accept -H "Authorization: Bearer $DRIVER"`, `/accept -H "Authorization: Bearer $RIDER"`,
			`"error":"insufficient_scope"`},
		"a payment that is missing": {"case $WALLET in *TRIP_PAYMENT*)", "WALLET=nothing; case $WALLET in *TRIP_PAYMENT*)",
			"No payment after a minute: nothing"},
	} {
		if !strings.Contains(commands, change[0]) {
			t.Fatalf("%s: the tutorial has no %s", name, change[0])
		}
		wrong := strings.ReplaceAll(strings.ReplaceAll(commands, change[0], change[1]), "seq 60", "seq 1")
		if out, err := c.tryBash(wrong); err == nil || !strings.Contains(out, change[2]) || strings.Contains(out, "EVENT") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

package deliver

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"svc/pkg/domain/webhook"
)

// TestPageOfEvents: docs/events.md says how long a receiver may take, when a delivery is
// tried again, how long it waits for an address, and when an endpoint is disabled.
func TestPageOfEvents(t *testing.T) {
	page, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	short := func(d time.Duration) string {
		return strings.ReplaceAll(strings.ReplaceAll(d.String(), "h0m0s", "h"), "m0s", "m")
	}
	var pauses []string
	for _, pause := range schedule {
		pauses = append(pauses, short(pause))
	}
	last := len(pauses) - 1
	for _, want := range []string{
		fmt.Sprintf("answers within %d seconds.", int(patience.Seconds())),
		"tried again after " + strings.Join(pauses[:last], ", ") + " and " + pauses[last] + ",",
		"deliveries wait, at most " + short(retryFor) + ".",
		fmt.Sprintf("%d days without a success", int(webhook.FailingFor.Hours()/24)),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/events.md does not say %q", want)
		}
	}
}

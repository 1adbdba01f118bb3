package script_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/internal/test/script"
	"svc/pkg/access/authz"
)

// TestRide: a ride is five calls in their order, each with its own key, and it ends at
// the first response that does not show what the step should have done.
func TestRide(t *testing.T) {
	ride := script.Ride{Asks: `"paymentType":"CARD"`, Notes: "n", Fare: "12.50", Key: "k"}
	for name, tt := range map[string]struct {
		old, new string // in the responses
		calls    int
	}{
		"all is well":   {"", "", 5},
		"other notes":   {`"n"`, `"m"`, 1},
		"another trip":  {`trp_1","status":"DRIVER`, `trp_2","status":"DRIVER`, 3},
		"not on":        {"IN_PROGRESS", "DRIVER_ARRIVED", 4},
		"another fare":  {"12.5}", "12.51}", 5},
		"no fare":       {`,"finalFare":12.5}`, "}", 5},
		"not even JSON": {"{", "", 1},
	} {
		var sent []string
		statuses := strings.Fields("PENDING ASSIGNED DRIVER_ARRIVED IN_PROGRESS COMPLETED")
		id, err := ride.Take(func(c script.Call) (json.RawMessage, error) {
			who := authz.Driver
			if c.Step == "request" {
				who = authz.Rider
			}
			if !json.Valid([]byte(c.Body)) && c.Body != "" || c.As != who || c.Key != "k-"+c.Step {
				t.Errorf("%s: %+v", name, c)
			}
			sent = append(sent, c.Path)
			answer := fmt.Sprintf(`{"id":"trp_1","status":%q,"notes":"n","finalFare":12.5}`, statuses[len(sent)-1])
			return json.RawMessage(strings.ReplaceAll(answer, tt.old, tt.new)), nil
		})
		whole := err == nil && id == "trp_1" && sent[4] == "/api/v1/me/trips/trp_1/complete"
		if len(sent) != tt.calls || whole != (name == "all is well") {
			t.Errorf("%s: %v after %v", name, err, sent)
		}
	}
	_, err := script.Ride{ID: "trp_1", Office: true}.Take(func(c script.Call) (json.RawMessage, error) {
		if c.As != authz.Dashboard || c.Path != "/api/v1/trips/trp_1/arrived" || c.Key+c.Body != "" {
			t.Errorf("%+v", c)
		}
		return json.RawMessage(`{"id":"trp_1","status":"DRIVER_ARRIVED"}`), nil
	}, "arrived")
	if err != nil {
		t.Error(err)
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/app/apptest"
	"svc/pkg/app/replay"
	"svc/pkg/local/testkit"
)

// TestAllocations limits what one request allocates in this process, from the
// gateway event to its response, with everything between them. The table's
// responses are recorded.
func TestAllocations(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	functions, err := s.Runtime.Functions()
	testkit.Must(t, err)
	op, rider, driver := s.Token(t, s.actors[authz.Dashboard]), s.Token(t, s.actors[authz.Rider]),
		s.Token(t, s.actors[authz.Driver])
	service := s.ServiceType(t, "metro", "0.2")
	request := fmt.Sprintf(`{"originAddress":"350 5th Ave","originLat":40.7484,"originLng":-73.9857,"destAddress":"JFK","destLat":40.6,"destLng":-73.7,"serviceTypeId":%q}`, service)
	var trip, other string
	for range 105 {
		other, trip = trip, apptest.JSON[struct{ ID string }](t, s.Post(t, rider, "/api/v1/me/trips", request).Must(t,
			201)).ID
	}
	s.Still(t)
	counted := map[string]float64{}
	for _, tt := range []struct {
		name, token, method, target, body string
		most                              float64 // an eighth above the count
	}{
		{"one item", rider, "GET", "/api/v1/me", "", 558},
		{"list of 1", op, "GET", "/api/v1/trips?limit=1", "", 1063},
		{"list of 20", op, "GET", "/api/v1/trips?limit=20", "", 1370},
		{"list of 100", op, "GET", "/api/v1/trips?limit=100", "", 2637},
		{"trip with its log", op, "GET", "/api/v1/trips/" + trip, "", 1472},
		{"request", rider, "POST", "/api/v1/me/trips", request, 1284},
		{"accept", driver, "POST", "/api/v1/me/trips/" + trip + "/accept", "{}", 1083},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name, event := gatewayEvent(t, tt.token, tt.method, tt.target, tt.body)
			_, before := gatewayEvent(t, tt.token, tt.method, strings.Replace(tt.target, trip, other, 1), tt.body)
			f := functions[name]
			succeed(t, f, before) // keys and shards are cached from here on
			s.Wire.Record()
			defer s.Wire.Restore()
			succeed(t, f, event)
			s.Wire.Replay()
			n := testkit.Allocations(func() { succeed(t, f, event) })
			counted[tt.name] = n
			t.Logf("%.0f allocations", n)
			if n > tt.most*allowance {
				t.Errorf("%.0f allocations, at most %.0f wanted", n, tt.most*allowance)
			}
		})
	}
	if each := (counted["list of 100"] - counted["list of 20"]) / 80; each > eachItem {
		t.Errorf("%.1f allocations for each item of a list", each)
	}
}

type function = func(context.Context, json.RawMessage) (json.RawMessage, error)

func succeed(t testing.TB, f function, event json.RawMessage) {
	t.Helper()
	out, err := f(context.Background(), event)
	if err != nil || !strings.HasPrefix(string(out), `{"statusCode":20`) {
		t.Fatalf("%v: %s", err, out)
	}
}

// gatewayEvent returns an event of payload 2.0, and the function that receives
// it.
func gatewayEvent(t testing.TB, token, method, target, body string) (function string, raw json.RawMessage) {
	t.Helper()
	raw, err := replay.Event(token, "application/json", method, target, body)
	testkit.Must(t, err)
	path, _, _ := strings.Cut(target, "?")
	return app.FunctionOf(path), raw
}

package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/app/apptest"
	"svc/pkg/local/testkit"
)

// TestConcurrentToolCalls: results that are made at the same time have only
// their own texts.
func TestConcurrentToolCalls(t *testing.T) {
	s := newSuite(t)
	s.agentsMayAll(t)
	const address, calls = "/mcp/rider/metro", 12
	token := s.agent(t, s.actors[authz.Rider])
	var trips [calls]string
	for i := range calls { // results of very different lengths
		notes := strings.Repeat(fmt.Sprintf(`%d\" \\`, i), 1+i*i)
		made := s.call(t, toolCall(address, token, "svc_request_ride",
			fmt.Sprintf(`{"originAddress":"A","originLat":1,"originLng":2,"notes":"%s"}`, notes)))
		var trip struct{ ID string }
		testkit.Must(t, json.Unmarshal(made.Result.StructuredContent, &trip))
		trips[i] = trip.ID
	}
	operator := s.agent(t, s.actors[authz.Dashboard])
	get := func(i int) apptest.Answer {
		return s.Do(t, toolCall("/mcp", operator, "svc_get_trip", `{"id":"`+trips[i]+`"}`))
	}
	var want [calls]string
	for i := range calls {
		want[i] = string(get(i).Must(t, 200).Body)
	}
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			for range 40 {
				if got := string(get(i).Body); got != want[i] {
					t.Errorf("%.300s, want %.300s", got, want[i])
					return
				}
			}
		})
	}
	group.Wait()
}

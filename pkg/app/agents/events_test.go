package agents

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
)

// TestAISDKSubscribes: @ai-sdk/mcp of npm lists events, echoes the challenge, verifies
// and receives an event, renews its subscription and ends it. It has no form for the
// person, so the company lets agents act without one.
func TestAISDKSubscribes(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = "all" })
	operator, rider := s.Operator(t, "metro", "olga"), s.Rider(t, "metro", "rita")
	token := s.SignInFor(t, operator, "/mcp").AccessToken
	cmd := exec.CommandContext(t.Context(), node(t), "events.mjs", s.URL+"/mcp", token)
	cmd.WaitDelay = 10 * time.Second
	log := &strings.Builder{}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	var all struct {
		Listed                     []string
		Subscribed, Renewed, Ended string
		Event                      struct {
			Name string
			Data struct{ Type, Resource string }
		}
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		testkit.Must(t, json.Unmarshal(lines.Bytes(), &all))
		if all.Subscribed != "" && all.Event.Name == "" {
			s.Post(t, s.Token(t, rider), "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":2}`).Must(t, 201)
			s.Drain(t)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if !slices.Contains(all.Listed, "trip.completed") || all.Event.Data.Type != "trip.requested" ||
		!strings.HasPrefix(all.Event.Data.Resource, "trp_") || all.Renewed != all.Subscribed || all.Ended != all.Subscribed {
		t.Errorf("%+v\n%s", all, log)
	}
	left := apptest.JSON[api.Items[webhook.Endpoint]](t, s.Get(t, s.Token(t, operator), "/api/v1/webhooks").Must(t, 200))
	if len(left.Items) > 0 {
		t.Errorf("%+v", left.Items)
	}
}

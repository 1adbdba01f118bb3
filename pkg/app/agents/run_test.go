package agents

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// What `svc dev` prints for agents and their people.
var (
	riderAddress    = regexp.MustCompile(`claude mcp add --transport http metro (\S+/mcp/rider/metro)\n`)
	operatorAddress = regexp.MustCompile(`Agents connect to (\S+/mcp),`)
	demoPassword    = regexp.MustCompile(`everybody's password is (\S+)\n`)
)

// defaultURL is where `make run` serves if PORT is not set.
const defaultURL = "http://127.0.0.1:8080"

// documented checks that the documents have the command that svc dev prints:
// clients compare its address with the metadata's.
func documented(t *testing.T, command string) {
	t.Helper()
	for _, document := range []string{"README.md", "docs/agents.md"} {
		text, err := os.ReadFile("../../../" + document)
		testkit.Must(t, err)
		if !strings.Contains(string(text), command+"\n") {
			t.Errorf("%s does not have the command that svc dev prints: %s", document, command)
		}
	}
}

// TestMakeRun does what a newcomer does: starts what `make run` starts, and
// gives the printed address of metro's riders to the official Python client and
// to the inspector's command line. The inspector finds no fault in the tools'
// schemas. Each signs in as rider1 through the real
// pages and requests a ride, which the person confirms. The operator's client
// sees the trip. Revoking the token stops the next call.
func TestMakeRun(t *testing.T) {
	testkit.Long(t)
	dev := testkit.StartDev(t)
	printed := func(what *regexp.Regexp) string {
		found := what.FindStringSubmatch(dev.Printed)
		if found == nil {
			t.Fatalf("%v is not in what svc dev printed:\n%s", what, dev.Printed)
		}
		return found[1]
	}
	documented(t, strings.ReplaceAll(strings.TrimSpace(riderAddress.FindString(dev.Printed)), dev.BaseURL, defaultURL))
	person := func(audience, email string) flow.Options {
		return flow.Options{BaseURL: dev.BaseURL, Tenant: "metro", Audience: audience, Email: email,
			Password: printed(demoPassword)}
	}
	rider1, address, command := person("rider", "rider1@metro.example"), printed(riderAddress), python(t, "with_mcp.py")
	operator := join(t, command, task{URL: printed(operatorAddress), Redirect: "http://127.0.0.1:9/callback"},
		person("dashboard", "operator@metro.example"))
	defer operator.stop()
	t.Run("mcp", func(t *testing.T) {
		rider := join(t, command, task{URL: address, Redirect: "http://127.0.0.1:9/callback"}, rider1)
		defer rider.stop()
		trip := rider.ride(t, "350 5th Ave")
		if len(rider.asked) != 1 || !strings.Contains(rider.asked[0], `originAddress: "350 5th Ave"`) {
			t.Errorf("the rider was asked %q", rider.asked)
		}
		operator.sees(t, trip)
		rider.revoked(t)
	})
	t.Run("inspector", func(t *testing.T) {
		i := newInspector(t, address, rider1)
		listed, errs, _ := i.run("--method", "tools/list")
		if i.signIns != 1 || !strings.Contains(listed, "svc_request_ride") || strings.Contains(listed, "svc_list_trips") {
			t.Fatalf("%d sign-ins; the tools are %s\n%s", i.signIns, listed, errs)
		}
		if me := i.call("svc_me", map[string]any{}); !strings.Contains(string(me.StructuredContent), rider1.Email) {
			t.Errorf("the rider is %+v", me)
		}
		trip, asked := rideBy(t, i.call, "Pier 3")
		if !strings.Contains(asked, `originAddress: "Pier 3"`) {
			t.Errorf("the rider was asked %q", asked)
		}
		operator.sees(t, trip)
		revokeTokens(t, dev, i.client)
		if me := i.call("svc_me", map[string]any{}); me.exit != authRequired || i.signIns != 1 {
			t.Errorf("after the revocation, and %d sign-ins: %+v", i.signIns, me)
		}
	})
	t.Run("portable", func(t *testing.T) {
		for address, who := range map[string]flow.Options{printed(operatorAddress): person("dashboard",
			"operator@metro.example"), address: rider1, dev.BaseURL + "/mcp/driver/metro/": person("driver",
			"driver1@metro.example")} {
			portable(t, address, who)
		}
	})
	if me := operator.call("svc_me", map[string]any{}); me.IsError || me.failed != "" {
		t.Errorf("the operator after the riders' revocations: %+v", me)
	}
}

// portable checks that the inspector finds no fault in the schemas of the tools at
// an address.
func portable(t *testing.T, address string, who flow.Options) {
	t.Helper()
	i := newInspector(t, address, who)
	listed, errs, code := i.run("--method", "tools/list", "--strict")
	if code != 0 || !strings.Contains(listed, "svc_me") || strings.Contains(errs, "tool \"svc_") {
		t.Errorf("%s: the inspector ends with %d and warns: %s", address, code, errs)
	}
}

// revokeTokens revokes the client's tokens as an operator of the platform does.
func revokeTokens(t *testing.T, dev *testkit.Dev, client string) {
	t.Helper()
	var live []struct{ ID, Client string }
	testkit.Must(t, json.Unmarshal(dev.Svc(t, "token", "list", "metro", "--json"), &live))
	at := slices.IndexFunc(live, func(one struct{ ID, Client string }) bool { return one.Client == client })
	if at < 0 {
		t.Fatalf("no token of %s in %+v", client, live)
	}
	dev.Svc(t, "token", "revoke", live[at].ID)
}

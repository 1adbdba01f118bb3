package main

import (
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// After a client is disabled, every endpoint rejects the client's next request.
// After it is enabled, its requests succeed again.
func TestDisabledClientIsRefusedAtOnce(t *testing.T) {
	testkit.Long(t)
	w := share(t)
	rider := w.token("rider", "rider1@metro.example")
	w.expect("/api/v1/me", rider, 200, "")
	type listed struct {
		ID, Name string
		Tokens   int
	}
	var client string
	for _, token := range read[[]struct{ ID, Audience, Client string }](w, "token", "list", "metro") {
		if token.Audience == "rider" { // the newest: each sign-in registers a client
			client = token.Client
			break
		}
	}
	found := false
	for _, one := range read[[]listed](w, "client", "list", "metro") {
		found = found || one.ID == client && one.Name != "" && one.Tokens > 0
	}
	if !found {
		t.Errorf("client %q is not listed", client)
	}
	everywhere := read[[]listed](w, "client", "list")
	if !slices.ContainsFunc(everywhere, func(one listed) bool { return one.ID == client && one.Name != "" }) ||
		len(read[[]listed](w, "client", "list", "--limit", "1")) != 1 {
		t.Errorf("client %q is not in %v", client, everywhere)
	}
	w.ok("client", "disable", client)
	w.expect("/api/v1/me", rider, 401, "unauthorized")
	if got := read[map[string]any](w, "client", "show",
		client); got["disabled"] != true || got["managementHash"] != nil || got["secretHash"] != nil {
		t.Errorf("client: %v", got)
	}
	w.ok("client", "enable", client)
	w.expect("/api/v1/me", rider, 200, "")
	for by, flags := range map[string][]string{"metro": {"--tenant", "metro"}, "the platform": {"--platform"}} {
		trust := append([]string{"client", "trust", client}, flags...)
		w.ok(trust...)
		w.ok(append(trust, "--end")...)
		if _, errs, code := w.run(append(trust, "--end")...); code != 1 || !strings.Contains(errs, "is not trusted by "+by) {
			t.Errorf("a trust by %s ended twice: %d %s", by, code, errs)
		}
	}
	log := w.ok("audit", "metro")
	for _, want := range []string{"client.disable", "client.enable", "client.trust", "client.distrust"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in the audit log: %s", want, log)
		}
	}
	if strings.Count(log, "client.trust") != 2 || strings.Count(log, "client.distrust") != 2 {
		t.Errorf("the trust of the company and of the platform in the audit log: %s", log)
	}
	for _, args := range [][]string{{"show", "cli_none"}, {"disable", "cli_none"},
		{"trust", "cli_none", "--tenant", "metro"}, {"trust", "cli_none", "--platform"}} {
		if _, errs, code := w.run(append([]string{"client"}, args...)...); code != 1 || !strings.Contains(errs,
			`there is no client "cli_none"`) {
			t.Errorf("client %v: %d %s", args, code, errs)
		}
	}
}

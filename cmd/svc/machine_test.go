package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/domain/machine"
)

// machineToken asks the service for a token of a machine, and returns the status too.
func (w *world) machineToken(client, secret string) (string, int) {
	w.Helper()
	res, err := http.PostForm(w.base+"/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {client},
		"client_secret": {secret}})
	testkit.Must(w, err)
	defer func() { _ = res.Body.Close() }()
	var got struct {
		Access string `json:"access_token"`
	}
	testkit.Must(w, json.NewDecoder(res.Body).Decode(&got))
	return got.Access, res.StatusCode
}

// TestMachineCommands: the platform's operator makes a machine that works, and commands name
// it. After svc restore finish it is disabled.
func TestMachineCommands(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := newCheckout(t)
	w := c.world
	m := read[machine.Machine](w, "machine", "create", "metro", "Nightly export", "--permissions", "VIEW_TRIPS",
		"--permissions", "EDIT_BRANDING")
	secret := read[machine.NewMachineSecret](w, "machine", "add-secret", "metro", m.ID).Secret
	blocks := printed(t, "docs/oauth.md", "## A program without a person")
	out := c.bash("CLIENT_ID=" + m.ClientID + " CLIENT_SECRET=" + secret + " BASE_URL=" + w.base + "\n" + blocks[0])
	_, out, _ = strings.Cut(out, `"access_token":"`) // after curl's progress
	token, _, ok := strings.Cut(out, `"`)
	if !ok || len(blocks) != 1 {
		t.Fatalf("docs/oauth.md prints %q, which print %s", blocks, out)
	}
	w.expect("/api/v1/trips", token, 200, "")
	q, err := http.NewRequest(http.MethodPatch, w.base+"/api/v1/branding", strings.NewReader(`{"appName":"Nightly"}`))
	testkit.Must(t, err)
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	testkit.Must(t, err)
	_ = res.Body.Close()
	for _, args := range [][]string{{"audit", "metro"}, {"token", "list", "metro"}, {"machine", "list", "metro"}} {
		if out := w.ok(args...); !strings.Contains(out, "Nightly export") {
			t.Errorf("svc %s does not name the machine:\n%s", strings.Join(args, " "), out)
		}
	}
	if log := w.ok("audit", "metro"); strings.Contains(log, secret) || !strings.Contains(log, "machine.create") {
		t.Errorf("the audit log:\n%s", log)
	}
	type finished struct {
		Tenant   string
		Machines int
	}
	for _, one := range read[[]finished](w, "restore", "finish", "--yes") {
		if (one.Machines == 1) != (one.Tenant == "metro") {
			t.Errorf("%+v", one)
		}
	}
	w.expect("/api/v1/trips", token, 401, "unauthorized")
	if _, status := w.machineToken(m.ClientID, secret); status != 401 {
		t.Errorf("a machine of a restored table gets %d", status)
	}
	w.ok("tenant", "create", "toy", "--sandbox")
	toy := read[machine.Machine](w, "machine", "create", "toy", "Tried", "--permissions", "VIEW_TRIPS")
	if text := read[machine.NewMachineSecret](w, "machine", "add-secret", "toy", toy.ID).Secret; !strings.HasPrefix(text,
		"svc_sk_test_") {
		t.Errorf("the secret of a sandbox begins with %.12s", text)
	}
	w.ok("machine", "update", "metro", m.ID, "--enabled=true")
	if _, status := w.machineToken(m.ClientID, secret); status != 200 {
		t.Errorf("a machine that was enabled again gets %d", status)
	}
}

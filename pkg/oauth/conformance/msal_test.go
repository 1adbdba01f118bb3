package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
)

// TestMSAL: an application with Microsoft's library signs a rider in with a
// browser. The response is posted to a free port of localhost. The library asks
// for offline_access at every request, at a refresh too.
func TestMSAL(t *testing.T) {
	testkit.Long(t)
	if _, err := os.Stat("node_modules/@azure/msal-node"); err != nil {
		t.Fatal("@azure/msal-node is missing: make npm-tests fetches it")
	}
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	cmd := exec.CommandContext(t.Context(), "node", "msal.mjs")
	cmd.WaitDelay = 10 * time.Second
	what, err := json.Marshal(task{Issuer: s.URL, Scope: "rider.trips:read", Tenant: rita.Tenant,
		Audience: string(rita.Audience)})
	testkit.Must(t, err)
	cmd.Stdin = bytes.NewReader(append(what, '\n'))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	next := func(into any) {
		t.Helper()
		if !lines.Scan() {
			_ = cmd.Wait()
			t.Fatalf("msal.mjs ended early:\n%s", complaints.String())
		}
		testkit.Must(t, json.Unmarshal(lines.Bytes(), into))
	}
	var opened struct{ Open string }
	next(&opened)
	for _, want := range []string{"response_mode=form_post", "offline_access", "redirect_uri=http%3A%2F%2Flocalhost%3A"} {
		if !strings.Contains(opened.Open, want) {
			t.Errorf("the library does not send %s: %s", want, opened.Open)
		}
	}
	testkit.Must(t, chromedp.Do(openTab(t), chromedp.Navigate(opened.Open),
		browsing.WaitVisible(chromedp.CSS("#password")), browsing.SetValue(chromedp.CSS("#email"), rita.Email),
		browsing.SendKeys(chromedp.CSS("#password"), apptest.Password+kb.Enter),
		browsing.WaitVisible(chromedp.CSS(`[value="allow"]`)), browsing.Click(chromedp.CSS(`[value="allow"]`))))
	var ended struct {
		Done struct {
			outcome
			Asked []string `json:"asked"`
		} `json:"done"`
	}
	next(&ended)
	got := ended.Done
	if got.Subject != rita.ID || !got.Rotated || !strings.Contains(got.Scope, "rider.trips:read") || len(got.Asked) != 2 ||
		!strings.Contains(got.Asked[1], "offline_access") {
		t.Errorf("%+v", got)
	}
	if status := s.Get(t, got.Access, "/api/v1/me/trips").Status; status != http.StatusOK {
		t.Errorf("the API after the refresh: %d", status)
	}
}

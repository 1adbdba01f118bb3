package conformance

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// TestPrintedPrograms runs the sign-in programs of docs/clients.md as printed.
// The test acts as the rider's browser.
func TestPrintedPrograms(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rita := s.Rider(t, "metro", "rita")
	dir := filepath.Join("node_modules", ".cache", "printed") // Node finds the packages from here
	testkit.Must(t, os.MkdirAll(dir, 0o750))
	text, err := os.ReadFile("../../../docs/clients.md")
	testkit.Must(t, err)
	for _, test := range []struct{ fence, command, file string }{
		{"js", "node", "sign-in.mjs"},
		{"py", "../../../.cache/python/bin/python", "sign-in.py"},
	} {
		t.Run(test.file, func(t *testing.T) {
			found := regexp.MustCompile("(?s)\n```"+test.fence+"\n(.*?\n)```\n").FindAllSubmatch(text, -1)
			if len(found) != 1 || bytes.Count(found[0][1], []byte("\n")) >= 40 {
				t.Fatalf("expected one program of fewer than 40 lines in docs/clients.md, found %d: %s", len(found), found)
			}
			file := filepath.Join(dir, test.file)
			testkit.Must(t, os.WriteFile(file, found[0][1], 0o600))
			if output := signIn(t, s, rita, test.command, file); !strings.Contains(output, rita.Email) {
				t.Errorf("the program wrote %q, expected the rider's profile", output)
			}
		})
	}
}

// signIn runs the program, signs in at the address that it prints, follows the
// redirect to the program, and returns what the program then prints.
func signIn(t *testing.T, s *apptest.Service, who apptest.Actor, command, file string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, file)
	cmd.Env = append(os.Environ(), "SVC_URL="+s.URL)
	cmd.WaitDelay = 2 * time.Minute
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the program printed no address: %v\n%s", err, complaints.String())
	}
	u, err := url.Parse(strings.TrimSpace(address))
	testkit.Must(t, err)
	person := flow.NewBrowser(flow.Options{BaseURL: s.URL, Tenant: who.Tenant, Audience: string(who.Audience),
		Email: who.Email, Password: apptest.Password})
	answer, err := person.Authorize(t.Context(), u.Query())
	testkit.Must(t, err)
	res, err := http.Get(u.Query().Get("redirect_uri") + "?" + answer.Encode())
	if err == nil {
		_ = res.Body.Close()
	}
	output, _ := io.ReadAll(lines)
	if ended := cmd.Wait(); ended != nil || err != nil {
		t.Fatalf("%v, %v\n%s", ended, err, complaints.String())
	}
	return string(output)
}

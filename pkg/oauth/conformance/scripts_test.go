package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// callback is a redirect URI without a server: the browser stops there.
const callback = "http://127.0.0.1:9/cb"

// task is the input of a client's script.
type task struct {
	Issuer   string `json:"issuer"`
	Redirect string `json:"redirect"`
	Method   string `json:"method"`
	Scope    string `json:"scope"`
	Tenant   string `json:"tenant"`
	Audience string `json:"audience"`
	Alg      string `json:"alg"`
}

// outcome is the result of a client's script.
type outcome struct {
	Subject      string `json:"sub"`
	Email        string `json:"email"`
	Scope        string `json:"scope"`
	Expires      int    `json:"expires"`
	Rotated      bool   `json:"rotated"`
	RefreshedSub string `json:"refreshedSub"`
	Access       string `json:"access"`
	Active       *bool  `json:"active"`
	ActiveAfter  *bool  `json:"activeAfter"`
	Reuse        string `json:"reuse"`
	End          string `json:"end"`
}

func TestNpmClients(t *testing.T) {
	testkit.Long(t)
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node is missing: install Node.js 20 or later (Debian: apt-get install nodejs npm)")
	}
	if _, err := os.Stat("node_modules/openid-client"); err != nil {
		t.Fatal("openid-client is missing: make npm-tests fetches it")
	}
	everyMethod(t, []string{"node", "openid-client.mjs"}, []string{"node", "oauth4webapi.mjs"})
}

// TestAuthlib runs authlib, in the virtual environment that make keeps for it.
func TestAuthlib(t *testing.T) {
	testkit.Long(t)
	const python = "../../../.cache/python/bin/python"
	if _, err := os.Stat(python); err != nil {
		t.Fatal("authlib is missing: make python-tests fetches it (it needs Python 3.10 or later with venv; Debian: " +
			"apt-get install python3-venv)")
	}
	if out, err := exec.CommandContext(t.Context(), python, "-c",
		"import authlib, joserfc, requests").CombinedOutput(); err != nil {
		t.Fatalf("authlib is missing: make python-tests fetches it: %s", out)
	}
	everyMethod(t, []string{python, "with_authlib.py"})
}

// everyMethod runs the script with every authentication method.
func everyMethod(t *testing.T, clients ...[]string) {
	t.Helper()
	s := apptest.New(t)
	operator, rider := s.Operator(t, "metro", "olga"), s.Rider(t, "harbor", "rita")
	for _, command := range clients {
		for _, test := range []struct {
			name, method, alg, scope string
			who                      apptest.Actor
		}{
			{"public client", "none", "RS256", "openid email tenant.trips:read", operator},
			{"client_secret_basic, ES256", "client_secret_basic", "ES256", "openid email rider.trips:read", rider},
			{"client_secret_post", "client_secret_post", "RS256", "openid email profile tenant.trips:read", operator},
		} {
			t.Run(command[1]+" "+test.name, func(t *testing.T) {
				o := converse(t, s, command, task{s.URL, callback, test.method, test.scope, test.who.Tenant,
					string(test.who.Audience), test.alg}, test.who)
				if o.Subject != test.who.ID || o.RefreshedSub != test.who.ID || o.Email != test.who.Email {
					t.Errorf("subject %s, after refresh %s, email %s", o.Subject, o.RefreshedSub, o.Email)
				}
				if o.Scope != test.scope || o.Expires != 3600 || !o.Rotated {
					t.Errorf("scope %q, expires in %d, rotated %v", o.Scope, o.Expires, o.Rotated)
				}
				if o.Reuse != "invalid_grant" {
					t.Errorf("the revoked refresh token: %s", o.Reuse)
				}
				if test.method != "none" && (o.Active == nil || !*o.Active || o.ActiveAfter == nil || *o.ActiveAfter) {
					t.Errorf("introspection before and after the revocation: %v %v", o.Active, o.ActiveAfter)
				}
				path := "/api/v1/me"
				if got := s.Get(t, o.Access, path).Status; got != http.StatusUnauthorized {
					t.Errorf("the API with the revoked token: %d", got)
				}
			})
		}
	}
}

// converse runs the script and acts as the person's browser.
func converse(t *testing.T, s *apptest.Service, command []string, what task, who apptest.Actor) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	tell := func(message any) { testkit.Must(t, json.NewEncoder(in).Encode(message)) }
	tell(what)
	person := flow.NewBrowser(flow.Options{BaseURL: s.URL, Tenant: who.Tenant, Audience: string(who.Audience),
		Email: who.Email, Password: apptest.Password})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var message struct {
			Open string   `json:"open"`
			Done *outcome `json:"done"`
		}
		testkit.Must(t, json.Unmarshal(lines.Bytes(), &message))
		if message.Done != nil {
			signedOut(t, person, message.Done.End)
			return *message.Done
		}
		tell(map[string]string{"sent": visit(t, person, s.URL, message.Open)})
	}
	t.Fatalf("%s ended early:\n%s", command[1], complaints.String())
	return outcome{}
}

// visit opens the address in the person's browser and returns the address to
// which the browser was redirected.
func visit(t *testing.T, person *flow.Browser, base, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	testkit.Must(t, err)
	if before, _, _ := strings.Cut(address, "?"); before != base+"/oauth/authorize" {
		t.Fatalf("the client opens %s", before)
	}
	answer, err := person.Authorize(t.Context(), u.Query())
	testkit.Must(t, err)
	return callback + "?" + answer.Encode()
}

// signedOut opens the client's end-session address and checks that the session
// ends at once.
func signedOut(t *testing.T, person *flow.Browser, address string) {
	t.Helper()
	res, _, err := person.Get(t.Context(), address)
	testkit.Must(t, err)
	if got := res.Header.Get("Location"); got != callback+"/bye" {
		t.Errorf("the end of session: %d to %q", res.StatusCode, got)
	}
}

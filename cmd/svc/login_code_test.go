package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// deviceServer returns a server for sign-ins by a code. answers are those of the token endpoint;
// the last one repeats.
func deviceServer(t *testing.T, answers ...string) (f *fake, asked func() url.Values) {
	t.Helper()
	form := url.Values{}
	f = newFake(&world{T: t}, func(_ int, w http.ResponseWriter, r *http.Request) {
		at := "http://" + r.Host
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer": %q, "device_authorization_endpoint": %q}`, at, at+"/oauth/device_code")
		case "/oauth/device_code":
			_ = r.ParseForm()
			form = r.PostForm
			fmt.Fprintf(w, `{"device_code": "secret", "user_code": "WDJB-MJHT", "verification_uri": "%s/oauth/device",
				"verification_uri_complete": "%[1]s/oauth/device?code=WDJB-MJHT", "expires_in": 600, "interval": 1}`, at)
		case "/oauth/token":
			now := answers[0]
			answers = answers[min(1, len(answers)-1):]
			if !strings.Contains(now, "access_token") {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, now)
		case "/oauth/revoke":
		default:
			_, _ = io.WriteString(w, `{"actor": "dashboard", "email": "me@bay.example"}`)
		}
	})
	return f, func() url.Values { f.mu.Lock(); defer f.mu.Unlock(); return form }
}

const waits = `{"error": "authorization_pending"}`

// TestLoginByCode: where no browser is, svc shows an address and a code, and never a link that has
// the code in it.
func TestLoginByCode(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		args []string
	}{
		"no display": {}, "SSH": {env: []string{"DISPLAY=:7", "SSH_CONNECTION=x"}},
		"asked for": {env: []string{"DISPLAY=:7"}, args: []string{"--device"}},
	} {
		f, asked := deviceServer(t, waits, `{"access_token": "a", "refresh_token": "r", "expires_in": 3600}`)
		f.env = append(f.env, c.env...)
		out, errs, code := f.svc(append([]string{"login", "--tenant", "bay", "--max-age", "1m", "--json"}, c.args...)...)
		if code != 0 || !strings.Contains(errs, "\n\n  "+f.server.URL+"/oauth/device\n\n") ||
			!strings.Contains(errs, "\n\n  WDJB-MJHT\n\n") || strings.Contains(errs, "code=") ||
			!strings.Contains(errs, "10 minutes") {
			t.Errorf("%s: %d %s", name, code, errs)
		}
		var who struct{ Me struct{ Email string } }
		if err := json.Unmarshal([]byte(out), &who); err != nil || who.Me.Email != "me@bay.example" {
			t.Errorf("%s: %v %s", name, err, out)
		}
		if q := asked(); q.Get("client_id") != "svc" || q.Get("tenant_hint") != "bay" || q.Get("max_age") != "60" ||
			q.Get("audience") != "dashboard" || !strings.Contains(q.Get("scope"), "tenant.trips:read") {
			t.Errorf("%s: the request is %v", name, q)
		}
		if s := f.saved("default").Tokens; s.Access != "a" || s.Refresh != "r" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	f, _ := deviceServer(t, `{"error": "access_denied"}`)
	was := f.saved("default")
	if _, errs, code := f.svc("login"); code != 1 || !strings.Contains(errs, "access was denied") {
		t.Errorf("%d %s", code, errs)
	}
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iat": 1000, "auth_time": 500}`))
	old := `{"access_token": "a", "refresh_token": "r", "expires_in": 3600, "id_token": "x.` + claims + `.x"}`
	f, _ = deviceServer(t, old)
	if _, errs, code := f.svc("login", "--max-age", "5m"); code != 1 || !strings.Contains(errs, "did not ask") ||
		f.saved("default").Tokens.Access != was.Tokens.Access || f.seen[len(f.seen)-1].URL.Path != "/oauth/revoke" {
		t.Errorf("a sign-in that is too old: %d %s", code, errs)
	}
	if _, errs, code := f.svc("login", "--max-age", "9m"); code != 0 {
		t.Errorf("a sign-in that is young enough: %d %s", code, errs)
	}
	f, _ = deviceServer(t, waits)
	was = f.saved("default")
	cmd, errs := f.command("login"), &lines{}
	cmd.Stderr = errs
	testkit.Must(t, cmd.Start())
	for deadline := time.Now().Add(testkit.Patience); !strings.Contains(errs.text(), "WDJB"); {
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatal(errs.text())
		}
	}
	testkit.Must(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); err == nil || !strings.Contains(errs.text(), "stopped; nobody was signed in") {
		t.Errorf("%v: %s", err, errs.text())
	}
	if s := f.saved("default"); s.Tokens.Access != was.Tokens.Access {
		t.Errorf("an interrupted sign-in changed %+v", s)
	}
}

// TestLoginWithoutCodes: at a server that has no codes, svc prints the address for a browser.
func TestLoginWithoutCodes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	f := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issuer": "http://%s"}`, r.Host)
	})
	f.fails(1, []string{"signs nobody in by a code"}, "login", "--device")
	cmd, errs := f.command("login"), &lines{}
	cmd.Stderr = errs
	testkit.Must(t, cmd.Start())
	for deadline := time.Now().Add(testkit.Patience); printedAddress.FindString(errs.text()) == ""; {
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatal(errs.text())
		}
	}
	testkit.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// TestLoginByCodeAtTheService: the whole path. Somebody enters the code in a browser elsewhere,
// signs in there and decides.
func TestLoginByCodeAtTheService(t *testing.T) {
	testkit.Long(t)
	w := share(t)
	for decision, email := range map[string]string{"allow": "rider1@metro.example", "deny": "rider2@metro.example"} {
		u := newUser(w)
		cmd, out, errs := u.command("login", "--audience", "rider", "--tenant", "metro"), &lines{}, &lines{}
		cmd.Stdout, cmd.Stderr = out, errs
		testkit.Must(t, cmd.Start())
		var said []string
		for deadline := time.Now().Add(testkit.Patience); said == nil; time.Sleep(10 * time.Millisecond) {
			if said = shownCode.FindStringSubmatch(errs.text()); time.Now().After(deadline) {
				t.Fatal(errs.text())
			}
		}
		enterCode(t, said[1], said[2], email, decision)
		err := cmd.Wait()
		if decision == "deny" {
			if err == nil || !strings.Contains(errs.text(), "access was denied") {
				t.Errorf("denied: %v %s", err, errs.text())
			}
			continue
		}
		if err != nil || !strings.Contains(out.text(), email) {
			t.Errorf("allowed: %v %s%s", err, out.text(), errs.text())
		}
		u.edit("default", func(s *saved) { s.Tokens.Until = time.Now() })
		u.works("api", "GET", "/me/trips?limit=1")
		u.works("logout")
	}
}

var shownCode = regexp.MustCompile(`(?s)\n\n  (http\S+)\n\n.*\n\n  ([B-Z]{4}-[B-Z]{4})\n\n`)

// enterCode does what a person does with a code.
func enterCode(t *testing.T, address, code, email, decision string) {
	t.Helper()
	b := flow.NewBrowser(flow.Options{})
	res, at, err := b.Fill(t.Context(), address, url.Values{"user_code": {code}})
	decided := false
	for range 12 {
		testkit.Must(t, err)
		values := url.Values{"email": {email}, "password": {demo.Password}}
		switch next := res.Header.Get("Location"); {
		case next != "":
			to, err := at.Parse(next)
			testkit.Must(t, err)
			res, at, err = b.Get(t.Context(), to.String())
			testkit.Must(t, err)
			continue
		case decided:
			return
		case strings.Contains(res.Body, `name="decision"`):
			decided, values = true, url.Values{"decision": {decision}}
		}
		res, at, err = b.Fill(t.Context(), at.String(), values)
	}
	t.Fatalf("no end at %s: %d %s", at, res.StatusCode, res.Body)
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// user is a person at a machine of their own, who uses svc as a client of the service.
type user struct {
	*world
	home string
	env  []string
}

func newUser(w *world) *user {
	w.Helper()
	home := w.TempDir()
	return &user{w, home, []string{"XDG_CONFIG_HOME=" + home, "DISPLAY=", "WAYLAND_DISPLAY=", "SSH_CONNECTION=",
		"SVC_PROFILE=", "SVC_CLIENT_ID=", "SVC_CLIENT_SECRET=", "BASE_URL=" + w.base, "TABLE_NAME="}}
}

// command returns svc as a process of its own, as it was built.
func (u *user) command(args ...string) *exec.Cmd {
	u.Helper()
	cmd := exec.CommandContext(u.Context(), detachedProgram(u), args...)
	cmd.Dir = u.home
	cmd.Env = append(append(os.Environ(), u.env...), asProgram+"=1")
	return cmd
}

// svc runs svc to its end.
func (u *user) svc(args ...string) (out, errs string, code int) {
	u.Helper()
	return ended(u.T, u.command(args...))
}

func ended(t *testing.T, cmd *exec.Cmd) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// works runs svc, which must succeed.
func (u *user) works(args ...string) string {
	u.Helper()
	out, errs, code := u.svc(args...)
	if code != 0 {
		u.Fatalf("svc %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// fails runs svc, which must end with the code and name all of the words.
func (u *user) fails(code int, words []string, args ...string) {
	u.Helper()
	out, errs, got := u.svc(args...)
	for _, word := range words {
		if got != code || !strings.Contains(errs, word) || strings.Count(errs, "\n") != 1 {
			u.Errorf("svc %s: exit code %d, want %d and %q: %q, %q", strings.Join(args, " "), got, code, word, out, errs)
		}
	}
}

// bash runs commands as a document prints them. They must not fail.
func (u *user) bash(commands string) string {
	u.Helper()
	program := filepath.Join(u.home, "svc-program", "svc")
	testkit.Must(u, os.MkdirAll(filepath.Dir(program), 0o700))
	script := "#!/bin/sh\nexec '" + detachedProgram(u) + "' \"$@\"\n"
	testkit.Must(u, os.WriteFile(program, []byte(script), 0o700))
	cmd := u.command()
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "-euo", "pipefail", "-c", commands}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, errs, code := ended(u.T, cmd)
	if code != 0 {
		u.Fatalf("%s\n%s%s", commands, out, errs)
	}
	return out
}

// saved is what the file of a profile has.
type saved struct {
	Server   string    `json:"server"`
	Audience string    `json:"audience"`
	Tenant   string    `json:"tenant,omitempty"`
	Tokens   savedPair `json:"tokens"`
}

type savedPair struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh"`
	Until   time.Time `json:"until"`
}

func (u *user) file(profile string) string { return filepath.Join(u.home, "svc", profile+".json") }

func (u *user) saved(profile string) (s saved) {
	u.Helper()
	text, err := os.ReadFile(u.file(profile))
	testkit.Must(u, err)
	testkit.Must(u, json.Unmarshal(text, &s))
	return s
}

// edit changes the file of a profile.
func (u *user) edit(profile string, change func(*saved)) {
	u.Helper()
	s := u.saved(profile)
	change(&s)
	text, err := json.Marshal(s)
	testkit.Must(u, err)
	testkit.Must(u, os.WriteFile(u.file(profile), text, 0o600))
}

// signIn is a svc login that waits for a browser.
type signIn struct {
	*user
	cmd  *exec.Cmd
	errs *lines
	out  *lines
	at   *url.URL // that svc prints
	done chan error
}

var printedAddress = regexp.MustCompile(`(?m)^https?://\S+/oauth/authorize\?\S+$`)

func (u *user) startLogin(args ...string) *signIn {
	u.Helper()
	l := &signIn{user: u, errs: &lines{}, out: &lines{}, done: make(chan error, 1),
		cmd: u.command(append([]string{"login", "--device=false"}, args...)...)}
	l.cmd.Stdout, l.cmd.Stderr = l.out, l.errs
	testkit.Must(u, l.cmd.Start())
	go func() { l.done <- l.cmd.Wait() }()
	for deadline := time.Now().Add(testkit.Patience); l.at == nil; time.Sleep(10 * time.Millisecond) {
		if found := printedAddress.FindString(l.errs.text()); found != "" {
			at, err := url.Parse(found)
			testkit.Must(u, err)
			l.at = at
		} else if time.Now().After(deadline) || len(l.done) > 0 {
			u.Fatalf("svc login prints no address: %s", l.errs.text())
		}
	}
	return l
}

// authorize does what a person does in the browser, and returns the address at which it ends.
func (l *signIn) authorize(email string) string {
	l.Helper()
	b := flow.NewBrowser(flow.Options{BaseURL: l.base, Email: email, Password: demo.Password, Tenant: "metro"})
	answer, err := b.Authorize(l.Context(), l.at.Query())
	testkit.Must(l, err)
	return l.at.Query().Get("redirect_uri") + "?" + answer.Encode()
}

// visit opens an address and returns the status and the page.
func (l *signIn) visit(address string) (int, string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), http.MethodGet, address, nil)
	testkit.Must(l, err)
	res, err := http.DefaultClient.Do(r)
	testkit.Must(l, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	testkit.Must(l, err)
	return res.StatusCode, string(body)
}

// end waits for svc login.
func (l *signIn) end() (code int) {
	l.Helper()
	select {
	case <-l.done:
	case <-time.After(testkit.Patience):
		l.Fatalf("svc login does not end: %s", l.errs.text())
	}
	return l.cmd.ProcessState.ExitCode()
}

// login signs in with a browser.
func (u *user) login(email string, args ...string) {
	u.Helper()
	l := u.startLogin(args...)
	l.visit(l.authorize(email))
	if code := l.end(); code != 0 {
		u.Fatalf("svc login: exit code %d: %s", code, l.errs.text())
	}
}

// TestLogin: a person signs in with the browser, uses the API, and signs out. Foreign, early and
// repeated answers to the port change nothing.
func TestLogin(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	u := newUser(start(t))
	l := u.startLogin()
	back, err := url.Parse(l.at.Query().Get("redirect_uri"))
	testkit.Must(t, err)
	if back.Hostname() != "127.0.0.1" || l.at.Query().Get("code_challenge_method") != "S256" ||
		l.at.Query().Get("client_id") != "svc" {
		t.Errorf("the request is %s", l.at)
	}
	for _, stranger := range []string{"", "?code=x&state=wrong", "?error=access_denied&state="} {
		if status, body := l.visit(back.String() + stranger); status != 404 || !strings.Contains(body, "not the answer") {
			t.Errorf("a stranger's answer gets %d %s", status, body)
		}
	}
	answer := l.authorize("operator@metro.example")
	pages := make(chan int, 2)
	for range 2 { // browsers do send one twice
		go func() { status, _ := l.visit(answer); pages <- status }()
	}
	if one, two := <-pages, <-pages; one != 200 || two != 200 || l.end() != 0 {
		t.Fatalf("%d, %d, %s", one, two, l.errs.text())
	}
	if out := l.out.text(); !strings.Contains(out, "operator@metro.example") || strings.Contains(out, "eyJ") {
		t.Errorf("svc login prints %s", out)
	}
	for path, want := range map[string]os.FileMode{u.file("default"): 0o600, filepath.Dir(u.file("default")): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if out := u.works("whoami"); !strings.Contains(out, "metro") || !strings.Contains(out, u.base) {
		t.Errorf("svc whoami prints %s", out)
	}
	for _, path := range []string{"/trips?limit=1", "api/v1/trips?limit=1", "/api/v1/trips?limit=1",
		u.base + "/api/v1/trips?limit=1"} {
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(u.works("api", "get", path)), &page); err != nil || len(page.Items) != 1 {
			t.Errorf("%s: %v %+v", path, err, page)
		}
	}
	if out := u.works("api", "GET", "/trips?limit=2", "--all"); strings.Count(out, "\n") < 10 ||
		strings.Count(out, `{"id":"trp_`) != strings.Count(out, "\n") {
		t.Errorf("svc api --all prints %s", out)
	}
	refresh := u.saved("default").Tokens.Refresh
	recipe := printed(t, "docs/how-to.md", "## Call the API from a terminal")
	_, rest, ok := strings.Cut(recipe[0], "svc login https://api.bay.example\n")
	if out := u.bash(rest); !ok || len(recipe) != 1 || !strings.Contains(out, "dee@bay.example") ||
		!strings.Contains(out, "Signed out of "+u.base) {
		t.Errorf("the recipe %s prints %s", recipe, out)
	}
	u.fails(1, []string{"svc login"}, "whoami")
	u.fails(1, []string{"nobody is signed in"}, "logout")
	_, err = flow.Refresh(t.Context(), flow.Options{BaseURL: u.base, ClientID: "svc"}, refresh)
	if refused := (*flow.Error)(nil); !errors.As(err, &refused) || refused.Code != "invalid_grant" {
		t.Errorf("after svc logout the refresh token gets %v", err)
	}
}

// TestLoginFails: nothing is stored if the person refuses, if another server answers, or if svc is
// interrupted.
func TestLoginFails(t *testing.T) {
	testkit.Long(t)
	w := share(t)
	for name, c := range map[string]struct {
		change func(url.Values)
		want   string
	}{
		"refused":        {func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, "access was denied"},
		"mixed up":       {func(q url.Values) { q.Set("iss", "https://evil.example") }, `iss "https://evil.example"`},
		"without issuer": {func(q url.Values) { q.Del("iss") }, `iss ""`},
		"a wrong code":   {func(q url.Values) { q.Set("code", "x") }, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(&world{T: t, data: w.data, base: w.base})
			l := u.startLogin()
			at, err := url.Parse(l.authorize("operator@metro.example"))
			testkit.Must(t, err)
			query := at.Query()
			c.change(query)
			at.RawQuery = query.Encode()
			status, page := l.visit(at.String())
			if code := l.end(); code != 1 || status != 400 || !strings.Contains(page, "failed") ||
				!strings.Contains(l.errs.text(), c.want) {
				t.Errorf("%d %s, exit code %d: %s", status, page, code, l.errs.text())
			}
			u.fails(1, []string{"nobody is signed in"}, "whoami")
		})
	}
	t.Run("Ctrl-C", func(t *testing.T) {
		u := newUser(&world{T: t, data: w.data, base: w.base})
		l := u.startLogin()
		testkit.Must(t, l.cmd.Process.Signal(syscall.SIGINT))
		if code := l.end(); code != 1 || !strings.Contains(l.errs.text(), "stopped; nobody was signed in") {
			t.Errorf("exit code %d: %s", code, l.errs.text())
		}
	})
	t.Run("the wrong address", func(t *testing.T) {
		u := newUser(&world{T: t, data: w.data, base: w.base})
		other := strings.Replace(w.base, "127.0.0.1", "localhost", 1)
		u.fails(1, []string{"signs people in at " + w.base}, "login", other)
		u.fails(2, []string{"expected https"}, "login", "http://api.example")
		u.fails(2, []string{"no address of a server"}, "login", "https://api.example/api/v1")
		u.fails(2, []string{"no address of a server"}, "login", "https://me:pw@api.example")
		u.fails(2, []string{"profile"}, "login", "--profile", "../x")
		u.fails(2, []string{"pilot"}, "login", "--audience", "pilot")
	})
}

// TestLoginOpensABrowser: with a display svc opens the address that it prints.
func TestLoginOpensABrowser(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	opened := filepath.Join(u.home, "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	for _, name := range []string{"xdg-open", "open"} {
		testkit.Must(t, os.WriteFile(filepath.Join(u.home, name), []byte(script), 0o700))
	}
	u.env = append(u.env, "DISPLAY=:7", "PATH="+u.home+":"+os.Getenv("PATH"))
	l := u.startLogin("--max-age", "5m", "--tenant", "metro")
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(opened)
		if err == nil && string(text) == l.at.String() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("opened %q, %v, and prints %s", text, err, l.at)
		}
	}
	if q := l.at.Query(); q.Get("max_age") != "300" || q.Get("tenant_hint") != "metro" {
		t.Errorf("the request is %s", l.at)
	}
	l.visit(l.authorize("operator@metro.example"))
	if l.end() != 0 {
		t.Error(l.errs.text())
	}
}

// TestProfiles: a person is several people at once, and signs in again as the same.
func TestProfiles(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	u.login("operator@metro.example")
	u.login("rider1@metro.example", "--profile", "ava", "--audience", "rider", "--tenant", "metro")
	for name, want := range map[string]string{"default": "operator@metro.example", "ava": "rider1@metro.example"} {
		if out := u.works("whoami", "--profile", name); !strings.Contains(out, want) {
			t.Errorf("%s is %s", name, out)
		}
	}
	l := u.startLogin("--profile", "narrow", "--scope", "rider.trips:read", "--audience", "rider", "--tenant", "metro")
	l.visit(l.authorize("rider1@metro.example"))
	if code := l.end(); code != 0 || !strings.Contains(l.out.text(), "Signed in at "+u.base+" (profile narrow).") {
		t.Errorf("a sign-in that may not read the profile: %d %s%s", code, l.out.text(), l.errs.text())
	}
	first := u.saved("ava").Tokens.Refresh
	u.env = append(u.env, "SVC_PROFILE=ava")
	if out := u.works("api", "GET", "/me/trips?limit=1"); !strings.Contains(out, "tripCode") {
		t.Errorf("a rider's trips: %s", out)
	}
	u.fails(1, []string{"403 insufficient_scope"}, "api", "GET", "/trips")
	u.login("rider1@metro.example")
	if s := u.saved("ava"); s.Audience != "rider" || s.Tenant != "metro" || s.Tokens.Refresh == first {
		t.Errorf("signed in again: %+v", s)
	}
	if _, err := flow.Refresh(t.Context(), flow.Options{BaseURL: u.base, ClientID: "svc"}, first); err == nil {
		t.Error("the tokens of the sign-in before are valid still")
	}
	u.works("api", "GET", "/me")
	u.env = append(u.env, "BASE_URL=https://other.example")
	u.fails(2, []string{"BASE_URL is https://other.example"}, "api", "GET", "/me")
	u.works("api", "GET", "/me", "--profile", "ava")
}

// TestDisabledCommandLine: the platform's operator stops svc as any client.
func TestDisabledCommandLine(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	u := newUser(start(t))
	u.login("operator@metro.example")
	u.ok("client", "disable", "svc")
	u.fails(1, []string{"has ended", "svc login"}, "api", "GET", "/me")
	l := u.startLogin()
	b := flow.NewBrowser(flow.Options{BaseURL: u.base})
	if _, err := b.Authorize(t.Context(), l.at.Query()); err == nil {
		t.Error("a disabled svc signs in")
	}
	_ = l.cmd.Process.Kill()
	u.ok("client", "enable", "svc")
	u.works("api", "GET", "/me")
}

// TestMachineLogin: a machine signs in by its secret, and leaves nothing behind.
func TestMachineLogin(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	type made struct{ ID, ClientID, Secret string }
	m := read[made](u.world, "machine", "create", "metro", "Nightly", "--permissions", "VIEW_TRIPS",
		"--permissions", "VIEW_EVENTS")
	secret := read[made](u.world, "machine", "add-secret", "metro", m.ID).Secret
	u.env = append(u.env, "SVC_CLIENT_ID="+m.ClientID, "SVC_CLIENT_SECRET="+secret)
	if out := u.works("api", "GET", "/trips?limit=1"); !strings.Contains(out, "trp_") {
		t.Errorf("a machine reads %s", out)
	}
	recipe := printed(t, "docs/how-to.md", "## Call the API from a CI job")
	commands := strings.NewReplacer("https://api.bay.example", u.base, "CLIENT_ID=…", "CLIENT_ID="+m.ClientID,
		"SECRET=…", "SECRET="+secret).Replace(recipe[0])
	if out := u.bash(commands); len(recipe) != 1 || !strings.Contains(out, `"trip.requested"`) {
		t.Errorf("the recipe %s prints %s", recipe, out)
	}
	if out := u.works("whoami"); !strings.Contains(out, "Nightly") {
		t.Errorf("a machine is %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(u.home, "svc", "*")); len(left) > 0 {
		t.Errorf("a machine left %v", left)
	}
	u.fails(1, []string{"nobody is signed in"}, "api", "GET", "/me", "--profile", "default")
	u.env = append(u.env, "SVC_CLIENT_SECRET=svc_sk_live_wrong")
	if _, errs, code := u.svc("api", "GET", "/me"); code != 1 || !strings.Contains(errs, "invalid_client") ||
		strings.Contains(errs, "wrong") {
		t.Errorf("a wrong secret: %d %s", code, errs)
	}
	u.env = append(u.env, "SVC_CLIENT_SECRET=")
	u.fails(2, []string{"belong together"}, "api", "GET", "/me")
}

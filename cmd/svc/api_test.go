package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// between puts a server before the service, through which the profile's requests go. refreshes
// counts those that refresh; before is called with each of them.
func (u *user) between(profile string, before func()) (refreshes *atomic.Int32) {
	u.Helper()
	to, err := url.Parse(u.base)
	testkit.Must(u, err)
	proxy, refreshes := httputil.NewSingleHostReverseProxy(to), &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			refreshes.Add(1)
			before()
			r = r.WithContext(u.Context()) // a client that goes away changes nothing for the service
		}
		proxy.ServeHTTP(w, r)
	}))
	u.Cleanup(server.Close)
	u.edit(profile, func(s *saved) { s.Server = server.URL })
	u.env = append(u.env, "BASE_URL=")
	return refreshes
}

// TestRefreshAtOnce: of ten processes whose token has ended, one refreshes.
func TestRefreshAtOnce(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	u.login("operator@metro.example")
	refreshes := u.between("default", func() { time.Sleep(200 * time.Millisecond) })
	for round := range 3 {
		before := u.saved("default").Tokens
		u.edit("default", func(s *saved) {
			if s.Tokens.Until = time.Now(); round == 1 { // the server says that it has ended
				s.Tokens.Access, s.Tokens.Until = "x", time.Now().Add(time.Hour)
			}
		})
		refreshes.Store(0)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, errs, code := u.svc("api", "GET", "/me"); code != 0 {
					t.Errorf("exit code %d: %s", code, errs)
				}
			})
		}
		all.Wait()
		after := u.saved("default").Tokens
		if n := refreshes.Load(); n != 1 || after.Refresh == before.Refresh || after.Access == "x" {
			t.Errorf("%d refreshes; the tokens are the same: %v", n, after == before)
		}
	}
	u.works("api", "GET", "/me")
}

// TestRefreshInterrupted: Ctrl-C during a refresh does not lose the next refresh token.
func TestRefreshInterrupted(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	u.login("operator@metro.example")
	before := u.saved("default").Tokens
	under := make(chan struct{})
	u.between("default", sync.OnceFunc(func() { close(under); time.Sleep(300 * time.Millisecond) }))
	u.edit("default", func(s *saved) { s.Tokens.Until = time.Now() })
	cmd := u.command("api", "GET", "/me")
	testkit.Must(t, cmd.Start())
	<-under
	testkit.Must(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted command succeeds")
	}
	if after := u.saved("default").Tokens; after.Refresh == before.Refresh {
		t.Error("the tokens of the refresh are lost")
	}
	u.works("api", "GET", "/me")
}

// TestRefreshEnded: tokens that somebody else has used, and a server that fails.
func TestRefreshEnded(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	u.login("operator@metro.example")
	u.edit("default", func(s *saved) { s.Tokens.Until = time.Now() })
	_, err := flow.Refresh(t.Context(), flow.Options{BaseURL: u.base, ClientID: "svc"}, u.saved("default").Tokens.Refresh)
	testkit.Must(t, err)
	u.fails(1, []string{"the profile default at " + u.base + " has ended; run svc login"}, "api", "GET", "/me")
	fails := http.StatusBadGateway
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(fails)
		_, _ = io.WriteString(w, "<html>no</html>")
	}))
	u.env = append(u.env, "BASE_URL=")
	u.edit("default", func(s *saved) { s.Server = server.URL })
	tokens := u.saved("default").Tokens
	u.fails(1, []string{"refreshing the tokens", "Bad Gateway"}, "api", "GET", "/me")
	fails = http.StatusOK
	u.fails(1, []string{"refreshing the tokens"}, "api", "GET", "/me")
	server.Close()
	u.fails(1, []string{"refreshing the tokens"}, "api", "GET", "/me")
	if now := u.saved("default").Tokens; now.Refresh != tokens.Refresh {
		t.Error("a failure of the server changed the tokens")
	}
	_, errs, code := u.svc("logout")
	if code != 1 || !strings.Contains(errs, "has forgotten the tokens") || !strings.Contains(errs, "did not end them") {
		t.Errorf("logout without a server: %d %s", code, errs)
	}
	u.fails(1, []string{"nobody is signed in"}, "api", "GET", "/me")
}

// TestProfileOfOthers: tokens that others may read or replace are not used.
func TestProfileOfOthers(t *testing.T) {
	testkit.Long(t)
	u := newUser(share(t))
	u.login("operator@metro.example")
	dir := filepath.Dir(u.file("default"))
	for mode, path := range map[os.FileMode]string{0o640: u.file("default"), 0o604: u.file("default"), 0o777: dir,
		0o720: dir} {
		was, err := os.Stat(path)
		testkit.Must(t, err)
		testkit.Must(t, os.Chmod(path, mode))
		u.fails(1, []string{"others may", "chmod", path}, "api", "GET", "/me")
		testkit.Must(t, os.Chmod(path, was.Mode()))
	}
	testkit.Must(t, os.Chmod(u.file("default"), 0o644))
	u.login("operator@metro.example") // makes the file anew
	u.works("api", "GET", "/me")
	for _, damaged := range []string{"", "{", "[]", "{}"} {
		testkit.Must(t, os.WriteFile(u.file("default"), []byte(damaged), 0o600))
		u.fails(1, []string{"is damaged; run svc login"}, "api", "GET", "/me")
	}
}

// TestAPIWrites: bodies from everywhere, and what the answers become.
func TestAPIWrites(t *testing.T) {
	testkit.Long(t)
	u := newUser(start(t))
	u.login("operator@metro.example")
	driver := `{"email": "d%d@bay.example", "firstName": "Dée"}`
	var made struct{ ID, FirstName string }
	testkit.Must(t, json.Unmarshal([]byte(u.works("api", "POST", "/drivers", "-d", fmt.Sprintf(driver, 1))), &made))
	file := filepath.Join(u.home, "driver.json")
	testkit.Must(t, os.WriteFile(file, []byte(fmt.Sprintf(driver, 2)), 0o600))
	u.works("api", "post", "/drivers", "-d", "@"+file)
	cmd := u.command("api", "POST", "/drivers", "-d", "@-", "-i")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(driver, 3))
	out, errs, code := ended(t, cmd)
	if code != 0 || !strings.HasPrefix(out, "HTTP/1.1 201 Created\n") || !strings.Contains(out, "\nX-Request-Id: ") ||
		!strings.Contains(out, "\n\n{") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	tag := ""
	for line := range strings.Lines(u.works("api", "GET", "/drivers/"+made.ID, "--include")) {
		if value, ok := strings.CutPrefix(line, "Etag: "); ok {
			tag = strings.TrimSpace(value)
		}
	}
	patch := []string{"api", "PATCH", "/drivers/" + made.ID, "-d", `{"lastName": "D"}`, "-H", "If-Match: " + tag}
	u.works(patch...)
	u.fails(1, []string{"412 precondition_failed"}, patch...)
	u.fails(1, []string{"400 invalid_request", "email", "; "}, "api", "POST", "/drivers", "-d", `{"firstName": 7}`)
	u.fails(1, []string{"404 not_found"}, "api", "GET", "/drivers/"+"drv_01JMETR0000000000000000099")
	u.fails(1, []string{"405 method_not_allowed"}, "api", "PUT", "/drivers", "-d", "{}")
	u.fails(1, []string{"there is no such file"}, "api", "POST", "/drivers", "-d", "@"+file+".none")
	for _, wrong := range [][]string{{"/drivers"}, {"FETCH", "/drivers"}, {"GET", "/x#1"}, {"GET", "/x", "-H", "X"},
		{"GET", "/trips", "-H", "Authorization: Bearer x"}, {"POST", "/drivers", "--all"}, {"GET", "/x%zz"},
		{"GET", "https://evil.example/api/v1/me"}, {"GET", "http://127.0.0.1:1/"}} {
		u.fails(2, []string{"--help"}, append([]string{"api"}, wrong...)...)
	}
	if out := u.works("api", "GET", "/customers?q=no body é"); !strings.Contains(out, `"items": []`) {
		t.Errorf("a query with blanks: %s", out)
	}
	var failed struct {
		Error    string
		ExitCode int
	}
	out, errs, code = u.svc("api", "GET", "/drivers/x", "--json", "--include")
	if err := json.Unmarshal([]byte(errs), &failed); err != nil || code != 1 || failed.ExitCode != 1 ||
		!strings.Contains(failed.Error, "404 not_found") || !strings.Contains(out, `"error": "not_found"`) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	u.fails(1, []string{"no list with pages"}, "api", "GET", "/me", "--all")
	u.fails(1, []string{"no list with pages"}, "api", "GET", "/events?after=earliest", "--all")
}

// fake is a server that answers as the test says, at which somebody is signed in.
type fake struct {
	*user
	server *httptest.Server
	mu     sync.Mutex
	seen   []*http.Request
}

func newFake(w *world, answer func(n int, w http.ResponseWriter, r *http.Request)) *fake {
	f := &fake{user: newUser(w)}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen = append(f.seen, r)
		answer(len(f.seen), w, r)
	}))
	w.Cleanup(f.server.Close)
	f.env = append(f.env, "BASE_URL=")
	testkit.Must(w, os.MkdirAll(filepath.Join(f.home, "svc"), 0o700))
	text, err := json.Marshal(saved{Server: f.server.URL, Audience: "dashboard",
		Tokens: savedPair{"the-token", "r", time.Now().Add(time.Hour)}})
	testkit.Must(w, err)
	testkit.Must(w, os.WriteFile(f.file("default"), text, 0o600))
	return f
}

// TestAPIStaysHome: no redirect takes the token or the request to another host.
func TestAPIStaysHome(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		f := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/steal", status)
		})
		f.fails(1, []string{fmt.Sprint(status), "svc follows no redirect", other.URL}, "api", "GET", "/me")
		f.fails(1, []string{fmt.Sprint(status)}, "api", "POST", "/drivers", "-d", "{}")
		f.edit("default", func(s *saved) { s.Tokens.Until = time.Now() }) // the refresh token stays home too
		f.fails(1, []string{"token request"}, "api", "GET", "/me")
		f.fails(1, []string{"did not end them"}, "logout")
		f.fails(1, []string{"metadata cannot be read"}, "login", f.server.URL)
	}
	f := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issuer": "http://%s", "device_authorization_endpoint": "%s/device"}`, r.Host, other.URL)
	})
	f.fails(1, []string{"an endpoint of another host"}, "login", f.server.URL)
	f.edit("default", func(s *saved) { s.Server = "http://api.example" })
	f.fails(2, []string{"expected https"}, "api", "GET", "/me")
	f.fails(2, []string{"expected https"}, "logout")
	if n := foreign.Load(); n != 0 {
		t.Errorf("another host got %d requests", n)
	}
}

// TestAPIRetries: a request is sent again with the same key if that is safe, else not.
func TestAPIRetries(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	busy := func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"n": 12345678901234567890.10}`)
	}
	lost := func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
			return
		}
		busy(n, w, r)
	}
	limited := func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		busy(n, w, r)
	}
	for _, c := range []struct {
		method string
		answer func(int, http.ResponseWriter, *http.Request)
		sent   int
	}{{"GET", busy, 2}, {"POST", busy, 2}, {"GET", lost, 2}, {"POST", lost, 2}, {"POST", limited, 2},
		{"PATCH", limited, 2}, {"PATCH", busy, 1}, {"PATCH", lost, 1}, {"DELETE", busy, 1}} {
		f := newFake(&world{T: t}, c.answer)
		args := []string{"api", c.method, "/drivers"}
		if c.method != "GET" {
			args = append(args, "-d", "{}")
		}
		out, errs, code := f.svc(args...)
		keys := map[string]bool{}
		for _, r := range f.seen {
			keys[r.Header.Get("Idempotency-Key")] = true
		}
		if len(f.seen) != c.sent || (code == 0) != (c.sent == 2) || len(keys) != 1 || keys[""] == (c.method == "POST") ||
			code == 0 && !strings.Contains(out, "12345678901234567890.10") {
			t.Errorf("%s: sent %d times with the keys %v, want %d; exit code %d: %s%s", c.method, len(f.seen), keys, c.sent,
				code, out, errs)
		}
	}
	f := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error": "outcome_unknown", "error_description": "Not confirmed."}`)
	})
	f.fails(1, []string{"503 outcome_unknown: Not confirmed.", "-H 'Idempotency-Key: mine'"}, "api", "POST", "/x", "-d",
		"{}", "-H", "idempotency-key: mine")
	if len(f.seen) != 4 || f.seen[3].Header.Get("Idempotency-Key") != "mine" {
		t.Errorf("sent %d times", len(f.seen))
	}
}

// TestAPIRefused: the error says which command helps.
func TestAPIRefused(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	challenge := `Bearer error="insufficient_user_authentication", error_description="x", max_age="300"`
	f := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error": "insufficient_user_authentication", "error_description": "Too long ago."}`)
	})
	f.fails(1, []string{"run svc login --max-age 300s"}, "api", "POST", "/machines", "-d", "{}")
	if len(f.seen) != 1 || !slices.Equal(f.seen[0].Header["Authorization"], []string{"Bearer the-token"}) {
		t.Errorf("sent %d times", len(f.seen))
	}
	endless := newFake(&world{T: t}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items": [{"a": 1}], "next_cursor": "same"}`)
	})
	if out, errs, code := endless.svc("api", "GET", "/trips", "--all"); code != 1 || out != "{\"a\":1}\n{\"a\":1}\n" ||
		!strings.Contains(errs, "no end") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

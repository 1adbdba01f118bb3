package agents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os/exec"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// task is the input of a client's program: the address of the server, and how
// the client identifies itself to the authorization server.
type task struct {
	URL          string `json:"url"`
	Redirect     string `json:"redirect"`
	Port         int    `json:"port"`     // where the program listens for the redirect
	Mode         string `json:"mode"`     // "legacy", or "" to negotiate
	ClientID     string `json:"clientId"` // set if the client is already registered
	ClientSecret string `json:"clientSecret"`
	Document     string `json:"document"` // address of the metadata document
	Key          string `json:"key"`      // private key of the document, PEM; "" for none
}

// agent is a client's program that exchanges messages with the test. The test
// acts as the person: it drives the browser and answers questions.
type agent struct {
	t       *testing.T
	base    string // address of the service
	in      *json.Encoder
	out     *bufio.Scanner
	log     *bytes.Buffer
	stop    func()
	person  *flow.Browser
	asked   []string // questions that the person answered with yes
	session struct{ Refresh, Access, ClientID string }
}

// answer is a tool's result or the list of tools.
type answer struct {
	Tools             []string
	StructuredContent json.RawMessage
	Content           []struct{ Text string }
	IsError           bool
	failed            string // the call did not end with a result
	exit              int    // code of a program that failed
}

type message struct {
	Open   string
	Ask    string
	Ready  *struct{ Refresh, Access, ClientID string }
	Result *answer
	Failed string
}

// connect starts the program and lets the actor sign in.
func connect(t *testing.T, s *apptest.Service, command []string, what task, who apptest.Actor) *agent {
	t.Helper()
	return join(t, command, what, personOf(s, who))
}

// personOf returns how the actor signs in.
func personOf(s *apptest.Service, who apptest.Actor) flow.Options {
	return flow.Options{BaseURL: s.URL, Tenant: who.Tenant, Audience: string(who.Audience), Email: who.Email,
		Password: apptest.Password}
}

// join starts the program and lets the person sign in.
func join(t *testing.T, command []string, what task, who flow.Options) *agent {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.WaitDelay = 10 * time.Second
	a := &agent{t: t, base: who.BaseURL, log: &bytes.Buffer{}, person: flow.NewBrowser(who)}
	cmd.Stderr = a.log
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	a.in, a.out = json.NewEncoder(in), bufio.NewScanner(out)
	a.out.Buffer(nil, 1<<20)
	a.stop = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	testkit.Must(t, a.in.Encode(what))
	for m := a.read(); ; m = a.read() {
		if m.Ready != nil {
			a.session = *m.Ready
			return a
		}
		if m.Open == "" {
			a.stop()
			t.Fatalf("the client did not connect: %s\n%s", m.Failed, a.log)
		}
		testkit.Must(t, a.in.Encode(map[string]string{"sent": visit(t, a.person, m.Open)}))
	}
}

func (a *agent) read() (m message) {
	a.t.Helper()
	if !a.out.Scan() {
		a.stop()
		a.t.Fatalf("the client ended early: %v\n%s", a.out.Err(), a.log)
	}
	testkit.Must(a.t, json.Unmarshal(a.out.Bytes(), &m))
	return m
}

// visit opens the address in the person's browser and returns the address to
// which the browser was redirected.
func visit(t *testing.T, person *flow.Browser, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	testkit.Must(t, err)
	sent, err := person.Authorize(t.Context(), u.Query())
	testkit.Must(t, err)
	return u.Query().Get("redirect_uri") + "?" + sent.Encode()
}

func (a *agent) do(request map[string]any) answer {
	a.t.Helper()
	testkit.Must(a.t, a.in.Encode(request))
	for m := a.read(); ; m = a.read() {
		switch {
		case m.Ask != "":
			a.asked = append(a.asked, m.Ask)
			testkit.Must(a.t, a.in.Encode(map[string]bool{"agree": true}))
		case m.Result != nil:
			return *m.Result
		default:
			return answer{failed: m.Failed}
		}
	}
}

// tools lists the tools.
func (a *agent) tools() []string {
	a.t.Helper()
	return a.do(map[string]any{"method": "tools/list"}).Tools
}

func (a *agent) call(tool string, arguments map[string]any) answer {
	a.t.Helper()
	return a.do(map[string]any{"method": "tools/call", "name": tool, "arguments": arguments})
}

// freePort returns a free port of this machine.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

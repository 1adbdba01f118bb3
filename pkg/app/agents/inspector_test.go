package agents

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// inspector runs the inspector's command line, one process per request. It
// registers, prints the address where the person signs in, listens for the
// redirect, and keeps the tokens in a file. It cannot show a question, so a
// tool that needs a confirmation returns the question and a code.
type inspector struct {
	*testing.T
	address string // address of the MCP server
	env     []string
	person  *flow.Browser
	client  string // how it registered; "" before it has signed in
	signIns int
}

func newInspector(t *testing.T, address string, who flow.Options) *inspector {
	t.Helper()
	return &inspector{T: t, address: address, person: flow.NewBrowser(who), env: append(environment(t),
		"MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=file")}
}

// signInAt is the address that the inspector prints for the person.
var signInAt = regexp.MustCompile(`http://\S+/oauth/authorize\?\S+`)

// Exit codes of the inspector.
const (
	authRequired = 3
	toolError    = 5
)

// run runs the program and returns what it printed, and its exit code.
func (i *inspector) run(arguments ...string) (stdout, stderr string, code int) {
	i.Helper()
	cmd := exec.CommandContext(i.Context(), node(i.T), append([]string{"node_modules/.bin/mcp-inspector", "--cli",
		i.address, "--transport", "http", "--protocol-era", "modern", "--connect-timeout", "0", "--format", "json",
		"--callback-url", "http://127.0.0.1:" + strconv.Itoa(freePort(i.T)) + "/oauth/callback"}, arguments...)...)
	cmd.Env = i.env
	out, errs := &strings.Builder{}, &strings.Builder{}
	cmd.Stdout = out
	pipe, err := cmd.StderrPipe()
	testkit.Must(i.T, err)
	testkit.Must(i.T, cmd.Start())
	opened := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		errs.WriteString(lines.Text() + "\n")
		if address := signInAt.FindString(lines.Text()); address != "" && !opened {
			opened = true
			i.signIn(address)
		}
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
		i.Fatalf("%v: %v\n%s%s", arguments, err, out, errs)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (i *inspector) signIn(address string) {
	i.Helper()
	u, err := url.Parse(address)
	testkit.Must(i.T, err)
	i.client = u.Query().Get("client_id")
	i.signIns++
	res, err := http.Get(visit(i.T, i.person, address))
	testkit.Must(i.T, err)
	_ = res.Body.Close()
}

// call calls a tool with the stored token, which never starts a sign-in.
func (i *inspector) call(tool string, arguments map[string]any) answer {
	i.Helper()
	text, err := json.Marshal(arguments)
	testkit.Must(i.T, err)
	out, errs, code := i.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(text),
		"--stored-auth-only")
	if code != 0 && code != toolError {
		return answer{failed: errs, exit: code}
	}
	var said struct{ Result answer }
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		i.Fatalf("%s: %v\n%s%s", tool, err, out, errs)
	}
	return said.Result
}

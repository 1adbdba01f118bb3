package agents

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
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

var fenced = regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)\n```\n")

// needPerson are the commands of docs/agents.md that no test runs, and why.
var needPerson = map[string]string{
	"claude mcp add": "the program needs an account; TestMakeRun compares the command with what svc dev prints",
	"code --add-mcp": "the program signs in by its own window",
}

// page runs what docs/agents.md prints.
type page struct {
	*testing.T
	dev *testkit.Dev
}

// TestPrintedAgentsPage runs each block of docs/agents.md as printed, with the Node.js
// that the clients need, against the service that `make run` starts.
func TestPrintedAgentsPage(t *testing.T) {
	testkit.Long(t)
	text, err := os.ReadFile("../../../docs/agents.md")
	testkit.Must(t, err)
	dev, seen := testkit.StartDev(t), map[string]bool{}
	run := map[string]func(page, string){
		"npx @modelcontextprotocol/inspector --cli": page.signsIn,
		"npx @modelcontextprotocol/inspector":       page.starts,
		"import asyncio":                            page.program,
		`{"mcpServers"`:                             page.address,
		"svc tenant set":                            page.svc,
	}
	for name := range needPerson {
		run[name] = page.address
	}
	for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
		begin := ""
		for name := range run {
			if strings.HasPrefix(block[2], name) && len(name) > len(begin) {
				begin = name
			}
		}
		if seen[begin] = true; begin == "" {
			t.Errorf("no test runs this block of docs/agents.md: %s", block[2])
			continue
		}
		t.Run(begin, func(t *testing.T) {
			run[begin](page{t, dev}, strings.ReplaceAll(block[2], defaultURL, dev.BaseURL))
		})
	}
	for name := range run {
		if !seen[name] {
			t.Errorf("docs/agents.md has no block that begins with %q", name)
		}
	}
}

func (p page) svc(command string) { p.dev.Svc(p.T, strings.Fields(command)[1:]...) }

// address checks the address of a client that needs a person.
func (p page) address(block string) {
	if !strings.Contains(block, p.dev.BaseURL+"/mcp/rider/metro") {
		p.Errorf("no address of the server in %s", block)
	}
	if at := strings.IndexByte(block, '{'); at >= 0 && !json.Valid([]byte(strings.Trim(block[at:], "'"))) {
		p.Errorf("no JSON: %s", block)
	}
}

// shell returns a command with the newer Node.js first in its path. npx finds the
// packages of this folder.
func (p page) shell(name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), name, arguments...)
	cmd.Env = append(environment(p.T), "PATH="+filepath.Dir(node(p.T))+string(os.PathListSeparator)+os.Getenv("PATH"),
		"MCP_AUTO_OPEN_ENABLED=false", "MCP_INSPECTOR_SECRET_STORE=file", "BROWSER=echo %s", "PYTHONUNBUFFERED=1",
		"npm_config_update_notifier=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npx starts further processes
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// lines starts a command and passes each line that it prints to see, until see returns
// false. Then, or at its end, it returns all lines.
func (p page) lines(cmd *exec.Cmd, see func(string) bool) string {
	p.Helper()
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	testkit.Must(p.T, cmd.Start())
	go func() { _ = write.CloseWithError(cmd.Wait()) }()
	all := &strings.Builder{}
	for lines := bufio.NewScanner(read); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !see(lines.Text()) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			break
		}
	}
	_, _ = io.Copy(io.Discard, read)
	return all.String()
}

// listsTools lets the rider sign in at the address that the command prints, and waits
// for the tools.
func (p page) listsTools(cmd *exec.Cmd) {
	p.Helper()
	rider, opened := flow.NewBrowser(flow.Options{BaseURL: p.dev.BaseURL, Tenant: "metro", Audience: "rider",
		Email: "rider1@metro.example", Password: demo.Password}), false
	out := p.lines(cmd, func(line string) bool {
		if address := signInAt.FindString(line); address != "" && !opened {
			opened = true
			go p.callback(visit(p.T, rider, address))
		}
		return !strings.Contains(line, "svc_request_ride")
	})
	if !opened || !strings.Contains(out, "svc_request_ride") {
		p.Errorf("no tools: %s", out)
	}
}

// callback follows the redirect to the program. Some programs print the address before they listen, so it tries again
// until somebody does.
func (p page) callback(address string) {
	for p.Context().Err() == nil {
		if res, err := http.Get(address); err == nil {
			_ = res.Body.Close()
			return
		}
		testkit.Sleep(p.Context(), 50*time.Millisecond)
	}
}

// signsIn runs a command that shows the address for the sign-in. Without a terminal it
// does so only if it may open a browser.
func (p page) signsIn(command string) {
	cmd := p.shell("bash", "-c", command)
	cmd.Env = append(cmd.Env, "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true")
	p.listsTools(cmd)
}

// starts waits until the command serves its page.
func (p page) starts(command string) {
	out := p.lines(p.shell("bash", "-c", command), func(line string) bool { return !strings.Contains(line, "http://") })
	if !strings.Contains(out, "http://") {
		p.Errorf("no page: %s", out)
	}
}

func (p page) program(text string) {
	file := filepath.Join(p.TempDir(), "program.py")
	testkit.Must(p.T, os.WriteFile(file, []byte(text), 0o600))
	p.listsTools(p.shell(python(p.T, file)[0], file))
}

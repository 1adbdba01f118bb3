package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

	"svc"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/dev"
	"svc/cmd/svc/people"
	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// asProgram makes the test binary behave as svc, for commands that documents
// print.
const asProgram = "SVC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	svc.Template = testkit.Template(240)
	keyring.MockInitWithError(keyring.ErrUnsupportedPlatform) // that of the developer is not for tests
	dev.SettleTime, cli.CompleteTime, dev.SlugTime = 10*time.Minute, 10*time.Minute, 10*time.Minute
	people.DrainTime = 0 // no function runs beside the deletions of the tests
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	if os.Getenv(asCurl) != "" {
		os.Exit(curl(os.Args[1:]))
	}
	_ = os.Unsetenv("TABLE_NAME") // else a command would leave its data folder; the name is valid
	code := m.Run()
	if err := endCommon(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// printed returns the shell blocks below a heading of a document.
func printed(t *testing.T, file, heading string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %q", file, heading)
	}
	level := strings.Repeat("#", strings.Count(strings.Fields(heading)[0], "#"))
	part, _, _ = strings.Cut(part, "\n"+level+" ")
	for _, piece := range strings.Split(part, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(piece, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// checkout is a folder where printed commands run: bin/svc is this program, also
// bin/curl if the machine has no curl, and .local the data folder of the running
// service.
type checkout struct {
	*world
	dir string
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{start(t), t.TempDir()}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(c.data, filepath.Join(c.dir, ".local")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, as := range map[string]string{"svc": asProgram, "curl": asCurl} {
		script := "#!/bin/sh\n" + as + "=1 exec '" + program + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(c.dir, "bin", name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// bash runs commands as printed, with the address of the running service. They must
// not fail.
func (c *checkout) bash(commands string) string {
	c.Helper()
	out, err := c.tryBash(commands)
	if err != nil {
		c.Fatalf("%v\n%s\n%s", err, commands, out)
	}
	return out
}

func (c *checkout) tryBash(commands string) (string, error) {
	cmd := exec.CommandContext(c.Context(), "bash", "-euo", "pipefail", "-c",
		strings.ReplaceAll(commands, "http://127.0.0.1:8080", c.base))
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(c.dir, "bin"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestPrintedFirstCall runs README's first call as printed, and its sign-in by
// hand with a browser at the printed address.
func TestPrintedFirstCall(t *testing.T) {
	testkit.Long(t)
	c := newCheckout(t)
	blocks := printed(t, "README.md", "## The first call")
	if len(blocks) != 3 {
		t.Fatalf("README prints %d blocks of commands, want 3", len(blocks))
	}
	out := c.bash(blocks[0])
	for _, want := range []string{`"rider1@metro.example"`, `"status":"PENDING"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the first call prints no %s: %s", want, out)
		}
	}
	out = c.bash(blocks[1] + "\nprintf 'CLIENT=%s\\nVERIFIER=%s\\n' $CLIENT $VERIFIER")
	address, set, _ := strings.Cut(out, "\n")
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	browser := flow.NewBrowser(flow.Options{BaseURL: c.base, Email: "rider1@metro.example", Password: demo.Password})
	answer, err := browser.Authorize(t.Context(), at.Query())
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const paste = "CODE=…"
	if !strings.Contains(blocks[2], paste) {
		t.Fatalf("README does not say where the code goes: %s", blocks[2])
	}
	api, _, _ := strings.Cut(blocks[1], "\n")
	exchange := func(code string) string {
		return c.bash(api + "\n" + set + strings.Replace(blocks[2], paste, "CODE="+code, 1))
	}
	if out := exchange(answer.Get("code")); !strings.Contains(out, `"rider1@metro.example"`) {
		t.Errorf("the call by hand prints %s", out)
	}
	// A failed step prints its answer, and makes no call with a token that is none.
	for _, code := range []string{answer.Get("code"), "wrong"} {
		if out := exchange(code); !strings.HasPrefix(out, "No token: {") || !strings.Contains(out, `"invalid_grant"`) ||
			strings.Contains(out, `"unauthorized"`) {
			t.Errorf("the exchange of a bad code prints %s", out)
		}
	}
	bad := strings.Replace(blocks[1], `"audiences": ["rider"]`, `"audiences": ["pilot"]`, 1)
	if out := c.bash(bad); !strings.HasPrefix(out, "No client: {") || strings.Contains(out, "/oauth/authorize") {
		t.Errorf("a failed registration prints %s", out)
	}
}

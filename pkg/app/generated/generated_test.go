package generated

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// TestTypeScript, TestPython and TestGo run the commands of docs/clients.md as
// printed: they generate a client from the served document and take a ride with
// the program of that page, to the receipt. Then the client is type-checked.
func TestTypeScript(t *testing.T) {
	testkit.Long(t)
	if _, err := os.Stat("node_modules/openapi-typescript"); err != nil {
		t.Fatalf("openapi-typescript is missing; make npm-tests fetches it: %v", err)
	}
	s := apptest.New(t)
	dir := filepath.Join("node_modules", ".cache", "client") // Node finds the packages from here
	testkit.Must(t, os.MkdirAll(dir, 0o750))
	program(t, "ts", filepath.Join(dir, "ride.ts"))
	t.Setenv("npm_config_offline", "true") // npx uses installed packages only
	ride(t, s, dir, commands(t, "npx openapi-typescript"))
}

func TestPython(t *testing.T) {
	testkit.Long(t)
	bin, err := filepath.Abs("../../../.cache/python/bin")
	testkit.Must(t, err)
	if _, err := os.Stat(filepath.Join(bin, "openapi-python-client")); err != nil {
		t.Fatalf("openapi-python-client is missing; make python-tests fetches it: %v", err)
	}
	s := apptest.New(t)
	dir := t.TempDir()
	program(t, "python", filepath.Join(dir, "ride.py"))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ride(t, s, dir, commands(t, "openapi-python-client generate"))
	// client.py is the generator's own file and no part of the document.
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "mypy.ini"),
		[]byte("[mypy]\nstrict = True\n[mypy-svc_client.client]\nignore_errors = True\n"), 0o600))
	run(t, dir, nil, filepath.Join(bin, "mypy"), "svc_client", "ride.py")
}

func TestGo(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	dir := t.TempDir()
	testkit.Must(t, os.CopyFS(dir, os.DirFS("testdata/golang")))
	program(t, "go", filepath.Join(dir, "main.go"))
	ride(t, s, dir, commands(t, "oapi-codegen -generate"))
	run(t, dir, nil, "go", "vet", ".")
}

// fetching are commands that ask a registry, or make the module that fetching
// needs. The tests leave them out: they have the same packages from lock files.
var fetching = regexp.MustCompile(`(?m)^(npm init .*|npm install .*|pip install .*|go mod init .*|go get -tool .*|go mod tidy && )`)

// commands returns the block of commands of docs/clients.md that contains a text,
// without what fetches packages.
func commands(t *testing.T, holds string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/clients.md")
	testkit.Must(t, err)
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?\n)```\n").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], holds) && fetching.MatchString(block[1]) {
			return fetching.ReplaceAllString(block[1], "")
		}
	}
	t.Fatalf("docs/clients.md has no commands with %q after one that fetches packages", holds)
	return ""
}

// ride runs the commands with the tokens of a rider and a driver and checks
// that the rider paid for one trip.
func ride(t *testing.T, s *apptest.Service, dir, script string) {
	t.Helper()
	rider := s.Token(t, s.Rider(t, "metro", "rita"))
	driver := s.Token(t, s.Driver(t, "metro", "dan"))
	output := run(t, dir, []string{"SVC_URL=" + s.URL, "RIDER=" + rider, "DRIVER=" + driver,
		"SERVICE=" + s.ServiceType(t, "metro", "0.2")}, "bash", "-ec", script)
	for _, word := range []string{"PENDING", "COMPLETED", "-18.5"} {
		if !strings.Contains(output, word) {
			t.Errorf("the program did not write %s: %q", word, output)
		}
	}
	trips := s.Get(t, rider, "/api/v1/me/trips").Must(t, 200)
	wallet := s.Get(t, rider, "/api/v1/me/wallet").Must(t, 200)
	if strings.Count(string(trips.Body), `"status":"COMPLETED"`) != 1 ||
		strings.Count(string(wallet.Body), `"type":"TRIP_PAYMENT"`) != 1 {
		t.Errorf("expected one completed and paid trip: %s %s", trips.Body, wallet.Body)
	}
	earned := s.Get(t, driver, "/api/v1/me/wallet").Must(t, 200)
	if !strings.Contains(string(earned.Body), `"amount":14.8`) {
		t.Errorf("the driver was not credited the fare less the commission: %s", earned.Body)
	}
}

// program writes the only program in the language of docs/clients.md to a file.
func program(t *testing.T, language, file string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/clients.md")
	testkit.Must(t, err)
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("docs/clients.md has %d programs in %s, expected one", len(found), language)
	}
	if lines := strings.Count(string(found[0][1]), "\n"); lines >= 40 {
		t.Errorf("the program has %d lines, expected fewer than 40", lines)
	}
	testkit.Must(t, os.WriteFile(file, found[0][1], 0o600))
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	c.Env = slices.Concat(os.Environ(), env)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

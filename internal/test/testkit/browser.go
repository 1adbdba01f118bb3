package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"svc/pkg/local/engine"
)

// Chrome returns the path of the browser for tests of pages: the one in CHROME, else an
// installed Chromium or Chrome, else the one that make test fetched. It prefers the
// headless shell, which takes a quarter less processor time. Without a browser the test
// fails.
func Chrome(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CHROME"); path != "" {
		return path
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
		"google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		filepath.Join(engine.Repository(), ".cache", "chromium", "chrome")} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no browser was found: make browser fetches one for Linux x64; elsewhere install one, or set CHROME to the " +
		"path of one")
	return ""
}

// Axe returns a script that runs axe-core on a page, with the rules of WCAG 2.2
// AA and of good practice. The script's promise resolves to one text for each
// fault. The script leaves out faults inside the element that the selector except
// names, "" for none. modules is the node_modules folder with axe-core.
func Axe(t testing.TB, modules, except string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("axe-core is missing; make npm-tests fetches it: %v", err)
	}
	return "if (!window.axe) {" + string(source) + fmt.Sprintf(`}
		axe.run(document, {preload: false,
			runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then(r => r.violations.flatMap(v => v.nodes
			.filter(n => !%[1]q || !document.querySelector(n.target[0]).closest(%[1]q))
			.map(n => v.id + ": " + n.html + ": " + n.failureSummary)))`, except)
}

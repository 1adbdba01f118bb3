package repository_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestPageOfEndpointsWorks: the Go files of docs/endpoint.md, put beside the others,
// compile and pass their own tests.
func TestPageOfEndpointsWorks(t *testing.T) {
	testkit.Long(t) // it links a test program
	root, err := filepath.Abs(repository)
	testkit.Must(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs/endpoint.md"))
	testkit.Must(t, err)
	files := map[string]string{} // where each is said to be, and where it is
	for _, m := range regexp.MustCompile("(?s)\n## (pkg/[a-z/_]+\\.go)\n\n```go\n(.*?)```").FindAllSubmatch(page, -1) {
		file := filepath.Join(t.TempDir(), "file.go")
		testkit.Must(t, os.WriteFile(file, m[2], 0o600))
		files[filepath.Join(root, string(m[1]))] = file
	}
	if len(files) != 2 {
		t.Fatalf("the page has the files %v", files)
	}
	text, err := json.Marshal(map[string]any{"Replace": files})
	testkit.Must(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	testkit.Must(t, os.WriteFile(overlay, text, 0o600))
	// vet and the tests need a folder that exists.
	binary := filepath.Join(t.TempDir(), "vehicle.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./pkg/domain/vehicle")
	run := exec.Command(binary, "-test.v")
	build.Dir, run.Dir = root, filepath.Join(root, "pkg/domain")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

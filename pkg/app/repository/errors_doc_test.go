package repository_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/fault"
)

// TestErrorCatalogue checks that docs/errors.md names every error code of the
// API with its status.
func TestErrorCatalogue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for kind := fault.KindInternal; ; kind++ {
		e := &fault.Error{Kind: kind}
		if e.Status() == 0 {
			break
		}
		codes++
		row := fmt.Sprintf("| %d | `%s` |", e.Status(), e.Code())
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/errors.md has no row that begins with %q", row)
		}
	}
	if codes < 14 {
		t.Errorf("%d codes were found, expected at least 14", codes)
	}
}

// writtenCode finds an error code in the source of the authorization server or
// of the MCP server.
var writtenCode = regexp.MustCompile(`(?:Refuse\(|Code: |errorResult\()"([a-z_]+)"|code\w+ += (-3\d{4})`)

// TestErrorCatalogueOfOAuth checks that docs/errors.md has a row for every
// error code that the sources of the authorization server and of the MCP server
// contain.
func TestErrorCatalogueOfOAuth(t *testing.T) {
	catalogue, err := os.ReadFile("../../../docs/errors.md")
	testkit.Must(t, err)
	_, rows, ok := strings.Cut(string(catalogue), "## Of the OAuth endpoints")
	if !ok {
		t.Fatal("docs/errors.md has no part about the OAuth endpoints")
	}
	seen := map[string]bool{}
	for _, dir := range []string{"../../oauth", "../../edge/mcp"} {
		testkit.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range writtenCode.FindAllStringSubmatch(string(text), -1) {
				seen[m[1]+m[2]] = true
			}
			return err
		}))
	}
	for code := range seen {
		if !strings.Contains(rows, "| `"+code+"` |") && !strings.Contains(rows, "| "+code+" |") {
			t.Errorf("docs/errors.md has no row for %s", code)
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d codes were found, expected at least 30", len(seen))
	}
}

package repository_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/internal/test/testkit"
)

const (
	repository   = "../../.."
	maxDocColumn = 100 // prose in documents; tables and code blocks may be wider
)

// TestDocuments checks every Markdown file of the repository: prose has at most
// 100 columns, relative links point to existing files and headings, and make
// targets exist. cmd/svc checks the commands of svc.
func TestDocuments(t *testing.T) {
	out, err := exec.Command("git", "-C", repository, "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.Fields(string(out))
	if len(files) < 10 {
		t.Fatalf("git lists %d documents, expected more", len(files))
	}
	targets := makeTargets(t)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(repository, file))
			if err != nil {
				t.Fatal(err)
			}
			checkColumns(t, string(text))
			checkLinks(t, filepath.Dir(filepath.Join(repository, file)), string(text))
			checkTargets(t, targets, string(text))
		})
	}
}

func checkColumns(t *testing.T, text string) {
	t.Helper()
	code := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if n := utf8.RuneCountInString(line); n > maxDocColumn && !code && !strings.HasPrefix(line, "|") {
			t.Errorf("line %d has %d columns, at most %d are allowed", i+1, n, maxDocColumn)
		}
	}
}

var (
	codeBlock = regexp.MustCompile("(?s)\n```.*?\n```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func checkLinks(t *testing.T, dir, text string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
			t.Errorf("the link to %s leads nowhere", m[1])
		}
		if anchor == "" {
			continue
		}
		there := []byte(text)
		if target != "" {
			var err error
			if there, err = os.ReadFile(filepath.Join(dir, target)); err != nil {
				t.Fatal(err)
			}
		}
		if !hasAnchor(string(there), anchor) {
			t.Errorf("the link to %s names no heading", m[1])
		}
	}
}

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// hasAnchor reports whether a document has a heading with that anchor, as
// GitHub forms it.
func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := notAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestDocumentsAreLinked checks that a reader who follows links from README
// reaches every document in docs/.
func TestDocumentsAreLinked(t *testing.T) {
	reached := map[string]bool{"README.md": true}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		text, err := os.ReadFile(filepath.Join(repository, queue[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			file := filepath.Join(filepath.Dir(queue[0]), target)
			if strings.HasSuffix(target, ".md") && !strings.Contains(target, "://") && !reached[file] {
				reached[file] = true
				queue = append(queue, file)
			}
		}
	}
	out, err := exec.Command("git", "-C", repository, "ls-files", "docs/**.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.Fields(string(out))
	if len(files) < 20 {
		t.Errorf("git lists %d documents in docs, expected at least 20", len(files))
	}
	for _, file := range files {
		if !reached[file] {
			t.Errorf("no link leads from README to %s", file)
		}
	}
}

var makeCommand = regexp.MustCompile("(?:`|^|&& )(?:[A-Z]+=\\S+ )?make ([a-z][a-z-]*)")

func checkTargets(t *testing.T, targets map[string]bool, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		for _, m := range makeCommand.FindAllStringSubmatch(line, -1) {
			if !targets[m[1]] {
				t.Errorf("the Makefile has no target %s, which is named in %q", m[1], strings.TrimSpace(line))
			}
		}
	}
}

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(string(text), -1) {
		targets[m[1]] = true
	}
	return targets
}

var namedTests = regexp.MustCompile(`-run '?([\w|]+)`)

// TestDocumentsNameTests: a document that runs chosen tests names tests that exist.
func TestDocumentsNameTests(t *testing.T) {
	tests, err := exec.Command("git", "-C", repository, "grep", "-hE", "^func Test", "--", "*_test.go").Output()
	testkit.Must(t, err)
	found := 0
	for file, text := range handwritten(t) {
		for _, m := range namedTests.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(m[1], "|") {
				if found++; !regexp.MustCompile(`func Test\w*` + strings.TrimPrefix(name, "Test")).Match(tests) {
					t.Errorf("%s runs tests by the name %s, which no test has", file, name)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d names of tests in the documents", found)
	}
}

package repository_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxWords  = 34_000 // of the documents that people write
	maxReason = 4_000  // of the two pages of decisions together
	maxTables = 2_500  // of docs/tables.md
)

// decisionPages are the pages of what spans packages, departs from the specification or would be undone.
var decisionPages = []string{"docs/decisions.md", "docs/engineering.md"}

// notWritten are the pages that programs write, and the one of measurements.
var notWritten = map[string]bool{"docs/cli.md": true, "docs/configuration.md": true, "docs/tables.md": true}

// handwritten returns the documents that people write, without the parts that programs write.
func handwritten(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", repository, "ls-files", ":(glob)*.md", "docs/*.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	generated := regexp.MustCompile(`(?s)<!-- [a-z ]+: begin.*?<!-- [a-z ]+: end -->`)
	texts := map[string]string{}
	for file := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		if !notWritten[file] {
			texts[file] = string(generated.ReplaceAll(text, nil))
		}
	}
	return texts
}

// TestDocumentsAreShort: nobody reads more. Before a page gets words, another one loses some.
func TestDocumentsAreShort(t *testing.T) {
	sum, reasons := 0, 0
	for file, text := range handwritten(t) {
		words := len(strings.Fields(text))
		sum += words
		if slices.Contains(decisionPages, file) {
			reasons += words
		}
		t.Logf("%6d %s", words, file)
	}
	if sum > maxWords {
		t.Errorf("the documents that people write have %d words, at most %d are allowed: "+
			"say each thing once, and a decision in one to three sentences; if a merge brought old text back, take "+
			"the file of main and add your lines again", sum, maxWords)
	}
	if reasons > maxReason {
		t.Errorf("%v have %d words, at most %d are allowed: move a decision that concerns one package into a comment at "+
			"the code that it explains", decisionPages, reasons, maxReason)
	}
	text, err := os.ReadFile(filepath.Join(repository, "docs", "tables.md"))
	if n := len(strings.Fields(string(text))); err != nil || n > maxTables {
		t.Errorf("docs/tables.md has %d words, at most %d are allowed: a golden file has what every operation consumes: %v",
			n, maxTables, err)
	}
}

// TestDocumentsAreListedOnce: the index has each page of people and programs exactly once.
func TestDocumentsAreListedOnce(t *testing.T) {
	const index = "docs/README.md"
	texts := handwritten(t)
	listed := map[string]int{}
	for _, m := range link.FindAllStringSubmatch(texts[index], -1) {
		listed[filepath.Join("docs", m[1])]++
	}
	for file := range notWritten {
		texts[file] = ""
	}
	for file := range texts {
		if n := listed[file]; n != 1 && file != index {
			t.Errorf("%s has %d entries for %s: add one, with what its reader wants", index, n, file)
		}
	}
}

var decision = regexp.MustCompile(`(?m)^- \*\*([^*]+)\*\*`)

// TestDocumentsDecideOnce: a merge can bring back an old wording beside the new one.
func TestDocumentsDecideOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range decisionPages {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range decision.FindAllSubmatch(bytes.ReplaceAll(text, []byte("\n  "), []byte(" ")), -1) {
			title := strings.Trim(string(m[1]), ".:")
			if seen[title] {
				t.Errorf("%s decides %q twice: keep the newer wording; if a merge brought "+
					"many back, take the file of main and add your lines again", file, title)
			}
			seen[title] = true
		}
	}
}

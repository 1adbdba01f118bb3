package markdown_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/test/markdown"
)

// A section goes between its markers. Text outside of the markers stays unchanged.
func TestWriteSection(t *testing.T) {
	begin, end := "<!-- cpu: begin -->", "<!-- cpu: end -->"
	table := markdown.Table([]string{"endpoint", ">ms", "key"}, [][]string{{"`GET /me`", "1", "T#"}})
	const want = "| endpoint | ms | key |\n| --- | ---: | --- |\n| `GET /me` | 1 | T# |\n"
	if table != want {
		t.Errorf("%q", table)
	}
	for name, tt := range map[string]struct{ before, after string }{
		"no markers": {"# Performance\n\n## Cold starts\n", "# Performance\n\n## Cold starts\n\n" + begin + "\n" + want +
			end + "\n"},
		"markers": {"# Performance\n" + begin + "\nstale\n" + end + "\n\n## Cold starts\n", "# Performance\n" + begin +
			"\n" + want + end + "\n\n## Cold starts\n"},
		"no end": {"# Performance\n" + begin + "\nstale\n", ""},
	} {
		file := filepath.Join(t.TempDir(), "tables.md")
		if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := markdown.WriteSection(file, "cpu", want); (err != nil) != (tt.after == "") {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || tt.after != "" && string(got) != tt.after {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A paragraph has lines of at most 99 columns, also where letters have several bytes.
func TestParagraph(t *testing.T) {
	word := strings.Repeat("ä", 9)
	line := strings.TrimSuffix(strings.Repeat(word+" ", 9), " ") // 89 columns; another word makes 99
	got := markdown.Paragraph("%s\n%s %s  %s", line, word, word, "end")
	if want := line + " " + word + "\n" + word + " end\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package repository_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/markdown"
	"svc/internal/test/testkit"
)

// nothing is the Personal of a type that tells nothing of a rider or driver.
const nothing = "nothing"

// TestKindsAreDeclared: each type of item says beside its items what it tells of a
// rider or driver, and what an erasure does with that. Whoever stores a new type
// decides it.
func TestKindsAreDeclared(t *testing.T) {
	declared, stored := apptest.ItemKinds(t, "../.."), apptest.ItemTypes(t, "../..")
	formats, err := os.ReadFile("../testdata/stored_formats.txt")
	testkit.Must(t, err)
	for line := range strings.Lines(string(formats)) {
		kind, _, _ := strings.Cut(line, ":")
		stored[kind] = "a write in testdata/stored_formats.txt"
	}
	for kind, file := range stored {
		k, ok := declared[kind]
		if !ok {
			t.Errorf("items of type %s (%s): declare them with a table.Kind", kind, file)
		} else if k.Personal == "" || (k.Personal == nothing) != (k.Erasure == "") {
			t.Errorf("items of type %s: Personal says what they tell of a rider or driver, and Erasure what becomes of it; "+
				"or Personal is %q", kind, nothing)
		}
	}
	for kind := range declared {
		if stored[kind] == "" {
			t.Errorf("nothing makes items of type %s, which are declared", kind)
		}
	}
}

const privacyFile = "../../../docs/privacy.md"

// withKinds returns docs/privacy.md with the table of what is personal between its
// markers. Types with the same texts share a row.
func withKinds(t *testing.T) []byte {
	t.Helper()
	types := map[[2]string][]string{}
	for kind, k := range apptest.ItemKinds(t, "../..") {
		if k.Personal != nothing {
			texts := [2]string{k.Personal, k.Erasure}
			types[texts] = append(types[texts], kind)
		}
	}
	var rows [][]string
	for texts, names := range types {
		slices.Sort(names)
		rows = append(rows, []string{strings.Join(names, ", "), texts[0], texts[1]})
	}
	slices.SortFunc(rows, slices.Compare[[]string])
	return between(t, privacyFile, "personal data", markdown.Table([]string{"items", "what", "an erasure"}, rows))
}

// between returns a file with the text between the markers of that name.
func between(t *testing.T, file, name, text string) []byte {
	t.Helper()
	begin, end := "<!-- "+name+": begin (make golden) -->\n", "<!-- "+name+": end -->\n"
	whole, err := os.ReadFile(file)
	testkit.Must(t, err)
	head, rest, found := strings.Cut(string(whole), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	return []byte(head + begin + text + end + tail)
}

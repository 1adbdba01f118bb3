package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc/pkg/data/table"
	"svc/pkg/local/markdown"
	"svc/pkg/local/testkit"
)

// nothing is the Personal of a type that tells nothing of a rider or driver.
const nothing = "nothing"

// itemKinds returns the declarations of the source, by the type of item.
func itemKinds(t *testing.T) map[string]table.Kind {
	t.Helper()
	out := map[string]table.Kind{}
	testkit.Must(t, filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok {
				if of, ok := literal.Type.(*ast.SelectorExpr); ok && isKind(of) {
					k := kindIn(t, file, literal)
					if _, twice := out[k.Type]; twice {
						t.Errorf("%s declares the type %s again", file, k.Type)
					}
					out[k.Type] = k
				}
			}
			return true
		})
		return nil
	}))
	return out
}

// isKind reports whether the selector is table.Kind. Other packages have kinds too.
func isKind(of *ast.SelectorExpr) bool {
	from, ok := of.X.(*ast.Ident)
	return ok && from.Name == "table" && of.Sel.Name == "Kind"
}

// kindIn reads the literal of a declaration.
func kindIn(t *testing.T, file string, literal *ast.CompositeLit) (k table.Kind) {
	t.Helper()
	members := map[string]*string{"Type": &k.Type, "Personal": &k.Personal, "Erasure": &k.Erasure, "Once": &k.Once}
	for _, element := range literal.Elts {
		pair, _ := element.(*ast.KeyValueExpr)
		if pair == nil {
			t.Fatalf("%s: a table.Kind without the names of its members", file)
		}
		value, _ := pair.Value.(*ast.BasicLit)
		name, _ := pair.Key.(*ast.Ident)
		if value == nil || name == nil || members[name.Name] == nil {
			t.Fatalf("%s: a member of a table.Kind is no literal", file)
		}
		text, err := strconv.Unquote(value.Value)
		testkit.Must(t, err)
		*members[name.Name] = text
	}
	return k
}

// TestKindsAreDeclared: each type of item says beside its items what it tells of a
// rider or driver, and what an erasure does with that. Whoever stores a new type
// decides it.
func TestKindsAreDeclared(t *testing.T) {
	declared, stored := itemKinds(t), itemTypes(t)
	formats, err := os.ReadFile("testdata/stored_formats.txt")
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

const privacyFile = "../../docs/privacy.md"

// withKinds returns docs/privacy.md with the table of what is personal between its
// markers. Types with the same texts share a row.
func withKinds(t *testing.T) []byte {
	t.Helper()
	types := map[[2]string][]string{}
	for kind, k := range itemKinds(t) {
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

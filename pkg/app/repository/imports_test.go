package repository_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors lists the folders of pkg/ from the lowest floor to the highest. A
// package imports its own floor and the floors below it.
var floors = []string{"base", "data", "access", "edge", "domain", "background", "oauth", "local", "app"}

// testSupport lists the packages that test files of every floor may import,
// whatever their floor: the local engine and stream, the service for tests, and
// the projection, which writes the rows that lists of the domain read.
var testSupport = []string{"svc/pkg/local/", "svc/internal/test/", "svc/pkg/background/projection"}

// TestFloors checks that no package under pkg/ imports a package of a higher
// floor, and that functions, cmd and bench contain everything else.
func TestFloors(t *testing.T) {
	found := map[int]bool{}
	for _, p := range packages(t, `{{.ImportPath}}: {{join .Imports " "}}`) {
		f := floorOf(p.path)
		if f < 0 {
			if strings.HasPrefix(p.path, "svc/pkg/") {
				t.Errorf("%s is on no floor; move it into one of pkg/{%s}", p.path, strings.Join(floors, ","))
			}
			continue
		}
		found[f] = true
		for _, imported := range p.imports {
			if above(imported, f) {
				t.Errorf("%s imports %s, which is on a higher floor; the floors from low to high are %s",
					p.path, imported, strings.Join(floors, ", "))
			}
		}
	}
	for f, name := range floors {
		if !found[f] {
			t.Errorf("no package is on the floor %s", name)
		}
	}
}

// TestFloorDocs checks that every floor says what belongs there and what it
// may import.
func TestFloorDocs(t *testing.T) {
	for _, name := range floors {
		text, err := os.ReadFile(filepath.Join("../..", name, "README.md"))
		if err != nil {
			t.Errorf("pkg/%s has no README.md: %v", name, err)
			continue
		}
		for _, heading := range []string{"## What belongs here", "## What it may import"} {
			if !strings.Contains(string(text), heading) {
				t.Errorf("pkg/%s/README.md has no part %q", name, heading)
			}
		}
	}
	dirs, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !slices.Contains(floors, d.Name()) {
			t.Errorf("pkg/%s is no floor", d.Name())
		}
	}
}

// TestFloorPicture checks that the pictures of the floors in the documents show
// the folders of pkg/ as they are. With -update it draws them again.
func TestFloorPicture(t *testing.T) {
	for _, file := range []string{"../../../README.md", "../../../docs/design.md"} {
		drawn(t, file, "floors", drawFloors(t))
	}
}

// drawn checks that a document has the text between the marks of the name. With -update
// it puts it there.
func drawn(t *testing.T, file, name, want string) {
	t.Helper()
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has nothing between %q and %q", file, begin, end)
	}
	switch updated := before + begin + want + end + after; {
	case updated == string(text):
	case *update:
		if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the %s in %s are out of date; `go test ./pkg/app/repository -run '%s' -update` writes them again", name,
			file, t.Name())
	}
}

// drawFloors returns the floors as a mermaid flowchart, the highest at the top,
// each with its packages.
func drawFloors(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	for _, floor := range slices.Backward(floors) {
		dirs, err := filepath.Glob(filepath.Join("../..", floor, "*", "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, file := range dirs {
			if name := filepath.Base(filepath.Dir(file)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		label := "<b>" + floor + "</b>"
		for line := range slices.Chunk(names, 7) {
			label += "<br/>" + strings.Join(line, " · ")
		}
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", floor, label)
	}
	highestFirst := slices.Clone(floors)
	slices.Reverse(highestFirst)
	fmt.Fprintf(&b, "  %s\n```\n", strings.Join(highestFirst, " --> "))
	return b.String()
}

// TestImports checks that only the allowed packages import the libraries that
// one package wraps.
func TestImports(t *testing.T) {
	for _, rule := range []struct {
		imported string
		by       []string
		why      string
	}{
		{"github.com/nyaruka/phonenumbers", []string{"svc/pkg/base/phone/plans"}, "it is five megabytes"},
		{"svc/pkg/base/phone/plans", []string{"svc/cmd/svc/", "svc/functions/projection", "svc/functions/jobs",
			"svc/functions/trips", "svc/functions/fleet", "svc/functions/mcp", "svc/internal/test/apitest",
			"svc/internal/test/apptest"}, "only a function that reads phones may link the numbering plans"},
		{"github.com/lestrrat-go/jwx/", []string{"svc/pkg/access/signing"},
			"a later major version must be a change of one package"},
		{"golang.org/x/sync/errgroup", []string{"svc/pkg/base/panics", "svc/bench"},
			"a panic in another goroutine ends the process"},
		{"github.com/guregu/dynamo/", []string{"svc/pkg/data/table"}, "the guard and the handles must see every request"},
		{"github.com/aws/aws-sdk-go-v2", []string{
			"svc/pkg/data/table", "svc/pkg/data/stream", "svc/pkg/app", "svc/pkg/local/", "svc/cmd/svc/",
			"svc/localstack",
		}, "only the table and the wiring speak to AWS"},
		{"svc/pkg/local/", []string{"svc/cmd/svc", "svc/cmd/svc/", "svc/pkg/local/", "svc/internal/test/",
			"svc/pkg/app/localapp", "svc/bench", "svc/localstack"},
			"a deployed function holds nothing of a developer's machine"},
		{"svc/internal/test/", []string{"svc/internal/test/", "svc/bench", "svc/localstack"},
			"only tests use what is for tests"},
	} {
		for _, p := range packages(t, `{{.ImportPath}}: {{join .Imports " "}}`) {
			for _, imported := range p.imports {
				if strings.HasPrefix(imported, rule.imported) && !allowed(p.path, rule.by) {
					t.Errorf("%s imports %s: %s", p.path, imported, rule.why)
				}
			}
		}
	}
}

// TestCommandImports checks that the packages of commands do not import each other: only what all
// commands share, which imports none of them, and the commands made from operations.
func TestCommandImports(t *testing.T) {
	const shared, operation = "svc/cmd/svc/cli", "svc/cmd/svc/operation"
	for _, p := range packages(t, `{{.ImportPath}}: {{join .Imports " "}}`) {
		for _, imported := range p.imports {
			if strings.HasPrefix(imported, "svc/cmd/svc/") && p.path != "svc/cmd/svc" &&
				(imported != shared && imported != operation || p.path == shared) {
				t.Errorf("%s imports %s", p.path, imported)
			}
		}
	}
}

// TestTestImports checks that test files import no higher floor than their
// package, but for the packages that exist for tests.
func TestTestImports(t *testing.T) {
	for _, p := range packages(t, `{{.ImportPath}}: {{join .TestImports " "}} {{join .XTestImports " "}}`) {
		f := floorOf(p.path)
		if f < 0 {
			continue
		}
		for _, imported := range p.imports {
			if above(imported, f) && !allowed(imported, testSupport) {
				t.Errorf("the tests of %s import %s, which is on a higher floor and not for tests", p.path, imported)
			}
		}
	}
}

type importer struct {
	path    string
	imports []string
}

var goList = map[string][]importer{} // by template

// packages returns the packages of the module, each with the names that the
// template prints after a colon.
func packages(t *testing.T, template string) []importer {
	t.Helper()
	if found, ok := goList[template]; ok {
		return found
	}
	out, err := exec.Command("go", "list", "-f", template, "svc/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	var found []importer
	for line := range strings.Lines(string(out)) {
		path, imports, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("go list printed %q", line)
		}
		found = append(found, importer{path: path, imports: strings.Fields(imports)})
	}
	goList[template] = found
	return found
}

// floorOf returns the floor of a package, or -1 for what is not under pkg/.
func floorOf(path string) int {
	rest, ok := strings.CutPrefix(path, "svc/pkg/")
	if !ok {
		return -1
	}
	name, _, _ := strings.Cut(rest, "/")
	return slices.Index(floors, name)
}

// above reports whether a package of the floor f must not import the package.
func above(imported string, f int) bool {
	other := strings.HasPrefix(imported, "svc/") && floorOf(imported) < 0 && imported != "svc"
	return other || floorOf(imported) > f
}

func allowed(importer string, by []string) bool {
	for _, b := range by {
		if importer == b || (strings.HasSuffix(b, "/") && strings.HasPrefix(importer, b)) {
			return true
		}
	}
	return false
}

package apptest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
)

// ItemKinds returns the declarations of table.Kind in the Go files below the folder
// pkg, by the type of item.
func ItemKinds(t *testing.T, pkg string) map[string]table.Kind[any] {
	t.Helper()
	out := map[string]table.Kind[any]{}
	literals(t, pkg, func(file string, of *ast.SelectorExpr, literal *ast.CompositeLit) {
		if !declares(of) {
			return
		}
		k, _ := kindIn(t, file, literal)
		if _, twice := out[k.Type]; twice {
			t.Errorf("%s declares the type %s again", file, k.Type)
		}
		out[k.Type] = k
	})
	return out
}

// declares reports whether a composite literal is of type table.Kind, and not of a type
// Kind of another package.
func declares(of *ast.SelectorExpr) bool {
	from, ok := of.X.(*ast.Ident)
	return ok && from.Name == "table" && of.Sel.Name == "Kind"
}

// ItemTypes returns the types of items in the Go files below the folder pkg, each
// with a file that makes such items. They are the types of kinds with a Row, and the
// literals Type in a composite literal of an Item.
func ItemTypes(t *testing.T, pkg string) map[string]string {
	t.Helper()
	out := map[string]string{}
	literals(t, pkg, func(file string, of *ast.SelectorExpr, literal *ast.CompositeLit) {
		if declares(of) {
			if k, makes := kindIn(t, file, literal); makes {
				out[k.Type] = file
			}
			return
		}
		local := strings.HasPrefix(file, filepath.Join(pkg, "local"))
		if of.Sel.Name != "Item" || local || strings.Contains(file, "apitest") {
			return
		}
		for _, field := range literal.Elts {
			pair, ok := field.(*ast.KeyValueExpr)
			if !ok || fmt.Sprint(pair.Key) != "Type" {
				continue
			}
			if name, ok := pair.Value.(*ast.BasicLit); ok {
				out[strings.Trim(name.Value, `"`)] = file
			}
		}
	})
	return out
}

// literals calls each with every composite literal whose type is of another package.
// It leaves tests out.
func literals(t *testing.T, pkg string, each func(file string, of *ast.SelectorExpr, literal *ast.CompositeLit)) {
	t.Helper()
	testkit.Must(t, filepath.WalkDir(pkg, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			if literal, ok := node.(*ast.CompositeLit); ok {
				written := literal.Type
				if generic, ok := written.(*ast.IndexExpr); ok {
					written = generic.X
				}
				if of, ok := written.(*ast.SelectorExpr); ok {
					each(file, of, literal)
				}
			}
			return true
		})
		return nil
	}))
}

// kindIn reads the literal of a declaration. makes reports whether the literal has a Row,
// so that the kind makes items.
func kindIn(t *testing.T, file string, literal *ast.CompositeLit) (k table.Kind[any], makes bool) {
	t.Helper()
	members := map[string]*string{"Type": &k.Type, "Personal": &k.Personal, "Erasure": &k.Erasure, "Once": &k.Once}
	for _, element := range literal.Elts {
		pair, _ := element.(*ast.KeyValueExpr)
		if pair == nil {
			t.Fatalf("%s: a table.Kind without the names of its members", file)
		}
		value, _ := pair.Value.(*ast.BasicLit)
		name, _ := pair.Key.(*ast.Ident)
		if name != nil && (name.Name == "Row" || name.Name == "Read") {
			makes = makes || name.Name == "Row"
			continue
		}
		if value == nil || name == nil || members[name.Name] == nil {
			t.Fatalf("%s: a member of a table.Kind is no literal", file)
		}
		text, err := strconv.Unquote(value.Value)
		testkit.Must(t, err)
		*members[name.Name] = text
	}
	return k, makes
}

package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"svc/pkg/domain/webhook"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/edge/gateway/emulator"
)

// TestTemplateRoutesAreTheRows: the template routes every row to the function
// that serves it, and nothing else under /api.
func TestTemplateRoutesAreTheRows(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	testkit.Must(t, err)
	var have, want []string
	for _, r := range routes {
		if strings.HasPrefix(r.Path, "/api/") { // a greedy parameter takes one segment with encoded slashes
			have = append(have, r.Method+" "+strings.Replace(r.Path, "+}", "}", 1)+" → "+r.Function)
		}
	}
	for _, r := range app.Rows(nil) {
		method := r.Method
		if method == "GET" { // and HEAD, which HTTP APIs route as a method of its own
			method = "ANY"
		}
		want = append(want, method+" "+r.Path+" → "+app.FunctionOf(r.Path))
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

// TestEveryRowIsServed: every row that a package of pkg/domain makes is in the
// list of exactly one function, and a resource is in one function only. No
// program would contain a row that is in no list.
func TestEveryRowIsServed(t *testing.T) {
	served := map[string]int{}
	for _, r := range app.Rows(nil) {
		served[r.ID]++
	}
	made := rowsInSource(t, "../../domain")
	for _, r := range webhook.AgentRows() { // of the MCP server alone, which calls them for its methods
		served[r.ID]++
	}
	for id, file := range made {
		if served[id] != 1 {
			t.Errorf("%s of %s is served by %d functions, want 1: add its package's Rows to a function's list in "+
				"pkg/app/groups.go",
				id, file, served[id])
		}
	}
	for id := range served {
		if made[id] == "" {
			t.Errorf("%s is not made in pkg/domain", id)
		}
	}
}

// rowsInSource returns the operation ids of all api.Get, Post, Put, Patch and Delete
// calls under a folder, each with its file.
func rowsInSource(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	testkit.Must(t, filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if id := rowID(n); id != "" {
				out[id] = file
			}
			return true
		})
		return nil
	}))
	return out
}

// rowID returns the operation id of a call that makes a row, "" for other nodes.
func rowID(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 4 {
		return ""
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Get", "Post", "Put", "Patch", "Delete"}, fun.Sel.Name) {
		return ""
	}
	if pkg, ok := fun.X.(*ast.Ident); !ok || pkg.Name != "api" {
		return ""
	}
	id, ok := call.Args[1].(*ast.BasicLit)
	if !ok {
		return "?" // not a literal: nothing can be said of it
	}
	return strings.Trim(id.Value, `"`)
}

package app_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports holds the packages to what they may know (docs/design.md).
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}: {{join .Imports " "}}`, "svc/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, rule := range []struct {
		imported string
		by       []string
		why      string
	}{
		{"github.com/lestrrat-go/jwx/", []string{"svc/pkg/signing"}, "a later major version must be a change of one package"},
		{"github.com/guregu/dynamo/", []string{"svc/pkg/table"}, "the guard and the handles must see every request"},
		{"github.com/aws/aws-sdk-go-v2", []string{"svc/pkg/table", "svc/pkg/stream", "svc/pkg/app", "svc/pkg/local", "svc/pkg/local/", "svc/cmd/svc", "svc/localstack"}, "only the table and the wiring speak to AWS"},
		{"svc/pkg/local", []string{"svc/cmd/svc", "svc/pkg/local", "svc/pkg/local/", "svc/pkg/app/apptest", "svc/pkg/stream/streamtest", "svc/bench", "svc/localstack"}, "a deployed function holds nothing of a developer's machine"},
		{"svc/pkg/app", []string{"svc/functions/", "svc/cmd/", "svc/pkg/app/", "svc/pkg/local", "svc/bench", "svc/localstack"}, "the wiring is on top"},
	} {
		for line := range strings.Lines(string(out)) {
			importer, imports, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				continue
			}
			for imported := range strings.FieldsSeq(imports) {
				if strings.HasPrefix(imported, rule.imported) && !allowed(importer, rule.by) {
					t.Errorf("%s imports %s: %s", importer, imported, rule.why)
				}
			}
		}
	}
}

func allowed(importer string, by []string) bool {
	for _, b := range by {
		if importer == b || (strings.HasSuffix(b, "/") && strings.HasPrefix(importer, b)) {
			return true
		}
	}
	return false
}

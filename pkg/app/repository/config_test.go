package repository_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/base/config"
)

// TestTemplateVariables: template.yaml sets only variables that the functions read.
func TestTemplateVariables(t *testing.T) {
	known := map[string]bool{}
	for _, v := range config.Variables {
		known[v.Name] = true
	}
	for _, function := range app.RequestFunctions() {
		if !known[function] {
			t.Errorf("the smoke test does not know the version of %s", function)
		}
	}
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(svc.Template, &root))
	all := map[string]*yaml.Node{"all functions": at(root.Content[0], "Globals", "Function")}
	for name, resource := range ofType(t, "AWS::Serverless::Function") {
		all[name] = field(resource, "Properties")
	}
	count := 0
	for where, properties := range all {
		variables := at(properties, "Environment", "Variables")
		for i := 0; variables != nil && i < len(variables.Content); i += 2 {
			if name := variables.Content[i].Value; !known[name] {
				t.Errorf("template.yaml sets %s of %s, which pkg/base/config does not have", name, where)
			}
			count++
		}
	}
	if count < 20 {
		t.Errorf("the template sets only %d variables", count)
	}
}

// TestOnePlaceReadsTheEnvironment: only config.Read gets the environment, so that each
// variable is described and checked. Tests, and what only tests use, read what they like.
func TestOnePlaceReadsTheEnvironment(t *testing.T) {
	found := 0
	for _, folder := range []string{"../../../pkg", "../../../cmd", "../../../functions"} {
		testkit.Must(t, filepath.WalkDir(folder, func(path string, file fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case file.IsDir() && (file.Name() == "node_modules" || path == "../../../internal/test/testkit" ||
				path == "../../../internal/test/apptest" || path == "../../../internal/test/replay"):
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(strings.ReplaceAll(string(text), "config.Read(os.Getenv)", "config.Read()")) {
				if strings.Contains(line, "Getenv") || strings.Contains(line, "LookupEnv") {
					t.Errorf("%s reads the environment itself; use pkg/base/config: %s", path, line)
				}
			}
			found += strings.Count(string(text), "config.Read(os.Getenv)")
			return err
		}))
	}
	if found == 0 {
		t.Error("nothing reads the environment")
	}
}

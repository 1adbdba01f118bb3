package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestNoTestIsLeftToNobody: CI leaves long tests with certain names to the race detector,
// which runs no package that tests from outside. So no long test there has such a name.
func TestNoTestIsLeftToNobody(t *testing.T) {
	const root = "../../../"
	text, err := os.ReadFile(root + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the Makefile has no %s", name)
		}
		return string(found[1])
	}
	left := regexp.MustCompile("^" + value("MEETING") + "$")
	outside := append(strings.Fields(value("OUTSIDE")), "internal", "localstack")
	declared, found := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*?testing\.T`), 0
	out, err := exec.Command("git", "-C", root, "ls-files", "*_test.go").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for file := range strings.FieldsSeq(string(out)) {
		source, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declared.FindAllSubmatch(source, -1) {
			if !left.Match(name[1]) {
				continue
			}
			found++
			for _, folder := range outside {
				if strings.HasPrefix(file, folder+"/") {
					t.Errorf("%s: no command of CI runs %s", file, name[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no test has such a name")
	}
}

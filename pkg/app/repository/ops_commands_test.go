package repository_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"svc/internal/test/testkit"
)

var (
	shBlock   = regexp.MustCompile("(?s)```sh[^\n]*\n(.*?)\n *```")
	overrides = regexp.MustCompile(`(?m)^ *(sam|aws cloudformation) deploy .*--parameter-overrides ([^#\n]*)$`)
	fromFile  = regexp.MustCompile(`--template-file (\S+)`)
	// shWord is a word of the shell. A placeholder such as <topic in us-east-1>
	// is one word.
	shWord = regexp.MustCompile(`(?:'[^']*'|<[^>]*>|[^\s'<])+`)
	// samValue is what SAM accepts as a parameter's value (samcli/cli/types.py).
	// It has at least one character, so the empty value is written as "".
	samValue = regexp.MustCompile(`^("[^"]*"|[^ "]+)$`)
)

// TestParametersInRunbooks: each deployment command of a runbook sets only
// parameters of its template. SAM accepts their values. They match the
// parameter's pattern, unless they come from a variable or a placeholder.
func TestParametersInRunbooks(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/operations/*.md")
	testkit.Must(t, err)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		testkit.Must(t, err)
		for _, block := range shBlock.FindAllStringSubmatch(string(text), -1) {
			for _, command := range overrides.FindAllStringSubmatch(strings.ReplaceAll(block[1], "\\\n", " "), -1) {
				template := "template.yaml"
				if file := fromFile.FindStringSubmatch(command[0]); file != nil {
					template = file[1]
				}
				for _, word := range shWord.FindAllString(command[2], -1) {
					checkOverride(t, filepath.Base(page), template, command[1] == "sam", strings.ReplaceAll(word, "'", ""))
					checked++
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d parameters were found", checked)
	}
}

// checkOverride checks a word NAME=VALUE of a command in a runbook.
func checkOverride(t *testing.T, page, template string, sam bool, word string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", template))
	testkit.Must(t, err)
	var root yaml.Node
	testkit.Must(t, yaml.Unmarshal(text, &root))
	name, value, _ := strings.Cut(word, "=")
	parameter := field(field(root.Content[0], "Parameters"), name)
	if parameter == nil {
		t.Errorf("%s sets %s, which is no parameter of %s", page, word, template)
		return
	}
	if strings.ContainsAny(value, "$<") {
		return
	}
	if sam && !samValue.MatchString(value) {
		t.Errorf("%s: SAM does not accept %s", page, word)
	}
	value = strings.Trim(value, `"`)
	pattern := field(parameter, "AllowedPattern")
	if pattern != nil && !regexp.MustCompile(pattern.Value).MatchString(value) {
		t.Errorf("%s: %s does not match %s", page, word, pattern.Value)
	}
}

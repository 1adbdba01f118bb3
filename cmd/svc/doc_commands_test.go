package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	fenced   = regexp.MustCompile("(?s)```(\\w*)[^\n]*\n(.*?)\n *```")
	spanned  = regexp.MustCompile("`([^`]+)`")
	command  = regexp.MustCompile(`(?m)(?:^|[\s(])(?:bin/)?svc ((?:-|[a-z])[^\n|;&#)]*)`)
	quoted   = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	redirect = regexp.MustCompile(`[<>].*`)
)

// TestCommandsInDocuments checks every command of svc that a document prints:
// the command and its flags exist, and in a block its arguments are accepted.
func TestCommandsInDocuments(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	checked := 0
	for _, file := range strings.Fields(string(out)) {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			if block[1] == "sh" {
				checked += checkCommands(t, file, strings.ReplaceAll(block[2], "\\\n", " "), true)
			}
		}
		for _, span := range spanned.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			checked += checkCommands(t, file, strings.Join(strings.Fields(span[1]), " "), false)
		}
	}
	if checked < 80 {
		t.Errorf("%d commands were checked, expected at least 80", checked)
	}
}

// checkCommands checks the commands of svc in a text, and returns how many
// there are. If complete is set, each command must have all of its arguments.
func checkCommands(t *testing.T, file, text string, complete bool) (checked int) {
	t.Helper()
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		if strings.Contains(s, "svc ") {
			return s
		}
		return "value"
	})
	for _, m := range command.FindAllStringSubmatch(text, -1) {
		words := m[1]
		if !placeholder.MatchString(words) {
			words = redirect.ReplaceAllString(words, "")
		}
		checked++
		root := newCLI(nil, nil).Root()
		root.InitDefaultCompletionCmd()
		root.InitDefaultHelpFlag()
		root.InitDefaultVersionFlag()
		cmd, args, err := root.Find(strings.Fields(words))
		if err == nil && cmd.HasSubCommands() && !takesArguments(cmd) && cmd != root && len(args) > 0 &&
			!strings.HasPrefix(args[0], "-") {
			err = fmt.Errorf("%s has no command %s", cmd.CommandPath(), args[0])
		}
		cmd.InitDefaultHelpFlag()
		for _, arg := range args {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if err == nil && strings.HasPrefix(arg, "--") && cmd.Flag(name) == nil {
				err = fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
			}
		}
		if err == nil && complete && cmd.Runnable() {
			if err = cmd.ParseFlags(args); err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
		}
		if err != nil && !strings.Contains(err.Error(), "help requested") {
			t.Errorf("%s prints svc %s: %v", file, m[1], err)
		}
	}
	return checked
}

// takesArguments reports whether a command with subcommands also runs by itself.
func takesArguments(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, " ") }

var placeholder = regexp.MustCompile(`<\w+>`)

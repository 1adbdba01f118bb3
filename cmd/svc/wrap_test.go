package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// TestHelpWidth: the help of every command fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	var walk func(cmd *cobra.Command)
	seen := 0
	walk = func(cmd *cobra.Command) {
		var out bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := newCLI(&out, &out).Run(t.Context(), args); code != 0 || out.Len() < 40 {
			t.Errorf("%v: exit code %d: %s", args, code, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.HelpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		seen++
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := newCLI(nil, nil).Root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	walk(root)
	if seen < 60 {
		t.Errorf("%d commands are too few to judge by", seen)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpWidth: the help of every command fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	var walk func(cmd *cobra.Command)
	seen := 0
	walk = func(cmd *cobra.Command) {
		var out bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := newCLI(&out, &out).run(t.Context(), args); code != 0 || out.Len() < 40 {
			t.Errorf("%v: exit code %d: %s", args, code, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		seen++
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := newCLI(nil, nil).root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	walk(root)
	if seen < 60 {
		t.Errorf("%d commands are too few to judge by", seen)
	}
}

func TestFilled(t *testing.T) {
	word := strings.Repeat("ä", 39)
	for text, want := range map[string]string{
		"one\ntwo":                            "one two",
		word + " " + word + " x":              word + " " + word + "\nx",
		word + " " + word + "x y":             word + " " + word + "x\ny",
		"one\n\n  two\n  three":               "one\n\n  two\n  three",
		"one\n  two\n\n" + word + "\n" + word: "one\n  two\n\n" + word + " " + word,
	} {
		if got := filled(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

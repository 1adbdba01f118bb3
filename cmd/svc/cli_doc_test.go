package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

var update = flag.Bool("update", false, "write the reference of the commands anew")

// TestReferenceOfCommands checks that docs/cli.md matches the commands. With
// -update it writes the file.
func TestReferenceOfCommands(t *testing.T) {
	var b strings.Builder
	root := newCLI(nil, nil).Root()
	b.WriteString("# Command line reference\n\n" +
		"Made from the commands by `make golden`. [README](../README.md) shows the first steps,\n" +
		"[how-tos](how-to.md) what to use when.\n\n" + usageBlock(root) +
		"\nShell completion: `source <(svc completion bash)`, the same for zsh and fish; see\n" +
		"`svc completion --help`.\n")
	for _, cmd := range root.Commands() {
		fmt.Fprintf(&b, "\n## %s\n\n%s", cmd.CommandPath(), usageBlock(cmd))
		for _, sub := range cmd.Commands() {
			fmt.Fprintf(&b, "\n### %s\n\n%s", sub.CommandPath(), usageBlock(sub))
		}
	}
	file := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() {
		t.Error("docs/cli.md is out of date; run make golden")
	}
}

// usageBlock is a command's help without the flags that every command has.
func usageBlock(cmd *cobra.Command) string {
	text := cli.Fill(cmp.Or(cmd.Long, cmd.Short)) + "\n"
	if !cmd.HasSubCommands() {
		text += "\nUsage:\n  " + cmd.UseLine() + "\n"
	}
	if len(cmd.Aliases) > 0 {
		text += "\nAlso called: " + strings.Join(cmd.Aliases, ", ") + "\n"
	}
	flags := cmd.LocalNonPersistentFlags()
	if !cmd.HasParent() {
		flags = cmd.PersistentFlags()
	}
	if flags.HasFlags() {
		text += "\nFlags:\n" + flags.FlagUsagesWrapped(cli.HelpWidth)
	}
	if cmd.Example != "" {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	return "```text\n" + text + "```\n"
}

package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/base/plaintext"
)

// helpWidth is the width of help texts, in columns.
const helpWidth = 80

// Cobra keeps template functions in a global map that has no lock. For this
// reason init adds the function, before any command runs.
func init() { cobra.AddTemplateFunc("filled", filled) }

// wrapHelp fits the help of all commands to helpWidth. Examples stay as they
// are.
func wrapHelp(root *cobra.Command) {
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. |", "{{. | filled |", 1))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ",
		fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth)))
}

var indented = regexp.MustCompile(`(?m)^[ \t]`)

// filled rewraps the paragraphs of a text. A paragraph with an indented line
// stays as it is.
func filled(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if indented.MatchString(p) {
			continue
		}
		paragraphs[i] = plaintext.Wrap(p, helpWidth)
	}
	return strings.Join(paragraphs, "\n\n")
}

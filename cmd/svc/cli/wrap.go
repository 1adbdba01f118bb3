package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/base/plaintext"
)

// HelpWidth is the width of help texts, in columns.
const HelpWidth = 80

// Cobra keeps the functions of help templates in a global map that has no lock. So init
// adds "filled" before any command runs.
func init() { cobra.AddTemplateFunc("filled", Fill) }

// wrapHelp wraps the help of all commands at HelpWidth. Examples stay as they are.
func wrapHelp(root *cobra.Command) {
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. |", "{{. | filled |", 1))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ",
		fmt.Sprintf(".FlagUsagesWrapped %d ", HelpWidth)))
}

// indented matches the start of a line that begins with a blank or a tab.
var indented = regexp.MustCompile(`(?m)^[ \t]`)

// Fill rewraps the paragraphs of a text at HelpWidth. A paragraph with an indented line
// stays as it is.
func Fill(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if indented.MatchString(p) {
			continue
		}
		paragraphs[i] = plaintext.Wrap(p, HelpWidth)
	}
	return strings.Join(paragraphs, "\n\n")
}

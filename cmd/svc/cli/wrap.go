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

// Cobra keeps template functions in a global map that has no lock. For this
// reason init adds the function, before any command runs.
func init() { cobra.AddTemplateFunc("filled", Fill) }

// wrapHelp fits the help of all commands to helpWidth. Examples stay as they
// are.
func wrapHelp(root *cobra.Command) {
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. |", "{{. | filled |", 1))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ",
		fmt.Sprintf(".FlagUsagesWrapped %d ", HelpWidth)))
}

var indented = regexp.MustCompile(`(?m)^[ \t]`)

// Fill rewraps the paragraphs of a text. A paragraph with an indented line
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

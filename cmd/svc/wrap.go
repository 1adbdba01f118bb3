package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
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
		var b strings.Builder
		column := 0
		for _, word := range strings.Fields(p) {
			width := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+width > helpWidth:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += width
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Nearest returns "; did you mean …?" with a word, or "" if none is near. First it looks
// for a word that differs by two swapped letters, then for the first similar word by
// cobra's suggestions for mistyped commands.
func Nearest(word string, words []string) string {
	for i := range max(0, len(word)-1) {
		if swapped := word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]; slices.Contains(words, swapped) {
			return "; did you mean " + swapped + "?"
		}
	}
	list := &cobra.Command{SuggestionsMinimumDistance: max(1, min(2, len(word)/4))}
	for _, one := range words {
		list.AddCommand(&cobra.Command{Use: one, Run: func(*cobra.Command, []string) {}})
	}
	if found := list.SuggestionsFor(word); len(found) > 0 {
		return "; did you mean " + found[0] + "?"
	}
	return ""
}

// Known returns a usage error if a word is not in the list.
func Known(what, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	if near := Nearest(word, words); near != "" {
		return Usagef("there is no %s %s%s", what, word, near)
	}
	return Usagef("there is no %s %s; expected %s", what, word, strings.Join(words, ", "))
}

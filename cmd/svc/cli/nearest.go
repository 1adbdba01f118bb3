package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Nearest returns "; did you mean …?" with the word of words that is most similar to
// word, or "" if none is similar. First it looks for one that differs by two swapped
// letters, then for one that cobra would suggest for a mistyped command.
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

// Known returns a usage error if the word is not in words. what names the kind of word in
// the error, such as "status".
func Known(what, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	if near := Nearest(word, words); near != "" {
		return Usagef("there is no %s %s%s", what, word, near)
	}
	return Usagef("there is no %s %s; expected %s", what, word, strings.Join(words, ", "))
}

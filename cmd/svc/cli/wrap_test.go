package cli

import (
	"strings"
	"testing"
)

func TestFilled(t *testing.T) {
	word := strings.Repeat("ä", 39)
	for text, want := range map[string]string{
		"one\ntwo":                            "one two",
		word + " " + word + " x":              word + " " + word + "\nx",
		word + " " + word + "x y":             word + " " + word + "x\ny",
		"one\n\n  two\n  three":               "one\n\n  two\n  three",
		"one\n  two\n\n" + word + "\n" + word: "one\n  two\n\n" + word + " " + word,
	} {
		if got := Fill(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

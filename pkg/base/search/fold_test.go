package search_test

import (
	"testing"
	"unicode"

	"svc/pkg/base/search"
)

func TestFold(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"ASCII":          {"Anna O'Neil-42@X.Example", "anna o'neil-42@x.example"},
		"German":         {"STRAßE Größe", "strasse grösse"},
		"composed":       {"E\u0301lodie", "\u00e9lodie"},
		"Greek sigma":    {"ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"},
		"Cyrillic":       {"Ёлка Жук", "ёлка жук"},
		"full width":     {"ＡＢＣ１２３＃", "abc123#"},
		"ligature":       {"ﬁsh", "fish"},
		"Turkish dot":    {"İzmir", "i̇zmir"},
		"Arabic":         {"محمد", "محمد"},
		"Han":            {"王小明", "王小明"},
		"half-width":     {"ｶﾞｷﾞ", "ガギ"},
		"Cherokee":       {"Ꭰꭰ", "ᎠᎠ"},
		"iota subscript": {"\u1fb4\u0345 ᾼ", ""},
		"empty":          {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := search.Fold(tt.text)
			if tt.want != "" && got != tt.want {
				t.Errorf("Fold(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if again := search.Fold(got); again != got {
				t.Errorf("folded twice: %q, then %q", got, again)
			}
		})
	}
}

func TestFoldOfEveryCharacter(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			continue
		}
		got := search.Fold(string(r))
		if again := search.Fold(got); again != got {
			t.Errorf("U+%04X: %q folds again to %q", r, got, again)
		}
		if unicode.IsLetter(r) && search.Fold(string(unicode.ToUpper(r))) != got && unicode.ToLower(unicode.ToUpper(r)) == r {
			t.Errorf("U+%04X and its capital fold apart", r)
		}
	}
}

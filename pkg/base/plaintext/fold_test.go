package plaintext_test

import (
	"testing"
	"unicode"

	"svc/pkg/base/plaintext"
)

func TestFold(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"ASCII":          {"Anna O'Neil-42@X.Example", "anna o'neil-42@x.example"},
		"German":         {"STRAßE Größe", "strasse grosse"},
		"composed":       {"E\u0301lodie", "elodie"},
		"Greek sigma":    {"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"},
		"Cyrillic":       {"Ёлка Жук", "елка жук"},
		"full width":     {"ＡＢＣ１２３＃", "abc123#"},
		"ligature":       {"ﬁsh", "fish"},
		"Turkish dot":    {"İzmir", "izmir"},
		"Arabic":         {"محمد", "محمد"},
		"Han":            {"王小明", "王小明"},
		"half-width":     {"ｶﾞｷﾞ", "ガギ"},
		"Cherokee":       {"Ꭰꭰ", "ᎠᎠ"},
		"iota subscript": {"\u1fb4\u0345 ᾼ", ""},
		"strokes":        {"Łódź Đorđe Øresund Þór Æsir Œuvre Ħamrun", "lodz dorde oresund thor aesir oeuvre hamrun"},
		"all four i":     {"ISPARTA Isparta ısparta İsparta isparta", "isparta isparta isparta isparta isparta"},
		"Vietnamese":     {"Nguyễn Đức", "nguyen duc"},
		"diaeresis":      {"Zoë", "zoe"},
		"apostrophes":    {"O’Neil O‘Neil O`Neil OʼNeil O´Neil", "o'neil o'neil o'neil o'neil o'neil"},
		"hyphens":        {"a‐b‑c–d—e−f", "a-b-c-d-e-f"},
		"invisible":      {"an\u200bna so\u00adfia", "anna sofia"},
		"digits":         {"٠١٢ ۴۵ ७८", "012 45 78"},
		"Hebrew points":  {"שָׁלוֹם", "שלום"},
		"Arabic vowels":  {"مُحَمَّد أحمد", "محمد احمد"},
		"Devanagari":     {"कि", "कि"},
		"Thai":           {"ที่", "ที่"},
		"empty":          {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := plaintext.Fold(tt.text)
			if tt.want != "" && got != tt.want {
				t.Errorf("Fold(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if again := plaintext.Fold(got); again != got {
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
		got := plaintext.Fold(string(r))
		if again := plaintext.Fold(got); again != got {
			t.Errorf("U+%04X: %q folds again to %q", r, got, again)
		}
		upper := unicode.ToUpper(r)
		if unicode.IsLetter(r) && plaintext.Fold(string(upper)) != got && unicode.ToLower(upper) == r {
			t.Errorf("U+%04X and its capital fold apart", r)
		}
	}
}

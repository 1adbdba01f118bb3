package plaintext_test

import (
	"strings"
	"testing"
	"unicode"

	"svc/pkg/base/plaintext"
)

func TestIsInvisible(t *testing.T) {
	for _, r := range "\x00\n\x7f\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200d\u202e" +
		"\u2028\u2029\u2060\u2065\u206f\u2800\u3164\ue000\ufe00\ufe0f\ufeff\uffa0\ufff0\ufffb\U00016fe4\U0001d159" +
		"\U0001d173\U000e0001\U000e0041\U000e0080\U000e0100\U000e01ef\U000e0fff" {
		if !plaintext.IsInvisible(r) {
			t.Errorf("%U counts as visible", r)
		}
	}
	for _, r := range "a \u00a0\u3000é中🚕🏽⠁\u0301\u0600\u200a\ufffd" {
		if plaintext.IsInvisible(r) {
			t.Errorf("%U counts as invisible", r)
		}
	}
}

// An emoji keeps its selectors and joiners; nothing else does.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"Taxi ☎️ 🚕 1️⃣ ‼️ ℹ️ ©️ ♥︎": "", "👩🏽‍⚕️ 👨‍👩‍👧 🏳️‍🌈 ❤️‍🔥 🧔🏾‍♂️": "", "a b\u3000c": "", "": "",
		"a\ufe0fb": `a\ufe0fb`, "🚕\ufe0f\ufe0f": `🚕️\ufe0f`, "🚕\U000e0100": `🚕\udb40\udd00`, "1\ufe0f": `1\ufe0f`,
		"a\u200d🚕": `a\u200d🚕`, "🚕\u200d": `🚕\u200d`, "🚕\u200d\u200d🚕": `🚕\u200d\u200d🚕`, "\u2800\ufe0f": `\u2800\ufe0f`,
		"ok\u3164\u034f": `ok\u3164\u034f`, "\u2800\u2800": `\u2800\u2800`, "x\U000e0041": `x\udb40\udc41`,
		"a  b": "a ⟨2 blanks⟩ b", "a" + strings.Repeat(" \u00a0", 250) + "b ": "a ⟨500 blanks⟩ b ",
		"end\u2003\u2003": "end ⟨2 blanks⟩ ",
	} {
		if want == "" {
			want = text
		}
		if got := plaintext.Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if hidden := strings.Contains(want, `\u`); plaintext.HasInvisible(text) != hidden {
			t.Errorf("%q: has invisible characters: %v", text, !hidden)
		}
	}
	if !plaintext.HasInvisible("a\xff") {
		t.Error("a byte that is not UTF-8 passes")
	}
}

func TestStrip(t *testing.T) {
	hidden := strings.Repeat("\ufe00\U000e0041", 38)
	for text, want := range map[string]string{"Dark map": "Dark map", "a" + hidden + "b": "ab", "\u202eb\u2800": "b",
		"first\r\n\tsecond\u200b": "first\r\n\tsecond", "👩🏽‍⚕️ 1️⃣" + hidden: "👩🏽‍⚕️ 1️⃣", "می\u200cخواهم": "می\u200cخواهم",
		"می\u200c\u200cخ": "می\u200cخ", "क्\u200dष": "क्\u200dष", "a\u200db": "ab", "\u200c": "", "辻\U000e0100": "辻"} {
		if got := plaintext.Strip(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Every character that a reader can ignore is invisible, also those that Unicode
// reserves.
func TestEveryIgnorableIsInvisible(t *testing.T) {
	tried := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control,
			unicode.Join_Control) {
			if tried++; !plaintext.IsInvisible(r) || !plaintext.IsBlank(string(r)) {
				t.Errorf("%U counts as visible", r)
			}
		}
	}
	if tried < 4000 {
		t.Errorf("only %d characters were tried", tried)
	}
}

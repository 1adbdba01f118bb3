package jsonscan_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"svc/pkg/base/jsonscan"
)

// FuzzAppendString: every JSON reader gets the same text back, whatever stood
// before it.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "plain", `"`, `\`, "a\"b\\c", "\x00\x1f\n\t", "ä€😀", "\u2028</script>", `{"a":"b"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		out := jsonscan.AppendString([]byte("before"), text)
		var got string
		if err := json.Unmarshal(out[len("before"):], &got); err != nil || got != text || string(out[:6]) != "before" {
			t.Errorf("%q is written as %s: %q, %v", text, out, got, err)
		}
	})
}
